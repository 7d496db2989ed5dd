//! Measured noise against the formulas. The key is known to this test alone: it draws the secret a second time from the
//! generator the client was given.

use crate::{Table, literal};
use sotto_lattice::secret::SecretKey;
use sotto_silent::bound::variances_and_margin;
use sotto_silent::lattice::{LAW, N, Q, ring};
use sotto_silent::measure::{Errors, average, phases};
use sotto_silent::plain_modulus::PlainModulus;
use sotto_testkit::rng::seeded;
use sotto_testkit::vectors::bytes;

/// What is in the answers besides the numbers.
fn noise(table: &Table, queries: u64) -> Errors {
    let (ring, mut errors) = (ring().unwrap(), Errors::default());
    for i in 0..queries {
        let (index, label) = (i * 7 % table.params.records, format!("noise {i}"));
        let (_, answer, record) = table.lookup(&mut table.client("prepare"), index, &label);
        assert_eq!(record, table.row(index), "{label}");
        let secret = SecretKey::sample(&ring, LAW, &mut seeded(&label));
        for ([mask, body], numbers) in answer.0.as_chunks().0.iter().zip(record.chunks(2 * N)) {
            let phases = phases((&ring, &secret), table.params.bits(), N, [mask, body]);
            for (phase, pair) in phases.iter().zip(numbers.chunks_exact(2)) {
                errors.add(*phase, f64::from(pair[0] as i8) + 256.0 * f64::from(pair[1] as i8), 65536);
            }
        }
    }
    errors
}

#[test]
fn noise_is_what_the_formulas_say() {
    for (name, literal) in [
        ("packing", literal(4096, 3, [50, 50], [37, 37])),
        ("short keys", literal(4096, 3, [50, 46], [37, 37])),
        ("short words", literal(4096, 5000, [41, 50], [37, 37])),
        ("short masks", literal(4096, 3, [50, 50], [25, 25])),
        ("short bodies", literal(6000, 3, [50, 50], [37, 18])),
    ] {
        let records = bytes((literal.record_bytes * literal.records) as usize);
        let table = Table::checked(literal, records);
        let (errors, records, bits) = (noise(&table, 2), table.params.records, table.params.bits());
        let predicted = average(N, records, 2f64.powi(32) / 12.0, 1, bits);
        let apart = (errors.mean().log2() - predicted.log2()) / 2.0;
        assert!(apart.abs() < 0.3, "{name}: {apart} bits");
        let (variances, margin) = variances_and_margin(records, PlainModulus::BYTES, 1, bits);
        let variance: f64 = variances.iter().sum();
        assert!(errors.mean() < variance * 1.2 || bits.body < 30, "{name}");
        let largest = errors.largest();
        assert!(largest < margin + Q as f64 / 2f64.powi(19), "{name}: {largest} {margin}");
    }
}

/// Every number at its largest: the words' part is what the bound has for it.
#[test]
fn the_worst_table_comes_close_to_the_bound_and_stays_below() {
    let records = 3000u64;
    let literal = literal(64, records, [41, 50], [37, 37]);
    let table = Table::checked(literal, vec![0x80; 64 * records as usize]);
    let errors = noise(&table, 40);
    let (variances, margin) = variances_and_margin(records, PlainModulus::BYTES, 1, table.params.bits());
    // All numbers of a record have the same noise of words, so that 40 of them are measured, no more.
    let ratio = errors.mean() / variances.iter().sum::<f64>();
    assert!((0.5..1.6).contains(&ratio), "{ratio}");
    assert!(errors.largest() < margin);
}
