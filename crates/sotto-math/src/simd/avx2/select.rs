//! The sum of selected records, by masks: see the scalar kernel.
//!
//! There is no product of a bit matrix in these registers, so each query has masked sums of its
//! own: eight queries, or one query, for about 32 bytes of slices at a time.

use super::registers::{load, store};
use crate::simd::args::SelectionMatrices;
use core::arch::x86_64::*;

type Line = [u8; 64];

/// Lines of a block that are processed before those beyond.
const STRIP: usize = 256;
/// Lines of a block up to which all 64 blocks of a run are processed at once; otherwise eight are.
const NARROW: usize = 8;
const FEW: usize = 8;

#[target_feature(enable = "avx2")]
pub(super) fn select(blocks: &[Line], queries: usize, selections: &[SelectionMatrices], sums: &mut [Line]) {
    let groups = queries.div_ceil(8);
    let lines = sums.len() / groups;
    let depth = if lines <= NARROW { 64 } else { FEW };
    for strip in (0..lines).step_by(STRIP) {
        let end = lines.min(strip + STRIP);
        for (run, selections) in blocks.chunks(64 * lines).zip(selections.chunks_exact(groups)) {
            for (part, first) in run.chunks(depth * lines).zip((0..64).step_by(depth)) {
                for line in strip..end {
                    for (g, matrices) in selections.iter().enumerate() {
                        let sum = &mut sums[g * lines + line];
                        match queries - 8 * g {
                            1 => tile::<1>(part, lines, line, &matrices[first..], sum),
                            _ => tile::<8>(part, lines, line, &matrices[first..], sum),
                        }
                    }
                }
            }
        }
    }
}

/// Adds the records that the first `Q` queries select in one line of some blocks to their bits of
/// the line's sum.
#[target_feature(enable = "avx2")]
fn tile<const Q: usize>(blocks: &[Line], lines: usize, line: usize, matrices: &[u64], sum: &mut Line) {
    for (half, sum) in sum.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let mut masked = [_mm256_setzero_si256(); Q];
        for (block, matrix) in blocks.chunks_exact(lines).zip(matrices) {
            let bytes = load(&block[line].as_chunks::<32>().0[half]);
            let rows = matrix.to_be_bytes();
            for i in 0..Q {
                masked[i] =
                    _mm256_xor_si256(masked[i], _mm256_and_si256(bytes, _mm256_set1_epi8(rows[i] as i8)));
            }
        }
        let mut bits = load(sum);
        for (i, masked) in masked.into_iter().enumerate() {
            let place = _mm256_set1_epi8((1u8 << i) as i8);
            bits = _mm256_xor_si256(bits, _mm256_and_si256(parities(masked), place));
        }
        store(sum, bits);
    }
}

/// The parity of each byte, in all of its bits.
#[inline]
#[target_feature(enable = "avx2")]
fn parities(x: __m256i) -> __m256i {
    // The parity of each of the sixteen half-bytes, 0x00 or 0xFF.
    let table =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, -1, -1, 0, -1, 0, 0, -1, -1, 0, 0, -1, 0, -1, -1, 0));
    let low = _mm256_set1_epi8(0x0F);
    let of_low = _mm256_shuffle_epi8(table, _mm256_and_si256(x, low));
    let of_high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16::<4>(x), low));
    _mm256_xor_si256(of_low, of_high)
}
