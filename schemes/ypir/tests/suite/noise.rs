//! Measured noise of the second pass against the formulas; `sotto-silent` has that of the first. The secrets are known to this
//! test alone: it draws them a second time from the generator the client was given.

use crate::setup::{Table, WIDEST, bytes, literal};
use sotto_lattice::encrypt::phase;
use sotto_lattice::noise::steps;
use sotto_lattice::ring::ModulusLevel;
use sotto_lattice::secret::SecretKey;
use sotto_silent::Client;
use sotto_silent::bound::few_variances_and_margin;
use sotto_silent::lattice::{DIGITS, LAW, N, NORM, Q, Q_BITS, SIGMA, ring};
use sotto_silent::lwe::encrypt::LweVectorEncryptor;
use sotto_silent::lwe::ring::Ring;
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::unit_vector::MessageBits;
use sotto_testkit::rng::seeded;
use sotto_ypir::Ypir;

/// Errors of an answer's numbers, in units of 1 modulo q: the packed ones, and the fresh ones.
fn noise(table: &Table, client: &mut Client<Ypir>, index: u64, label: &str) -> [Vec<f64>; 2] {
    let ring = ring().unwrap();
    let (_, answer, record) = table.lookup(client, index, label);
    assert_eq!(record, table.row(index), "{label}");
    let columns = table.params.cut().columns() as usize;
    let first = LweVectorEncryptor::new(Ring::new().unwrap(), columns.div_ceil(1024));
    let mut rng = seeded(label);
    let s = first.secret(&mut rng);
    first.unit(columns, 0, &s, &mut rng, |word| word);
    let secret = SecretKey::sample(&ring, LAW, &mut rng);

    let widths = table.params.bits();
    let polynomial = |words: &[u64], width: u32| {
        // What a word stands for modulo q, to the nearest integer.
        let lift = |x: u64| ((u128::from(x) * u128::from(Q) + (1 << (width - 1))) >> width) as u64;
        let mut slots: Vec<u64> = words.iter().map(|word| lift(*word)).collect();
        slots.resize(N, 0);
        ring.forward(ModulusLevel::Main, &mut slots);
        slots
    };
    let part = |[mask, words]: &[Vec<u64>; 2]| {
        let (mask, body) = (polynomial(mask, widths.mask), polynomial(words, widths.body));
        let phase = phase(&ring, ModulusLevel::Main, &secret, &mask, &body);
        // Numbers are multiples of q / p: what is left is the distance to the nearest.
        let step = Q as f64 / 65536.0;
        let left = |phase: &i128| (*phase as f64 + step / 2.0).rem_euclid(step) - step / 2.0;
        phase.iter().take(words.len()).map(left).collect::<Vec<f64>>()
    };
    let (packed, fresh) = answer.0.as_chunks().0.split_at(table.params.groups() as usize);
    [packed, fresh].map(|parts| parts.iter().flat_map(part).collect())
}

/// Errors that the formulas predict for numbers of this mean square, in place of the largest, with
/// uniform roundings.
fn predicted(words: u64, bits: MessageBits) -> [f64; 2] {
    let unit = |kept: u32| Q as f64 * (-f64::from(kept)).exp2();
    let keys = steps::truncated(SIGMA, Q_BITS - bits.keys);
    let square = 2f64.powi(32) / 12.0;
    let alone = words as f64 * square * steps::truncated(SIGMA, bits.dropped())
        + unit(bits.mask).powi(2) * NORM / 12.0
        + unit(bits.body).powi(2) / 12.0;
    [alone + steps::inspiring(N, &DIGITS, (Q as f64).log2(), keys, NORM), alone]
}

#[test]
fn noise_is_what_the_formulas_say() {
    let blocks = 1 << 11;
    for (name, bits) in [
        ("packing", WIDEST),
        ("short words", [32, 42, 50, 37, 37]),
        ("short masks", [32, 50, 50, 25, 25]),
        ("short bodies", [32, 50, 50, 37, 18]),
    ] {
        let table = Table::checked(literal([1, blocks, blocks], bits), bytes(blocks as usize));
        let (mut packed, mut fresh, mut client) = (Vec::new(), Vec::new(), table.client("prepare"));
        // One fresh number a query; 100 of them know a deviation to 0.1 bits.
        for i in 0..if name == "packing" { 3 } else { 100 } {
            let [a, b] = noise(&table, &mut client, i * 11 % blocks, &format!("{name} {i}"));
            packed.extend(a);
            fresh.extend(b);
        }
        let bits = table.params.bits();
        let measured =
            [&packed, &fresh].map(|noise| noise.iter().map(|x| x * x).sum::<f64>() / noise.len() as f64);
        let off = |i: usize| (measured[i] / predicted(blocks, bits)[i]).log2() / 2.0;
        assert!(off(0).abs() < 0.3, "{name}: {} bits", off(0));
        assert!(off(1).abs() < 0.3 || name == "packing", "{name}, fresh: {} bits", off(1));
        let bounds =
            [N, 1].map(|samples| few_variances_and_margin(samples, blocks, PlainModulus::BYTES, bits));
        for ((noise, measured), (variances, margin)) in [packed, fresh].iter().zip(measured).zip(bounds) {
            let body = (Q as f64 / f64::from(bits.body).exp2() / 2.0).powi(2) / 3.0;
            assert!(measured < variances.iter().sum::<f64>() * 1.3 + body, "{name}");
            let largest = noise.iter().fold(0f64, |most, x| most.max(x.abs()));
            assert!(largest < margin + Q as f64 / 2f64.powi(19), "{name}: {largest} {margin}");
        }
    }
}
