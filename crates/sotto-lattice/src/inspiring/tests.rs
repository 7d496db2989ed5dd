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
            weights_give(&packing, &all, &bodies, &keys, [&end, &body]);
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

#[test]
fn packings_that_cannot_be_are_refused() {
    let ring = &rings(128)[2];
    let [short, long] = [(2, 10, 10), (2, 20, 10)].map(|(l, b, a)| Gadget::new(l, b, a).unwrap());
    assert!(Inspiring::new(ring, &short, masks(0), 128).is_none());
    for (count, there_is) in [(128, true), (64, true), (1, true), (0, false), (3, false), (256, false)] {
        assert_eq!(Inspiring::new(ring, &long, masks(0), count).is_some(), there_is, "{count}");
    }
}

/// Checks that bodies by weights and the last switch are those by digits in slots.
fn weights_give(
    packing: &Inspiring,
    samples: &[u64],
    bodies: &[u64],
    keys: &[Vec<u64>],
    packed: [&[u64]; 2],
) {
    let (ring, q) = (packing.ring(), packing.ring().q());
    let weights = PackWeights::new(packing, samples);
    assert!(weights.mask == packed[0]);
    let (first, last) = keys.split_at(packing.digits());
    let mut sums = packing.last(&weights.last, last);
    sums.truncate(packing.samples());
    sums.iter_mut().zip(bodies).for_each(|(sum, b)| *sum = q.add(*sum, *b));
    let mut first = first.to_vec();
    first.iter_mut().for_each(|body| ring.inverse(ModulusLevel::Main, body));
    let mut rows = 0;
    // In two ranges, one of which does not begin at a multiple of eight.
    let cut = packing.samples() / 3;
    for samples in [0..cut, cut..packing.samples()] {
        weights.rows(samples, |sample, digit, row| {
            let most = (packing.steps() as u64) << (packing.gadget.base_log2() - 1);
            assert!(row.iter().all(|weight| weight.unsigned_abs() <= most));
            let products = row.iter().zip(&first[digit]).map(|(x, y)| q.mul(q.reduce_i64(*x), *y));
            sums[sample] = products.fold(sums[sample], |sum, x| q.add(sum, x));
            rows += 1;
        });
    }
    assert!(sums == packed[1] && rows == packing.samples() * packing.digits());
}

/// Bodies by weights are those by digits in slots, whether digits are joint or not, and without masks
/// of the last samples too.
#[test]
fn weights_add_what_digits_add() {
    let n = 512;
    for ring in &rings(n)[2..] {
        let gadget = approximate(ring, ModulusLevel::Main, 2);
        for (count, joint) in [(512, 1), (256, 2), (64, 2), (16, 2), (1, 2)] {
            let packing = Inspiring::new(ring, &gadget, masks(7), count).unwrap();
            let client = secret(ring, 1);
            let keys = keys(&packing, &gadget, &client, 5);
            let (mut all, bodies, _) = samples(ring, &client, 0, count, 1 << 44);
            all.truncate(n * (count - count / 3));
            let [mask, body] = packing.pack(&all, &bodies, &keys);
            weights_give(&packing, &all, &bodies, &keys, [&mask, &body]);
            assert_eq!(weights::JointDigits::of(&packing).count, joint, "{count}");
        }
    }
}

/// Joint sums are separated, up to the largest ones.
#[test]
fn joint_digits_come_apart() {
    let ring = &rings(512)[2];
    let packing = Inspiring::new(ring, &approximate(ring, ModulusLevel::Main, 4), masks(7), 8).unwrap();
    let joint = weights::JointDigits::of(&packing);
    assert_eq!((joint.count, joint.bits), (4, 12));
    let most = 7 << 8;
    for sums in [[most; 4], [-most; 4], [most, -most, most, -most], [0, 0, 0, -1], [5, -6, 7, 0]] {
        let all = sums.iter().rev().fold(0, |all, sum| (all << joint.bits) + sum);
        let mut all = (all as u64).wrapping_add(joint.bias());
        assert_eq!(sums.map(|_| joint.next(&mut all)), sums);
        assert_eq!(all, 0);
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
