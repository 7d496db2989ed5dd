use super::*;
use crate::encrypt::phase;
use crate::fixture::{
    SIGMA, approximate, digits, exact, masks, noise_log2, norm, rings, samples, secret, with_errors,
};
use crate::noise::steps;
use sotto_math::tiles::{Strip, gather, scan_turned, strips};

/// The square of the noise at the places of the messages, on average.
fn noise(packing: &Inspiring, secret: &Secret, mask: &[u64], body: &[u64], messages: &[i128]) -> f64 {
    let (ring, stride) = (packing.ring(), packing.stride());
    let mut all = vec![0; ring.n()];
    all.iter_mut().step_by(stride).zip(body).for_each(|(x, b)| *x = *b);
    ring.forward(Level::Main, &mut all);
    let phase = phase(ring, Level::Main, secret, mask, &all);
    let phase: Vec<i128> = phase.iter().step_by(stride).copied().take(messages.len()).collect();
    (2.0 * noise_log2(ring, Level::Main, &phase, messages)).exp2()
}

fn predicted(packing: &Inspiring, gadget: &Gadget) -> f64 {
    let (ring, n) = (packing.ring(), packing.ring().n());
    steps::inspiring_few(
        n,
        packing.samples(),
        &digits(gadget),
        ring.log2_q(Level::Main),
        SIGMA * SIGMA,
        norm(n),
    )
}

fn keys(packing: &Inspiring, gadget: &Gadget, secret: &Secret, seed: u8) -> Vec<Vec<u64>> {
    let make = |errors: &mut Errors<'_>| {
        Inspiring::generate(packing.ring(), gadget, secret, masks(7), errors, packing.samples())
    };
    with_errors(seed, make)
}

/// The table of the digits of some packed ciphertexts, and their masks.
fn table(packing: &Inspiring, layout: &TileLayout, groups: &[Vec<u64>]) -> (Vec<u8>, Vec<Vec<u64>>) {
    let n = packing.ring().n();
    let mut polynomials = vec![Vec::new(); layout.rows()];
    let mut ends = Vec::new();
    for samples in groups {
        let mut descent = Descent::new(packing, samples);
        let mut digits = vec![0; n * packing.digits()];
        let mut row = 0;
        while descent.next(&mut digits) {
            for digit in digits.chunks_exact(n) {
                polynomials[row].push(digit.to_vec());
                row += 1;
            }
        }
        ends.push(descent.finish());
    }
    let mut table = vec![0; layout.bytes() as usize];
    for strip in strips(layout) {
        put(layout, &strip, &polynomials, &mut table);
    }
    (table, ends)
}

fn put(layout: &TileLayout, strip: &Strip, polynomials: &[Vec<Vec<u64>>], table: &mut [u8]) {
    let mut bytes = vec![0; strip.block_bytes(layout) * layout.blocks()];
    let cells: Vec<_> =
        strip.polynomials().map(|(row, col)| ((row, col), polynomials[row][col].clone())).collect();
    strip.put(layout, &cells, &mut bytes);
    for (block, bytes) in bytes.chunks_exact(strip.block_bytes(layout)).enumerate() {
        table[strip.offset(layout, block) as usize..][..bytes.len()].copy_from_slice(bytes);
    }
}

/// Samples of two groups, packed for two clients in one pass: the messages come back, and the noise is what the formula says.
#[test]
fn packed_samples_are_the_coefficients() {
    for (n, count) in [(256, 256), (1024, 1024), (256, 128), (1024, 32)] {
        let ring = &rings(n)[2];
        for gadget in [approximate(ring, Level::Main, 2), exact(ring, Level::Main, 3)] {
            let packing = Inspiring::new(ring, &gadget, masks(7), count).unwrap();
            let layout = packing.layout(2).unwrap();
            let clients: Vec<Secret> = [1, 2].map(|seed| secret(ring, seed)).into();
            let scale = 1 << 44;
            let firsts = [0, 10_000];
            let groups = firsts.map(|first| samples(ring, &clients[0], first, count, scale).0);
            let (table, ends) = table(&packing, &layout, &groups);
            let keys: Vec<Turned> = clients
                .iter()
                .zip(5..)
                .map(|(secret, seed)| packing.keys(&keys(&packing, &gadget, secret, seed)))
                .collect();
            let mut sums = vec![vec![0; n * 2]; 2];
            let mut views: Vec<&mut [u64]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
            let queries: Vec<&Turned> = keys.iter().collect();
            let what = (&layout, packing.turns());
            scan_turned(packing.words(), what, &table, 0..layout.blocks(), &queries, &mut views);
            let mut squares = Vec::new();
            for (client, sums) in clients.iter().zip(&sums) {
                for (col, (first, end)) in firsts.into_iter().zip(&ends).enumerate() {
                    let (_, bodies, messages) = samples(ring, client, first, count, scale);
                    let mut sum = vec![0; n];
                    gather(packing.words(), &layout, 1, sums, col..col + 1, &mut [&mut sum]);
                    squares.push(noise(&packing, client, end, &packing.body(&bodies, &sum), &messages));
                }
            }
            let mean = squares.iter().sum::<f64>() / squares.len() as f64;
            let apart = (mean / predicted(&packing, &gadget)).log2() / 2.0;
            assert!(apart.abs() < 0.3, "{n} {count}: {apart} bits");
        }
    }
}

/// Few samples: by digits at once, and by weights.
#[test]
fn few_samples_are_packed_at_once_and_by_weights() {
    let n = 512;
    let ring = &rings(n)[2];
    let gadget = approximate(ring, Level::Main, 2);
    for count in [1, 2, 8, 64, 256] {
        let packing = Inspiring::new(ring, &gadget, masks(7), count).unwrap();
        let (client, scale) = (secret(ring, 1), 1 << 44);
        let keys = keys(&packing, &gadget, &client, 5);
        let mut squares = Vec::new();
        for first in 0..(64 / count as u64).max(1) {
            let (all, bodies, messages) = samples(ring, &client, first * 1000, count, scale);
            let [end, body] = packing.pack(&all, &bodies, &keys);
            squares.push(noise(&packing, &client, &end, &body, &messages));
            // The same, but for as many samples as are wanted.
            let wanted = count - count / 3;
            let weights = Weights::new(&packing, &all, wanted);
            assert_eq!(weights.mask, end, "{count}");
            let mut coefficients = keys.concat();
            coefficients.chunks_exact_mut(n).for_each(|body| ring.inverse(Level::Main, body));
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
    let (q, gadget) = (*ring.q(), approximate(ring, Level::Main, 2));
    for count in [512, 256, 32] {
        let packing = Inspiring::new(ring, &gadget, masks(7), count).unwrap();
        let client = secret(ring, 1);
        let keys = keys(&packing, &gadget, &client, 5);
        let (all, bodies, _) = samples(ring, &client, 0, count, 1 << 44);
        let [mask, body] = packing.pack(&all, &bodies, &keys);
        let columns = Columns::new(&packing, &all);
        assert_eq!(columns.mask, mask);
        let mut sums = packing.last(&columns.last, &keys[2..]);
        sums.truncate(count);
        for (digit, key) in keys[..2].iter().enumerate() {
            let mut key = key.clone();
            ring.inverse(Level::Main, &mut key);
            let mut weights = vec![0; n * count];
            let (first, rest) = weights.split_at_mut(count * 64);
            columns.put(digit, 0, first);
            columns.put(digit, 64, rest);
            assert!(weights.iter().all(|x| x.unsigned_abs() < 1 << 23));
            for (column, key) in weights.chunks_exact(count).zip(&key) {
                for (sum, x) in sums.iter_mut().zip(column) {
                    *sum = q.add(*sum, q.mul(q.reduce_i64(i64::from(*x)), *key));
                }
            }
        }
        sums.iter_mut().zip(&bodies).for_each(|(sum, b)| *sum = q.add(*sum, *b));
        assert_eq!(sums, body, "{count}");
    }
}
