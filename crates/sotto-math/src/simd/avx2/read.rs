//! A sequential read, eight registers at a time.
//!
//! The processor fetches ahead of plain reads by itself; asking for lines was slower.

use super::lanes::{load, store};
use core::arch::x86_64::*;

const STEP: usize = 256;

#[target_feature(enable = "avx2")]
pub(super) fn read(bytes: &[u8]) -> u64 {
    let (steps, tail) = bytes.as_chunks::<STEP>();
    let mut sums = [_mm256_setzero_si256(); 8];
    for step in steps {
        for (sum, part) in sums.iter_mut().zip(step.as_chunks::<32>().0) {
            *sum = _mm256_xor_si256(*sum, load(part));
        }
    }
    let mut all = crate::simd::scalar::read(tail);
    for sum in sums {
        let mut words = [0u64; 4];
        store(&mut words, sum);
        let [a, b, c, d] = words;
        all ^= a ^ b ^ c ^ d;
    }
    all
}
