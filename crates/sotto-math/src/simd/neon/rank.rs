//! Comparisons of bytes.

use super::lanes::{bits, bits_of_two, count};
use super::registers::Register16;
use crate::simd::generic::Register;
use core::arch::aarch64::*;

#[target_feature(enable = "neon")]
pub(super) fn tally(values: &[u8], x: u8, equal: &mut [u64]) -> [usize; 2] {
    let r = Register16::new();
    let (lines, tail) = values.as_chunks::<64>();
    let bound = vdupq_n_u8(x);
    let mut counts = [0, 0];
    let (equals, last) = equal.split_at_mut(lines.len());
    for (line, equal) in lines.iter().zip(equals) {
        let parts = line.as_chunks::<16>().0;
        let [a, b, c, d] = [r.load(&parts[0]), r.load(&parts[1]), r.load(&parts[2]), r.load(&parts[3])];
        let is = [vceqq_u8(a, bound), vceqq_u8(b, bound), vceqq_u8(c, bound), vceqq_u8(d, bound)];
        counts[0] += count([vcltq_u8(a, bound), vcltq_u8(b, bound), vcltq_u8(c, bound), vcltq_u8(d, bound)]);
        counts[1] += count(is);
        *equal = bits(is);
    }
    let [less, equal] = crate::simd::scalar::tally(tail, x, last);
    [counts[0] + less, counts[1] + equal]
}

#[target_feature(enable = "neon")]
pub(super) fn compare(values: &[[u8; 16]], bounds: &[u8], less: &mut [u16], equal: &mut [u16]) {
    let r = Register16::new();
    for (((values, &bound), less), equal) in values.iter().zip(bounds).zip(less).zip(equal) {
        let (values, bound) = (r.load(values), vdupq_n_u8(bound));
        [*less, *equal] = bits_of_two(vcltq_u8(values, bound), vceqq_u8(values, bound));
    }
}
