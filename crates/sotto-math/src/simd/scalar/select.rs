//! The sum of selected records, eight bytes of slices at a time.

use crate::simd::args::{SelectionMatrices, SelectionShare};

/// A word whose bytes have only their lowest bit.
const ONES: u64 = 0x0101_0101_0101_0101;

pub(in crate::simd) fn matrices(shares: &[SelectionShare<'_>], step: usize, out: &mut [SelectionMatrices]) {
    for run in 0..shares[0].masks.len() {
        let out = &mut out[run * step];
        *out = [0; 64];
        for (q, share) in shares.iter().enumerate() {
            let (bytes, mask) = (&share.bytes[run], share.masks[run]);
            for (out, (byte, word)) in out.iter_mut().zip(bytes.iter().zip(share.word)) {
                *out |= u64::from(byte ^ (word & mask)) << (8 * (7 - q));
            }
        }
    }
}

/// Sums the selected records. A byte of slices times a row of the matrix is the parity of their
/// common bits. Parities are linear: so bytes are masked and added over a run, and each sum's
/// parity is computed once.
pub(in crate::simd) fn select(
    blocks: &[[u8; 64]],
    queries: usize,
    selections: &[SelectionMatrices],
    sums: &mut [[u8; 64]],
) {
    let groups = queries.div_ceil(8);
    let lines = sums.len() / groups;
    for (run, selections) in blocks.chunks(64 * lines).zip(selections.chunks_exact(groups)) {
        for (g, (matrices, sums)) in selections.iter().zip(sums.chunks_exact_mut(lines)).enumerate() {
            for i in 0..8.min(queries - 8 * g) {
                for (line, sum) in sums.iter_mut().enumerate() {
                    let mut masked = [0u64; 8];
                    for (block, matrix) in run.chunks_exact(lines).zip(matrices) {
                        let row = u64::from(matrix.to_be_bytes()[i]) * ONES;
                        for (masked, bytes) in masked.iter_mut().zip(block[line].as_chunks::<8>().0) {
                            *masked ^= u64::from_le_bytes(*bytes) & row;
                        }
                    }
                    for (sum, masked) in sum.as_chunks_mut::<8>().0.iter_mut().zip(masked) {
                        *sum = (u64::from_le_bytes(*sum) ^ parities(masked) << i).to_le_bytes();
                    }
                }
            }
        }
    }
}

/// The parity of each byte, in its lowest bit.
fn parities(mut x: u64) -> u64 {
    x ^= x >> 4;
    x ^= x >> 2;
    x ^= x >> 1;
    x & ONES
}
