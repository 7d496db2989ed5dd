use super::*;
use crate::encrypt::phase;
use crate::fixture::{
    SIGMA, approximate, digits, exact, masks, noise_log2, norm, rings, samples, secret, with_errors,
};
use crate::noise::steps;
use sotto_math::tiles::{Strip, gather, scan_turned, strips};

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
    for n in [256, 1024] {
        let ring = &rings(n)[2];
        for gadget in [approximate(ring, Level::Main, 2), exact(ring, Level::Main, 3)] {
            let packing = Inspiring::new(ring, &gadget, masks(7)).unwrap();
            let layout = packing.layout(2).unwrap();
            let clients: Vec<Secret> = [1, 2].map(|seed| secret(ring, seed)).into();
            let scale = 1 << 44;
            let groups: Vec<_> = [0, 10_000].map(|first| samples(ring, &clients[0], first, scale)).into();
            let (table, ends) =
                table(&packing, &layout, &groups.iter().map(|group| group.0.clone()).collect::<Vec<_>>());
            let keys: Vec<Turned> = clients
                .iter()
                .zip(5..)
                .map(|(secret, seed)| {
                    let make = |errors: &mut Errors<'_>| {
                        Inspiring::generate(ring, &gadget, secret, masks(7), errors)
                    };
                    packing.keys(&with_errors(seed, make))
                })
                .collect();
            let mut sums = vec![vec![0; n * 2]; 2];
            let mut views: Vec<&mut [u64]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
            let queries: Vec<&Turned> = keys.iter().collect();
            let what = (&layout, packing.turns());
            scan_turned(packing.words(), what, &table, 0..layout.blocks(), &queries, &mut views);
            for (client, sums) in clients.iter().zip(&sums) {
                for (col, (first, end)) in [0, 10_000].into_iter().zip(&ends).enumerate() {
                    let (_, bodies, messages) = samples(ring, client, first, scale);
                    let mut sum = vec![0; n];
                    gather(packing.words(), &layout, 1, sums, col..col + 1, &mut [&mut sum]);
                    let mut body = packing.body(&bodies, &sum);
                    ring.forward(Level::Main, &mut body);
                    let phase = phase(ring, Level::Main, client, end, &body);
                    let noise = noise_log2(ring, Level::Main, &phase, &messages);
                    let law = (digits(&gadget), ring.log2_q(Level::Main), SIGMA * SIGMA, norm(n));
                    let predicted = steps::inspiring(n, &law.0, law.1, law.2, law.3).log2() / 2.0;
                    assert!((noise - predicted).abs() < 0.3, "{n}: {noise} {predicted}");
                }
            }
        }
    }
}

#[test]
fn gadgets_that_fall_short_are_refused() {
    let ring = &rings(64)[2];
    let short = Gadget::new(2, 10, 10).unwrap();
    assert!(Inspiring::new(ring, &short, masks(0)).is_none());
}
