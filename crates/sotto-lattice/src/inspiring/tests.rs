use super::*;
use crate::encrypt::phase;
use crate::fixture::{
    SIGMA, approximate, digits, exact, masks, noise_log2, norm, rings, samples, secret, with_errors,
};
use crate::noise::steps;

/// The mean square of the noise at the positions of the messages.
fn noise(packing: &Inspiring, secret: &SecretKey, mask: &[u64], body: &[u64], messages: &[i128]) -> f64 {
    let (ring, stride) = (packing.ring(), packing.stride());
    let mut all = vec![0; ring.n()];
    all.iter_mut().step_by(stride).zip(body).for_each(|(x, b)| *x = *b);
    ring.forward(ModulusLevel::Main, &mut all);
    let phase = phase(ring, ModulusLevel::Main, secret, mask, &all);
    let phase: Vec<i128> = phase.iter().step_by(stride).copied().take(messages.len()).collect();
    (2.0 * noise_log2(ring, ModulusLevel::Main, &phase, messages)).exp2()
}

fn predicted(packing: &Inspiring, gadget: &Gadget) -> f64 {
    let (ring, n) = (packing.ring(), packing.ring().n());
    steps::inspiring_few(
        n,
        packing.samples(),
        &digits(gadget),
        ring.log2_q(ModulusLevel::Main),
        SIGMA * SIGMA,
        norm(n),
    )
}

fn keys(packing: &Inspiring, gadget: &Gadget, secret: &SecretKey, seed: u8) -> Vec<Vec<u64>> {
    let make = |errors: &mut ErrorSource<'_>| {
        Inspiring::generate(packing.ring(), gadget, secret, masks(7), errors, packing.samples())
    };
    with_errors(seed, make)
}

/// The messages of two clients decrypt, with the noise of the formula.
#[test]
fn packed_samples_are_the_coefficients() {
    for (n, count) in [(256, 256), (1024, 1024), (256, 128), (1024, 32)] {
        let ring = &rings(n)[2];
        for gadget in [approximate(ring, ModulusLevel::Main, 2), exact(ring, ModulusLevel::Main, 3)] {
            let packing = Inspiring::new(ring, &gadget, masks(7), count).unwrap();
            let mut squares = Vec::new();
            for client in [1, 2] {
                let secret = secret(ring, client);
                let keys = keys(&packing, &gadget, &secret, client + 4);
                for first in [0, 10_000] {
                    let (masks, bodies, messages) = samples(ring, &secret, first, count, 1 << 44);
                    let [mask, body] = packing.pack(&masks, &bodies, &keys);
                    squares.push(noise(&packing, &secret, &mask, &body, &messages));
                }
            }
            let mean = squares.iter().sum::<f64>() / squares.len() as f64;
            let apart = (mean / predicted(&packing, &gadget)).log2() / 2.0;
            assert!(apart.abs() < 0.3, "{n} {count}: {apart} bits");
        }
    }
}

/// Packs few samples: by digits at once, and by weights.
#[test]
fn few_samples_are_packed_at_once_and_by_weights() {
    let n = 512;
    let ring = &rings(n)[2];
    let gadget = approximate(ring, ModulusLevel::Main, 2);
    for count in [1, 2, 8, 64, 256] {
        let packing = Inspiring::new(ring, &gadget, masks(7), count).unwrap();
        let (client, scale) = (secret(ring, 1), 1 << 44);
        let keys = keys(&packing, &gadget, &client, 5);
        let mut squares = Vec::new();
        for first in 0..(64 / count as u64).max(1) {
            let (all, bodies, messages) = samples(ring, &client, first * 1000, count, scale);
            let [end, body] = packing.pack(&all, &bodies, &keys);
            squares.push(noise(&packing, &client, &end, &body, &messages));
            // The same weights, for fewer samples.
            let expected_count = count - count / 3;
            let weights = PackWeights::new(&packing, &all, expected_count);
            assert_eq!(weights.mask, end, "{count}");
            let mut coefficients = keys.concat();
            coefficients.chunks_exact_mut(n).for_each(|body| ring.inverse(ModulusLevel::Main, body));
            let q = i128::from(ring.q().value());
            for (row, (number, body)) in
                weights.rows.chunks_exact(coefficients.len()).zip(bodies.iter().zip(&body))
            {
                let products =
                    row.iter().zip(&coefficients).map(|(weight, y)| i128::from(*weight) * i128::from(*y));
                assert_eq!((i128::from(*number) + products.sum::<i128>()).rem_euclid(q), i128::from(*body));
            }
        }
        let mean = squares.iter().sum::<f64>() / squares.len() as f64;
        if count == 1 {
            assert!(mean < 1e-9, "nothing is switched");
        } else {
            let apart = (mean / predicted(&packing, &gadget)).log2() / 2.0;
            assert!(apart.abs() < 0.3, "{count}: {apart} bits");
        }
    }
}

/// Additions and transforms make the same weights.
#[test]
fn weights_are_the_same_either_way() {
    let ring = &rings(512)[2];
    let gadget = approximate(ring, ModulusLevel::Main, 2);
    for (samples, count) in [(32, 32), (64, 50), (128, 128), (256, 161)] {
        let packing = Inspiring::new(ring, &gadget, masks(7), samples).unwrap();
        let (all, ..) = crate::fixture::samples(ring, &secret(ring, 1), 0, samples, 1 << 44);
        let added = PackWeights::by_additions(&packing, &all, count);
        let transformed = PackWeights::by_transforms(&packing, &all, count);
        assert!(added.rows == transformed.rows && added.mask == transformed.mask, "{samples} {count}");
    }
}

#[test]
fn packings_that_cannot_be_are_refused() {
    let ring = &rings(64)[2];
    let [short, long] = [(2, 10, 10), (2, 20, 10)].map(|(l, b, a)| Gadget::new(l, b, a).unwrap());
    assert!(Inspiring::new(ring, &short, masks(0), 64).is_none());
    for (count, there_is) in [(64, true), (32, true), (1, true), (0, false), (3, false), (128, false)] {
        assert_eq!(Inspiring::new(ring, &long, masks(0), count).is_some(), there_is, "{count}");
    }
}

/// Bodies by columns of integers and the last switch are those by digits in slots.
#[test]
fn columns_add_what_digits_add() {
    let n = 512;
    let ring = &rings(n)[2];
    let (q, gadget) = (*ring.q(), approximate(ring, ModulusLevel::Main, 2));
    for count in [512, 256, 32] {
        let packing = Inspiring::new(ring, &gadget, masks(7), count).unwrap();
        let client = secret(ring, 1);
        let keys = keys(&packing, &gadget, &client, 5);
        let (all, bodies, _) = samples(ring, &client, 0, count, 1 << 44);
        let [mask, body] = packing.pack(&all, &bodies, &keys);
        let columns = WeightColumns::new(&packing, &all);
        assert_eq!(columns.mask, mask);
        let mut sums = packing.last(&columns.last, &keys[2..]);
        sums.truncate(count);
        for (digit, key) in keys[..2].iter().enumerate() {
            let mut key = key.clone();
            ring.inverse(ModulusLevel::Main, &mut key);
            let mut weights = vec![0; n * count];
            let (first, rest) = weights.split_at_mut(count * 64);
            columns.put(digit, 0, first);
            columns.put(digit, 64, rest);
            assert!(weights.iter().all(|x| x.unsigned_abs() < 1 << 23));
            for (column, key) in weights.chunks_exact(count).zip(&key) {
                for (sum, x) in sums.iter_mut().zip(column) {
                    *sum = q.add(*sum, q.mul(q.reduce_i64(*x), *key));
                }
            }
        }
        sums.iter_mut().zip(&bodies).for_each(|(sum, b)| *sum = q.add(*sum, *b));
        assert_eq!(sums, body, "{count}");
    }
}

/// Polynomials with messages at powers of X^g are packed into one ciphertext, with the noise of as
/// many switches as there are polynomials.
#[test]
fn traces_pack_polynomials() {
    let n = 512;
    let ring = &rings(n)[2];
    let q = *ring.q();
    let gadget = approximate(ring, ModulusLevel::Main, 2);
    for g in [1, 2, 16, 256] {
        let packing = TracePacking::new(ring, &gadget, masks(7), g).unwrap();
        let client = secret(ring, 1);
        let key =
            with_errors(5, |errors| TracePacking::generate(ring, &gadget, &client, masks(7), errors, g));
        let mut squares = Vec::new();
        for first in 0..(32 / g as u64).max(2) {
            let (mut all, mut body, mut messages) = (Vec::new(), vec![0; n], vec![0; n]);
            for c in 0..g {
                let mask = crate::encrypt::mask(
                    ring,
                    ModulusLevel::Main,
                    masks(3).seed,
                    "trace",
                    first * 1000 + c as u64,
                );
                let mut sample = mask.clone();
                ring.mul(ModulusLevel::Main, &mut sample, client.slots(ring, ModulusLevel::Main));
                ring.inverse(ModulusLevel::Main, &mut sample);
                for at in (0..n).step_by(g) {
                    let message = ((c + at) as u64 * 12345 % 61) << 40;
                    body[at + c] = q.add(sample[at], message);
                    messages[at + c] = i128::from(message);
                }
                all.extend(mask);
            }
            let TraceDigits { digits, mask } = packing.digits(&all);
            assert_eq!(digits.len(), 2 * (g - 1));
            let fold = packing.fold(digits.iter().map(Vec::as_slice), &key);
            body.iter_mut().zip(&fold).for_each(|(x, y)| *x = q.add(*x, *y));
            ring.forward(ModulusLevel::Main, &mut body);
            let phase = phase(ring, ModulusLevel::Main, &client, &mask, &body);
            squares.push((2.0 * noise_log2(ring, ModulusLevel::Main, &phase, &messages)).exp2());
        }
        let mean = squares.iter().sum::<f64>() / squares.len() as f64;
        if g == 1 {
            assert!(mean < 1e-9, "nothing is switched");
            continue;
        }
        let log2_q = ring.log2_q(ModulusLevel::Main);
        let predicted = steps::inspiring_few(n, g, &digits(&gadget), log2_q, SIGMA * SIGMA, norm(n));
        let apart = (mean / predicted).log2() / 2.0;
        assert!(apart.abs() < 0.3, "{g}: {apart} bits");
    }
    for g in [0, 3, 512] {
        assert!(TracePacking::new(ring, &gadget, masks(7), g).is_none(), "{g}");
    }
}
