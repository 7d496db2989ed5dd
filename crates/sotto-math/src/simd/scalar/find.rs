//! A search, one word at a time.

use crate::find::{Either, SPARE};

pub(in crate::simd) fn either16(sought: &Either<'_>, base: u32, room: &mut [u32], mut count: usize) -> usize {
    let capacity = room.len() - SPARE;
    for ((&a, &b), i) in sought.a.iter().zip(sought.b).zip(0u32..) {
        let (a, b) = (u32::from((a & sought.mask) ^ sought.x), u32::from(b ^ sought.y));
        // Of 17 bits and less, only zero borrows from the upper half: no branch, and always a write.
        let hit = (a.wrapping_sub(1) | b.wrapping_sub(1)) >> 31;
        room[count.min(capacity)] = base.wrapping_add(i);
        count += hit as usize;
    }
    count
}
