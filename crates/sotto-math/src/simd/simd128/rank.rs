//! Comparisons of bytes, whose masks one instruction packs to bits.

use super::registers::Register16;
use crate::simd::generic::Register;
use core::arch::wasm32::*;

pub(super) fn tally(values: &[u8], x: u8, equal: &mut [u64]) -> [usize; 2] {
    let (r, bound) = (Register16::new(), u8x16_splat(x));
    let (lines, tail) = values.as_chunks::<64>();
    let mut counts = [0, 0];
    let (equals, last) = equal.split_at_mut(lines.len());
    for (line, equal) in lines.iter().zip(equals) {
        let mut less = 0;
        *equal = 0;
        for (part, at) in line.as_chunks::<16>().0.iter().zip([0, 16, 32, 48]) {
            let part = r.load(part);
            less |= u64::from(u8x16_bitmask(u8x16_lt(part, bound))) << at;
            *equal |= u64::from(u8x16_bitmask(u8x16_eq(part, bound))) << at;
        }
        counts[0] += less.count_ones() as usize;
        counts[1] += equal.count_ones() as usize;
    }
    let [less, equal] = crate::simd::scalar::tally(tail, x, last);
    [counts[0] + less, counts[1] + equal]
}

pub(super) fn compare(values: &[[u8; 16]], bounds: &[u8], less: &mut [u16], equal: &mut [u16]) {
    let r = Register16::new();
    for (((values, &bound), less), equal) in values.iter().zip(bounds).zip(less).zip(equal) {
        let (values, bound) = (r.load(values), u8x16_splat(bound));
        (*less, *equal) = (u8x16_bitmask(u8x16_lt(values, bound)), u8x16_bitmask(u8x16_eq(values, bound)));
    }
}
