//! Measured noise against the formulas. The key is known to this test alone: it draws the secret a second time from the
//! generator the client was given.

use crate::scales::{nibbles, scaled};
use crate::{Table, literal, short};
use sotto_core::Artifact;
use sotto_lattice::secret::SecretKey;
use sotto_silent::MatrixLiteral as _;
use sotto_silent::bound::few_variances_and_margin;
use sotto_silent::lattice::{LAW, PackingDigits, Q, ring};
use sotto_silent::measure::{Errors, average, phases};
use sotto_silent::nibbles::nibbles_of;
use sotto_silent::plain_modulus::PlainModulus;
use sotto_testkit::rng::seeded;
use sotto_testkit::vectors::bytes;
use sotto_ypir_sp::literal::ParamsLiteral;

/// A record's numbers as their phases have them, in units of q / p: with what those at lower scales of
/// its column add.
fn with_lower_scales(table: &Table, record: u64) -> Vec<f64> {
    let (plain, mut sum) = (table.params.plain(), Vec::new());
    for below in 0..=record % plain.scales() as u64 {
        let share = (-f64::from(plain.scale_bits()) * below as f64).exp2();
        let row = table.row(record - below).iter().copied();
        let numbers: Vec<u8> = match table.params.number_bits {
            4 => row.flat_map(nibbles_of).collect(),
            _ => row.collect(),
        };
        sum.resize(numbers.len(), 0.0);
        sum.iter_mut().zip(numbers).for_each(|(sum, x)| *sum += f64::from(x as i8) * share);
    }
    sum
}

/// What is in the answers besides the numbers.
fn noise(table: &Table, queries: u64) -> Errors {
    let (ring, mut errors, p) = (ring().unwrap(), Errors::default(), table.params.plain().modulus());
    let masks = table.params.masks().take(&mut table.image.artifact(Artifact::Hint).unwrap()).unwrap();
    for i in 0..queries {
        let (index, label) = (i * 7 % table.params.records, format!("noise {i}"));
        let (_, answer, record) = table.lookup(&mut table.client("prepare"), index, &label);
        assert_eq!(record, table.row(index), "{label}");
        let secret = SecretKey::sample(&ring, LAW, &mut seeded(&label));
        let samples = table.params.samples();
        // The vectors of the other buckets are of zeros.
        let numbers = with_lower_scales(table, index);
        let (zeros, own) = (vec![0.0; numbers.len()], index / table.params.bucket_records());
        let records = (0..table.params.buckets()).map(|bucket| if bucket == own { &numbers } else { &zeros });
        let numbers = records.flat_map(|record| record.chunks(samples));
        for ((mask, body), numbers) in masks.iter().zip(&answer.0).zip(numbers) {
            let phases = phases((&ring, &secret), table.params.bits(), samples, [mask, body]);
            let negative = table.params.short_blocks().map_or(samples, |blocks| blocks.block);
            for (i, (phase, number)) in phases.iter().zip(numbers).enumerate() {
                errors.add(*phase, if i < negative { *number } else { -number }, p);
            }
        }
    }
    errors
}

#[test]
fn noise_is_what_the_formulas_say() {
    for (name, literal) in [
        ("packing", literal([4096, 3, 2048], [50, 50], [37, 37])),
        ("packing with one key", literal([4096, 3, 1024], [50, 50], [37, 37])),
        ("short keys", literal([4096, 3, 2048], [50, 44], [37, 37])),
        ("short keys, one of them", literal([4096, 3, 1024], [50, 44], [37, 37])),
        ("short words", literal([4096, 5000, 1024], [24, 50], [37, 37])),
        ("short masks", literal([4096, 3, 1024], [50, 50], [18, 18])),
        ("short bodies", literal([6000, 3, 2048], [50, 50], [37, 11])),
        ("buckets", ParamsLiteral { buckets: Some(3), ..literal([2000, 6300, 1024], [24, 50], [37, 37]) }),
        ("scales", scaled([3, 10], literal([4096, 9, 1024], [50, 50], [37, 37]))),
        ("scales and words", scaled([3, 10], literal([2048, 9000, 2048], [45, 50], [37, 37]))),
        ("two scales and words", scaled([2, 9], literal([2048, 9001, 1024], [35, 50], [37, 37]))),
        ("scales and bodies", scaled([3, 10], literal([6000, 9, 2048], [50, 50], [37, 12]))),
        ("nibbles", nibbles([5, 6], literal([2048, 9, 1024], [50, 50], [37, 37]))),
        ("nibbles and words", nibbles([5, 6], literal([2048, 9000, 1024], [42, 50], [37, 37]))),
        ("nibbles, keys and bodies", nibbles([4, 6], literal([3000, 9, 2048], [50, 42], [37, 7]))),
        ("short blocks", short(64, literal([4096, 60, 2048], [50, 50], [37, 37]))),
        ("short blocks and keys", short(256, literal([4096, 3, 2048], [50, 42], [37, 37]))),
        ("short blocks and words", short(128, literal([2048, 300, 2048], [24, 50], [37, 37]))),
    ] {
        let records = bytes((literal.record_bytes * literal.records) as usize);
        let table = Table::checked(literal, records);
        let (errors, params, bits) = (noise(&table, 2), &table.params, table.params.bits());
        // Numbers that are packed by as many switches, less one; and words that are multiplied by
        // numbers: in short blocks as many for each record as there are powers of Y.
        let (switched, records) = match params.short_blocks() {
            Some(blocks) => (blocks.block, params.records * blocks.powers() as u64),
            None => (params.samples(), params.words()),
        };
        let plain = params.plain();
        let scales =
            (0..plain.scales() as u32).map(|scale| (f64::from(2 * plain.scale_bits() * scale)).exp2());
        let square = (plain.modulus() as f64).powi(2) / 12.0 * scales.sum::<f64>();
        let predicted = average((switched, PackingDigits::ONE), records, square, 1, bits);
        let apart = (errors.mean().log2() - predicted.log2()) / 2.0;
        assert!(apart.abs() < 0.3, "{name}: {apart} bits");
        let (variances, margin) = few_variances_and_margin(switched, params.words(), plain, bits);
        let variance: f64 = variances.iter().sum();
        assert!(errors.mean() < variance * 1.2 || bits.body < 18, "{name}");
        let largest = errors.largest();
        assert!(largest < margin + Q as f64 / 2f64.powi(12), "{name}: {largest} {margin}");
    }
}

/// Every number at its largest: the words' part is what the bound has for it.
#[test]
fn the_worst_table_comes_close_to_the_bound_and_stays_below() {
    let records = 3000u64;
    let literal = literal([64, records, 1024], [24, 50], [37, 37]);
    let table = Table::checked(literal, vec![0x80; 64 * records as usize]);
    let errors = noise(&table, 40);
    let (variances, margin) =
        few_variances_and_margin(1024, records, PlainModulus::BYTE, table.params.bits());
    // All numbers of a record have the same noise of words, so that 40 of them are measured, no more.
    let ratio = errors.mean() / variances.iter().sum::<f64>();
    assert!((0.5..1.6).contains(&ratio), "{ratio}");
    assert!(errors.largest() < margin);
}
