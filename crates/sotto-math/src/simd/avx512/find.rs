//! A search, 16 words at a time.
//!
//! As many positions fill a register. Comparing 32 words and cutting the mask in two is slower: the compiler sends the
//! mask through memory and reads it back in another width, which takes longer than all the rest.

use super::lanes::{load_half, store};
use crate::find::{Either, SPARE};
use core::arch::x86_64::*;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
pub(super) fn either16(sought: &Either<'_>, base: u32, room: &mut [u32], mut count: usize) -> usize {
    let (a, a_tail) = sought.a.as_chunks::<SPARE>();
    let (b, b_tail) = sought.b.as_chunks::<SPARE>();
    let mask = _mm256_set1_epi16(sought.mask as i16);
    let (x, y) = (_mm256_set1_epi16(sought.x as i16), _mm256_set1_epi16(sought.y as i16));
    let step = _mm512_set1_epi32(SPARE as i32);
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let mut positions = _mm512_add_epi32(lanes, _mm512_set1_epi32(base as i32));
    let capacity = room.len() - SPARE;
    for (a, b) in a.iter().zip(b) {
        let hits = _mm256_cmpeq_epi16_mask(_mm256_and_si256(load_half(a), mask), x)
            | _mm256_cmpeq_epi16_mask(load_half(b), y);
        // All sixteen positions are written, hits first; the next write covers those that are none.
        let at = count.min(capacity);
        let mut sixteen = [0u32; SPARE];
        store(&mut sixteen, _mm512_maskz_compress_epi32(hits, positions));
        room[at..at + SPARE].copy_from_slice(&sixteen);
        count += hits.count_ones() as usize;
        positions = _mm512_add_epi32(positions, step);
    }
    let tail = Either { a: a_tail, b: b_tail, ..*sought };
    let done = sought.a.len() - a_tail.len();
    crate::simd::scalar::either16(&tail, base.wrapping_add(done as u32), room, count)
}
