//! Measured noise against the formulas. The key is known to this test alone: it draws the secret a second time from the
//! generator the client was given.

use crate::setup::{Table, bytes, literal};
use sotto_core::Params as _;
use sotto_inspire::Inspire;
use sotto_inspire::bound::variances_and_margin;
use sotto_inspire::numbers::{self, NUMBER_BITS, P};
use sotto_inspire::selector::{BODY_DIGITS, MASK_DIGITS};
use sotto_lattice::encrypt::phase;
use sotto_lattice::noise::steps;
use sotto_lattice::ring::ModulusLevel;
use sotto_lattice::secret::SecretKey;
use sotto_math::bits::{pack_words, unpack_words};
use sotto_silent::Params;
use sotto_silent::lattice::{DIGITS, LAW, N, NORM, Q, Q_BITS, SIGMA, ring};
use sotto_silent::unit_vector::MessageBits;
use sotto_testkit::rng::seeded;

/// Mean square and largest of what is in the answers besides the numbers, in units of 1 modulo q.
fn noise(table: &Table, indices: impl Iterator<Item = u64>) -> (f64, f64) {
    let ring = ring().unwrap();
    let widths = table.params.bits();
    let (mut squares, mut largest, mut count) = (0.0, 0f64, 0.0);
    let mut client = table.client("prepare");
    for (i, index) in indices.enumerate() {
        let label = format!("noise {i}");
        let (_, answer, record) = table.lookup(&mut client, index, &label);
        assert_eq!(record, table.row(index), "{label}");
        let secret = SecretKey::sample(&ring, LAW, &mut seeded(&label));
        let whole = numbers::numbers(record.len() as u64) as usize;
        let mut padded = record.clone();
        padded.resize((whole * NUMBER_BITS as usize).div_ceil(8), 0);
        let numbers = unpack_words(&padded, NUMBER_BITS, whole).unwrap();
        for ([mask, body], numbers) in answer.0.as_chunks().0.iter().zip(numbers.chunks(N)) {
            let polynomial = |words: &[u64], width: u32| {
                // What a word stands for modulo q, to the nearest integer.
                let lift = |x: u64| ((u128::from(x) * u128::from(Q) + (1 << (width - 1))) >> width) as u64;
                let mut slots: Vec<u64> = words.iter().map(|word| lift(*word)).collect();
                ring.forward(ModulusLevel::Main, &mut slots);
                slots
            };
            let (mask, body) = (polynomial(mask, widths.mask), polynomial(body, widths.body));
            let phase = phase(&ring, ModulusLevel::Main, &secret, &mask, &body);
            for (phase, number) in phase.iter().zip(numbers) {
                let q = Q as f64;
                let error = *phase as f64 - *number as f64 * q / f64::from(P);
                let error = (error + q / 2.0).rem_euclid(q) - q / 2.0;
                (squares, largest, count) = (squares + error * error, largest.max(error.abs()), count + 1.0);
            }
        }
    }
    (squares / count, largest)
}

/// Errors that the formulas predict for uniform numbers, of which t are rotated and added.
fn predicted(words: u64, places: u64, bits: MessageBits, selector: [u32; 2]) -> f64 {
    let unit = |kept: u32| Q as f64 * (-f64::from(kept)).exp2();
    let (log2_q, t) = ((Q as f64).log2(), places as f64);
    let keys = steps::truncated(SIGMA, Q_BITS - bits.keys);
    let square = f64::from(P).powi(2) / 12.0;
    let rows = selector.map(|kept| steps::truncated(SIGMA, Q_BITS - kept));
    let product = steps::external_product(N, 1, [&MASK_DIGITS, &BODY_DIGITS], log2_q, rows, NORM);
    t * words as f64 * square * steps::truncated(SIGMA, bits.dropped())
        + t * steps::inspiring(N, &DIGITS, log2_q, keys, NORM)
        + (t - 1.0) * product
        + unit(bits.mask).powi(2) * NORM / 12.0
        + unit(bits.body).powi(2) / 12.0
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
        let (measured, largest) = noise(&table, [1, shape[1] - 1].into_iter());
        let literal = table.params.literal();
        let (m, t, bits) = (literal.columns(), literal.places, literal.bits());
        let selector = table.params.selector_bits();
        let apart = (measured.log2() - predicted(m, t, bits, selector).log2()) / 2.0;
        assert!(apart.abs() < 0.3, "{name}: {apart} bits");
        let (variances, margin) = variances_and_margin(m, t, bits, selector);
        let variance: f64 = variances.iter().sum();
        assert!(measured < variance || bits.body < 30, "{name}");
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
        let m = table.params.columns();
        let (variances, margin) =
            variances_and_margin(m, 2, table.params.bits(), table.params.selector_bits());
        let (measured, largest) = noise(&table, (0..queries).map(|i| 14 * i % records));
        // All numbers of a record have the same noise of words, so that 40 of them are measured, no more.
        let ratio = measured / variances.iter().sum::<f64>();
        assert!((0.5..1.6).contains(&ratio), "{name}: {ratio}");
        assert!(largest < margin);
    }
}
