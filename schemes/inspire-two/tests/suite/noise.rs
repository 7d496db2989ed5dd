//! Measured noise of both layers against the formulas. The key is known to this test alone: it draws the secret a second time
//! from the generator the client was given.

use crate::{Table, bytes, literal};
use sotto_core::Artifact;
use sotto_inspire_two::literal::{GROUP, ParamsLiteral};
use sotto_lattice::secret::SecretKey;
use sotto_math::bits::unpack_words;
use sotto_silent::MatrixLiteral as _;
use sotto_silent::bound::few_variances_and_margin;
use sotto_silent::lattice::{LAW, N, PackingDigits, Q, ring};
use sotto_silent::measure::{Errors, average, phases};
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::unit_vector::bytes_of;
use sotto_testkit::rng::seeded;

/// Errors of both layers: of the first, of masks, and of bodies.
fn noise(table: &Table, queries: u64) -> [Errors; 3] {
    let ring = ring().unwrap();
    let params = &table.params;
    let ([first, second], mut errors) = (params.bits(), <[Errors; 3]>::default());
    let mut client = table.client("prepare");
    let masks = params.masks().take(&mut table.image.artifact(Artifact::Hint).unwrap()).unwrap();
    for i in 0..queries {
        let (index, label) = (i * 7 % params.records, format!("noise {i}"));
        let (_, answer, record) = table.lookup(&mut client, index, &label);
        assert_eq!(record, table.row(index), "{label}");
        let secret = SecretKey::sample(&ring, LAW, &mut seeded(&label));
        let (of_masks, of_bodies) = answer.0.split_at(masks.len());
        let of_masks = masks.iter().zip(of_masks);
        let mut ciphers = of_masks.chain(of_bodies.as_chunks().0.iter().map(|[mask, body]| (mask, body)));
        let mut both = [Vec::new(), Vec::new()];
        for (kind, groups) in params.groups().iter().enumerate() {
            for numbers in groups {
                let (mask, body) = ciphers.next().unwrap();
                let samples = numbers.next_power_of_two();
                for phase in phases((&ring, &secret), second, samples, [mask, body]) {
                    let number = (phase * 65536.0 / Q as f64).round();
                    errors[1 + kind].add(phase, number, 65536);
                    let number = number.rem_euclid(65536.0) as u16;
                    both[kind].extend(if kind == 0 { bytes_of(number) } else { number.to_le_bytes() });
                }
            }
        }
        let [mask, body] = both;
        let mask = unpack_words(&mask, first.mask, N).unwrap();
        let body = unpack_words(&body[..params.body_bytes()], first.body, params.numbers()).unwrap();
        let samples = params.numbers().next_power_of_two();
        let phases = phases((&ring, &secret), first, samples, [&mask, &body]);
        for (phase, pair) in phases.iter().zip(record.chunks_exact(2)) {
            errors[0].add(*phase, f64::from(pair[0] as i8) + 256.0 * f64::from(pair[1] as i8), 65536);
        }
    }
    errors
}

/// Each step of either layer where it is the largest, and what both bounds have for it.
#[test]
fn noise_is_what_the_formulas_say() {
    let sizes = [128, 12, 4];
    let many = [128, 12_000, 4];
    let cases: [(&str, ParamsLiteral, u64); 5] = [
        ("packing", literal(sizes, [50, 50], 48, [30, 30], [37, 37]), 2),
        ("short keys", literal(sizes, [50, 50], 44, [30, 30], [37, 37]), 2),
        ("short words", literal(many, [42, 36], 48, [30, 30], [37, 37]), 4),
        ("short masks", literal(sizes, [50, 50], 48, [26, 26], [25, 25]), 2),
        ("short bodies", literal(sizes, [50, 50], 48, [30, 18], [37, 18]), 2),
    ];
    for (name, literal, queries) in cases {
        let records = bytes((literal.record_bytes * literal.records) as usize);
        let table = Table::checked(literal, records);
        let (params, [first, second]) = (&table.params, table.params.bits());
        let fresh = params.groups()[1][0].next_power_of_two();
        let layers = [
            (params.numbers().next_power_of_two(), params.columns(), first),
            (GROUP, params.blocks, second),
            (fresh, params.blocks, second),
        ];
        for (layer, (errors, (samples, words, bits))) in noise(&table, queries).iter().zip(layers).enumerate()
        {
            let predicted = average((samples, PackingDigits::TWO), words, 2f64.powi(32) / 12.0, 1, bits);
            let apart = (errors.mean().log2() - predicted.log2()) / 2.0;
            assert!(apart.abs() < 0.3, "{name}, layer {layer}: {apart} bits");
            let (variances, margin) = few_variances_and_margin(samples, words, PlainModulus::PAIR, bits);
            let variance: f64 = variances.iter().sum();
            assert!(errors.mean() < variance * 1.2 || bits.body < 30, "{name}, layer {layer}");
            assert!(errors.largest() < margin + Q as f64 / 2f64.powi(19), "{name}, layer {layer}");
        }
    }
}

/// Every number at its largest: the words' part of the first layer is what the bound has for it.
#[test]
fn the_worst_table_comes_close_to_the_bound_and_stays_below() {
    let literal = literal([64, 6000, 2], [41, 50], 48, [30, 30], [37, 37]);
    let table = Table::checked(literal, vec![0x80; 64 * 6000]);
    let [errors, ..] = noise(&table, 40);
    let (variances, margin) = few_variances_and_margin(32, 3000, PlainModulus::PAIR, table.params.bits()[0]);
    let variance: f64 = variances.iter().sum();
    // All numbers of a record have the same noise of words, so that 40 of them are measured, no more.
    assert!((0.5..1.6).contains(&(errors.mean() / variance)), "{}", errors.mean() / variance);
    assert!(errors.largest() < margin);
}
