//! Positions of rows, by transposing offsets and compressing the chosen ones.

use super::registers::{load, store};
use crate::simd::args::{LANES, SetOffsets};
use core::arch::x86_64::*;

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) fn places(lanes: SetOffsets<'_>, first: usize, chosen: &[u16], out: &mut [[u32; LANES]]) {
    let valid = u16::MAX >> (LANES - lanes.count);
    let zeros = _mm512_set1_epi32(lanes.zeros() as i32);
    let mask = _mm512_set1_epi32(lanes.rows as i32 - 1);
    let order = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    let starts = _mm512_mullo_epi32(order, _mm512_set1_epi32(lanes.rows as i32));
    // From two registers with four partitions each, the words of one set and those of the next; the
    // upper half of each set's words comes from two others.
    let from: [u16; 32] = std::array::from_fn(|p| {
        let (set, k) = (p / 16, p % 8);
        (k / 4 * 32 + k % 4 * 8 + set) as u16
    });
    let from = load(&from);
    // Partitions that the window lacks repeat its last one, and are not valid.
    let lane = |k: usize| &lanes.offsets[k.min(lanes.count - 1) * lanes.blocks + first..];
    let lane: [&[[u8; 16]]; LANES] = std::array::from_fn(lane);
    let (octets, rest) = chosen.as_chunks::<8>();
    let (out_octets, out_rest) = out.as_chunks_mut::<8>();
    let eight = |b: usize, chosen: &[u16; 8], out: &mut [[u32; LANES]; 8]| {
        let quad = |k: usize| {
            let [a, b, c, d] =
                [lane[k][b], lane[k + 1][b], lane[k + 2][b], lane[k + 3][b]].map(|block| register(&block));
            let quad = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(a), b);
            _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(quad, c), d)
        };
        let quads = [quad(0), quad(4), quad(8), quad(12)];
        for t in 0..4 {
            let from = _mm512_add_epi16(from, _mm512_set1_epi16(2 * t as i16));
            let lower = _mm512_permutex2var_epi16(quads[0], from, quads[1]);
            let upper = _mm512_permutex2var_epi16(quads[2], from, quads[3]);
            let both = _mm512_mask_blend_epi16(0xFF00_FF00, lower, upper);
            let sets = [_mm512_castsi512_si256(both), _mm512_extracti64x4_epi64::<1>(both)];
            for (s, set) in sets.into_iter().enumerate() {
                let offsets = _mm512_and_si512(_mm512_cvtepu16_epi32(set), mask);
                let places = _mm512_add_epi32(offsets, starts);
                let chosen = chosen[2 * t + s] & valid;
                store(&mut out[2 * t + s], _mm512_mask_compress_epi32(zeros, chosen, places));
            }
        }
    };
    for (b, (chosen, out)) in octets.iter().zip(out_octets).enumerate() {
        eight(b, chosen, out);
    }
    if !rest.is_empty() {
        let (mut last, mut places) = ([0; 8], [[0; LANES]; 8]);
        last[..rest.len()].copy_from_slice(rest);
        eight(octets.len(), &last, &mut places);
        out_rest.copy_from_slice(&places[..rest.len()]);
    }
}

/// Loads eight offsets.
#[inline]
#[target_feature(enable = "avx512f")]
fn register(block: &[u8; 16]) -> __m128i {
    // SAFETY: the array is the 16 bytes that this load reads, and it needs no alignment.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}
