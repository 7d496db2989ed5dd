//! A search, 32 words at a time.

use super::lanes::{load, store};
use crate::find::{Either, SPARE};
use core::arch::x86_64::*;

const LANES: usize = 32;

#[target_feature(enable = "avx512f,avx512bw,popcnt")]
pub(super) fn either16(sought: &Either<'_>, base: u32, room: &mut [u32], mut count: usize) -> usize {
    let (a, a_tail) = sought.a.as_chunks::<LANES>();
    let (b, b_tail) = sought.b.as_chunks::<LANES>();
    let mask = _mm512_set1_epi16(sought.mask as i16);
    let (x, y) = (_mm512_set1_epi16(sought.x as i16), _mm512_set1_epi16(sought.y as i16));
    let half = _mm512_set1_epi32(16);
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let mut positions = _mm512_add_epi32(lanes, _mm512_set1_epi32(base as i32));
    let capacity = room.len() - SPARE;
    for (a, b) in a.iter().zip(b) {
        let hits =
            _mm512_cmpeq_epi16_mask(_mm512_and_si512(load(a), mask), x) | _mm512_cmpeq_epi16_mask(load(b), y);
        for hits in [hits as u16, (hits >> 16) as u16] {
            // All sixteen are written, hits first; the next write covers those that are none.
            let at = count.min(capacity);
            let mut sixteen = [0u32; SPARE];
            store(&mut sixteen, _mm512_maskz_compress_epi32(hits, positions));
            room[at..at + SPARE].copy_from_slice(&sixteen);
            count += hits.count_ones() as usize;
            positions = _mm512_add_epi32(positions, half);
        }
    }
    let tail = Either { a: a_tail, b: b_tail, ..*sought };
    let done = sought.a.len() - a_tail.len();
    crate::simd::scalar::either16(&tail, base.wrapping_add(done as u32), room, count)
}
