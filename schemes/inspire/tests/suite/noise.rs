//! Measured noise against the formulas. The key is known to this test alone: it draws the secret a second time from the
//! generator the client was given.

use crate::{Table, bytes, literal};
use sotto_core::Params as _;
use sotto_inspire::Inspire;
use sotto_inspire::literal::{NUMBER_BITS, P, numbers};
use sotto_inspire::selector::{BODY_DIGITS, MASK_DIGITS};
use sotto_lattice::noise::steps;
use sotto_lattice::secret::SecretKey;
use sotto_math::bits::{pack_words, unpack_words};
use sotto_silent::Params;
use sotto_silent::lattice::{LAW, N, NORM, PackingDigits, Q, Q_BITS, SIGMA, ring};
use sotto_silent::measure::{Errors, average, phases};
use sotto_testkit::rng::seeded;

/// What is in the answers besides the numbers.
fn noise(table: &Table, indices: impl Iterator<Item = u64>) -> Errors {
    let (ring, mut errors, mut client) = (ring().unwrap(), Errors::default(), table.client("prepare"));
    for (i, index) in indices.enumerate() {
        let label = format!("noise {i}");
        let (_, answer, record) = table.lookup(&mut client, index, &label);
        assert_eq!(record, table.row(index), "{label}");
        let secret = SecretKey::sample(&ring, LAW, &mut seeded(&label));
        let whole = numbers(record.len() as u64) as usize;
        let mut padded = record.clone();
        padded.resize((whole * NUMBER_BITS as usize).div_ceil(8), 0);
        let numbers = unpack_words(&padded, NUMBER_BITS, whole).unwrap();
        for ([mask, body], numbers) in answer.0.as_chunks().0.iter().zip(numbers.chunks(N)) {
            let phases = phases((&ring, &secret), table.params.bits(), N, [mask, body]);
            let both = phases.iter().zip(numbers);
            both.for_each(|(phase, number)| errors.add(*phase, *number as f64, P.into()));
        }
    }
    errors
}

/// Errors that the formulas predict for uniform numbers, of which t are rotated and added.
fn predicted(params: &Params<Inspire>) -> f64 {
    let rows = params.selector_bits().map(|kept| steps::truncated(SIGMA, Q_BITS - kept));
    let digits = [&MASK_DIGITS, &BODY_DIGITS];
    let product = steps::external_product(N, 1, digits, (Q as f64).log2(), rows, NORM);
    let square = f64::from(P).powi(2) / 12.0;
    average((N, PackingDigits::TWO), params.columns(), square, params.places, params.bits())
        + (params.places - 1) as f64 * product
}

#[test]
fn noise_is_what_the_formulas_say() {
    let [two, wide, four] = [[3840, 7, 2], [3840, 9000, 2], [3840, 11, 4]];
    let mut tables: Vec<Table> = Vec::new();
    for (name, shape, words, selector, answer) in [
        ("packing", two, [50, 50], [50, 50], [37, 37]),
        ("short keys", two, [50, 47], [50, 50], [37, 37]),
        ("short rows for masks", two, [50, 50], [37, 50], [37, 37]),
        ("short masks", two, [50, 50], [50, 50], [25, 25]),
        ("short bodies", two, [50, 50], [50, 50], [37, 17]),
        ("short words", wide, [42, 50], [50, 50], [37, 37]),
        ("packing of four", four, [50, 50], [50, 50], [37, 37]),
        ("short rows for bodies", four, [50, 50], [50, 45], [37, 37]),
    ] {
        let literal = literal(shape, words, selector, answer);
        // An image does not depend on the bits of messages.
        let encoded = tables.last().filter(|table| table.params.literal().columns() == literal.columns());
        let table = match encoded {
            Some(table) => Table::opened(
                Params::<Inspire>::check(literal).unwrap(),
                table.rows.clone(),
                table.image.clone(),
            ),
            None => Table::checked(literal, bytes((shape[0] * shape[1]) as usize)),
        };
        let errors = noise(&table, [1, shape[1] - 1].into_iter());
        let bits = table.params.bits();
        let apart = (errors.mean().log2() - predicted(&table.params).log2()) / 2.0;
        assert!(apart.abs() < 0.3, "{name}: {apart} bits");
        let (variances, margin) = table.params.noise();
        let variance: f64 = variances.iter().sum();
        assert!(errors.mean() < variance || bits.body < 30, "{name}");
        let largest = errors.largest();
        assert!(largest < margin + Q as f64 / 2f64.powi(bits.body as i32 + 1), "{name}: {largest} {margin}");
        tables.push(table);
    }
}

/// Only the first record of each column is there, so that both coefficients of a column are the same: so are the digits of both
/// packed ciphertexts, and deviations add up, which is what the bound is for. Numbers are as large as they get.
#[test]
fn the_worst_table_comes_close_to_the_bound_and_stays_below() {
    // Half of it is as large as the largest residue but one.
    let number = u64::from(P) - 3;
    let mut record = Vec::new();
    pack_words(&[number; 32], NUMBER_BITS, &mut record);
    for (name, words, records, queries) in [("words", [43, 50], 5000, 40), ("keys", [50, 47], 4, 2)] {
        let literal = literal([60, records, 2], words, [50, 50], [37, 37]);
        let all =
            (0..records).flat_map(|i| record.iter().map(move |byte| if i % 2 == 0 { *byte } else { 0 }));
        let table = Table::checked(literal, all.collect());
        let (variances, margin) = table.params.noise();
        let errors = noise(&table, (0..queries).map(|i| 14 * i % records));
        // All numbers of a record have the same noise of words, so that 40 of them are measured, no more.
        let ratio = errors.mean() / variances.iter().sum::<f64>();
        assert!((0.5..1.6).contains(&ratio), "{name}: {ratio}");
        assert!(errors.largest() < margin);
    }
}
