//! Measured noise against the formulas. The key is known to this test alone: it draws the secret a second time from the
//! generator the client was given.

use crate::setup::{Table, bytes, literal};
use sotto_lattice::encrypt::phase;
use sotto_lattice::noise::steps;
use sotto_lattice::ring::ModulusLevel;
use sotto_lattice::secret::SecretKey;
use sotto_silent::bound::variances_and_margin;
use sotto_silent::lattice::{DIGITS, LAW, N, NORM, Q, Q_BITS, SIGMA, ring};
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::unit_vector::MessageBits;
use sotto_testkit::rng::seeded;

/// Mean square and largest of what is in the answers besides the numbers, in units of 1 modulo q.
fn noise(table: &Table, queries: u64) -> (f64, f64) {
    let ring = ring().unwrap();
    let widths = table.params.bits();
    let (mut squares, mut largest, mut count) = (0.0, 0f64, 0.0);
    for i in 0..queries {
        let (index, label) = (i * 7 % table.params.records, format!("noise {i}"));
        let (_, answer, record) = table.lookup(&mut table.client("prepare"), index, &label);
        assert_eq!(record, table.row(index), "{label}");
        let secret = SecretKey::sample(&ring, LAW, &mut seeded(&label));
        for ([mask, body], numbers) in answer.0.as_chunks().0.iter().zip(record.chunks(2 * N)) {
            let polynomial = |words: &[u64], width: u32| {
                // What a word stands for modulo q, to the nearest integer.
                let lift = |x: u64| ((u128::from(x) * u128::from(Q) + (1 << (width - 1))) >> width) as u64;
                let mut slots: Vec<u64> = words.iter().map(|word| lift(*word)).collect();
                ring.forward(ModulusLevel::Main, &mut slots);
                slots
            };
            let (mask, body) = (polynomial(mask, widths.mask), polynomial(body, widths.body));
            let phase = phase(&ring, ModulusLevel::Main, &secret, &mask, &body);
            for (phase, pair) in phase.iter().zip(numbers.chunks_exact(2)) {
                let number = f64::from(pair[0] as i8) + 256.0 * f64::from(pair[1] as i8);
                let q = Q as f64;
                let error = (*phase as f64 - number * q / 65536.0 + q / 2.0).rem_euclid(q) - q / 2.0;
                (squares, largest, count) = (squares + error * error, largest.max(error.abs()), count + 1.0);
            }
        }
    }
    (squares / count, largest)
}

/// Errors that the formulas predict for numbers of this mean square, in place of the largest.
fn predicted(words: u64, square: f64, bits: MessageBits) -> f64 {
    let unit = |kept: u32| Q as f64 * (-f64::from(kept)).exp2();
    let keys = steps::truncated(SIGMA, Q_BITS - bits.keys);
    words as f64 * square * steps::truncated(SIGMA, bits.dropped())
        + steps::inspiring(N, &DIGITS, (Q as f64).log2(), keys, NORM)
        + unit(bits.mask).powi(2) * NORM / 12.0
        + unit(bits.body).powi(2) / 12.0
}

#[test]
fn noise_is_what_the_formulas_say() {
    let uniform = 2f64.powi(32) / 12.0;
    for (name, literal, square) in [
        ("packing", literal(4096, 3, [50, 50], [37, 37]), uniform),
        ("short keys", literal(4096, 3, [50, 46], [37, 37]), uniform),
        ("short words", literal(4096, 5000, [41, 50], [37, 37]), uniform),
        ("short masks", literal(4096, 3, [50, 50], [25, 25]), uniform),
        ("short bodies", literal(6000, 3, [50, 50], [37, 18]), uniform),
    ] {
        let records = bytes((literal.record_bytes * literal.records) as usize);
        let table = Table::checked(literal, records);
        let (measured, largest) = noise(&table, 2);
        let predicted = predicted(table.params.records, square, table.params.bits());
        let apart = (measured.log2() - predicted.log2()) / 2.0;
        assert!(apart.abs() < 0.3, "{name}: {apart} bits");
        let (variances, margin) =
            variances_and_margin(table.params.records, PlainModulus::BYTES, 1, table.params.bits());
        let variance: f64 = variances.iter().sum();
        assert!(measured < variance * 1.2 || table.params.answer_bits[1] < 30, "{name}");
        assert!(largest < margin + Q as f64 / 2f64.powi(19), "{name}: {largest} {margin}");
    }
}

/// Every number at its largest: the words' part is what the bound has for it.
#[test]
fn the_worst_table_comes_close_to_the_bound_and_stays_below() {
    let (records, bits) = (3000u64, [41, 50]);
    let literal = literal(64, records, bits, [37, 37]);
    let table = Table::checked(literal, vec![0x80; 64 * records as usize]);
    let (measured, largest) = noise(&table, 40);
    let (variances, margin) = variances_and_margin(records, PlainModulus::BYTES, 1, table.params.bits());
    let variance: f64 = variances.iter().sum();
    // All numbers of a record have the same noise of words, so that 40 of them are measured, no more.
    assert!((0.5..1.6).contains(&(measured / variance)), "{}", measured / variance);
    assert!(largest < margin);
}
