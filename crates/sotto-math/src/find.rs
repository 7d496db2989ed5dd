//! Where a word lies in a list, found without telling by time where.

use crate::simd::{self, Kernels};
use zeroize::Zeroize;

/// Positions that are looked at together: the bits of a word.
const TOGETHER: usize = 64;
/// Words of bits that a kernel fills at once, so that they stay in the nearest cache.
const WORDS: usize = 64;

/// Positions that were found, with fixed room, wiped on drop.
///
/// What does not fit is dropped, so that neither memory nor time follows what was found.
pub struct Found {
    /// Where one of sixty-four positions was found, their bits and the first of them; and one more that is never read.
    room: Vec<[u64; 2]>,
    /// How many of those there are, with those that did not fit.
    count: usize,
    /// What a kernel found.
    hits: [u64; WORDS],
}

impl Found {
    /// Nothing, with room for `capacity` positions.
    pub fn new(capacity: usize) -> Self {
        Found { room: vec![[0; 2]; capacity.saturating_add(1)], count: 0, hits: [0; WORDS] }
    }

    /// Forgets all positions.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Writes the positions that were found, in the order in which they were, and `none` behind the last; those that find no
    /// place in `out` are left out.
    ///
    /// Time depends on the length of `out` alone, and one address on the content: how far the list was read.
    pub fn positions(&self, none: u32, out: &mut [u32]) {
        let held = self.count.min(self.room.len() - 1);
        let (mut at, mut seen) = (0, 0);
        for out in out {
            let [bits, from] = self.room[at];
            let left = bits & !seen;
            let there = u64::from(at < held);
            // The highest bit stands for itself, or for none: no processor has to ask whether there is a bit.
            let position = (from as u32).wrapping_add((left | 1 << (TOGETHER - 1)).trailing_zeros());
            let mask = (there as u32).wrapping_neg();
            *out = (position & mask) | (none & !mask);
            // Without its lowest bit, the word is done if nothing is left.
            let rest = left & left.wrapping_sub(1);
            let done = ((rest | rest.wrapping_neg()) >> (TOGETHER - 1)) ^ 1;
            seen = !rest & done.wrapping_sub(1);
            at += (done & there) as usize;
        }
    }
}

impl core::fmt::Debug for Found {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Found(..)")
    }
}

impl Drop for Found {
    fn drop(&mut self) {
        self.room.zeroize();
        self.hits.zeroize();
    }
}

/// Finds `base + i`, modulo 2^32, for every `i` with `a[i] & mask == x` or `b[i] == y`; numbers of `a` are little-endian.
///
/// Time depends on lengths alone. Bits of sixty-four positions at a time are written and the list's end moves on or does
/// not, so the only address that depends on content is that of the end, within the list.
///
/// # Panics
/// If `a` and `b` differ in length.
pub fn either16(a: &[[u8; 2]], mask: u16, x: u16, b: &[u16], y: u16, base: u32, found: &mut Found) {
    either16_with(simd::kernels(), &Either { a, mask, x, b, y }, base, found);
}

/// What [`either16`] looks for, and where.
#[derive(Clone, Copy)]
pub(crate) struct Either<'a> {
    pub(crate) a: &'a [[u8; 2]],
    pub(crate) mask: u16,
    pub(crate) x: u16,
    pub(crate) b: &'a [u16],
    pub(crate) y: u16,
}

fn either16_with(kernels: &dyn Kernels, sought: &Either<'_>, base: u32, found: &mut Found) {
    const PART: usize = WORDS * TOGETHER;
    assert_eq!(sought.a.len(), sought.b.len(), "as many words in both lists");
    let Found { room, count, hits } = found;
    let last = room.len() - 1;
    let (mut end, mut from) = (*count, base);
    for (a, b) in sought.a.chunks(PART).zip(sought.b.chunks(PART)) {
        let hits = &mut hits[..a.len().div_ceil(TOGETHER)];
        kernels.either16(&Either { a, b, ..*sought }, hits);
        for bits in hits {
            room[end.min(last)] = [*bits, from.into()];
            end += ((*bits | bits.wrapping_neg()) >> (TOGETHER - 1)) as usize;
            from = from.wrapping_add(TOGETHER as u32);
        }
    }
    *count = end;
}

#[cfg(test)]
mod tests;
