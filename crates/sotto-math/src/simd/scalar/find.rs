//! A search, one word at a time.

use crate::find::Either;

pub(in crate::simd) fn either16(sought: &Either<'_>, hits: &mut [u64]) {
    for ((a, b), hits) in sought.a.chunks(64).zip(sought.b.chunks(64)).zip(hits) {
        *hits = a.iter().zip(b).zip(0..).fold(0, |hits, ((&a, &b), i)| {
            let a = u32::from((u16::from_le_bytes(a) & sought.mask) ^ sought.x);
            let b = u32::from(b ^ sought.y);
            // Of 17 bits and less, only zero borrows from the upper half: no branch.
            hits | u64::from((a.wrapping_sub(1) | b.wrapping_sub(1)) >> 31) << i
        });
    }
}
