//! A sequential read, eight registers at a time.

use super::lanes::{load, prefetch};
use core::arch::x86_64::*;

const STEP: usize = 512;
/// How far ahead of the loads a line is asked for.
const AHEAD: usize = 4096;

#[target_feature(enable = "avx512f")]
pub(super) fn read(bytes: &[u8]) -> u64 {
    let (steps, tail) = bytes.as_chunks::<STEP>();
    let mut sums = [_mm512_setzero_si512(); 8];
    for step in steps {
        for (sum, line) in sums.iter_mut().zip(step.as_chunks::<64>().0) {
            prefetch(line.as_ptr().wrapping_add(AHEAD));
            *sum = _mm512_xor_si512(*sum, load(line));
        }
    }
    let all = sums.into_iter().fold(_mm512_setzero_si512(), |a, b| _mm512_xor_si512(a, b));
    let mut words = [0u64; 8];
    super::lanes::store(&mut words, all);
    words.iter().fold(crate::simd::scalar::read(tail), |a, b| a ^ b)
}
