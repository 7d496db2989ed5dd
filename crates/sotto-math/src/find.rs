//! Search for words in a list, in time that does not depend on where they are.

use crate::aes::Aes;
use crate::simd::args::{Needle, PART};
use crate::simd::{self, Blocks};
use zeroize::Zeroize;

/// Positions that are tested together: the bits of a word.
const TOGETHER: usize = 64;
/// Words of bits that a kernel fills at once.
const WORDS: usize = PART / TOGETHER;
/// Positions that were found, with a fixed capacity, wiped on drop.
///
/// Positions past the capacity are dropped, so that neither memory nor time depends on what is
/// found.
pub struct Matches {
    /// For each sixty-four positions with a match, their bits and the first position; and one more
    /// entry that is never read.
    room: Vec<[u64; 2]>,
    /// Number of such entries, including those past the capacity.
    count: usize,
    /// Output of a kernel: a bit for each position.
    hits: [u64; WORDS],
}

impl Matches {
    /// Makes an empty list with a capacity of `capacity` positions.
    pub fn new(capacity: usize) -> Self {
        Matches { room: vec![[0; 2]; capacity.saturating_add(1)], count: 0, hits: [0; WORDS] }
    }

    /// Removes all positions.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Writes the positions in the order in which they were found, and `none` after the last;
    /// positions that do not fit `out` are dropped.
    ///
    /// The time depends on the length of `out`, and only one address on the contents: how far the
    /// list was read.
    pub fn positions(&self, none: u32, out: &mut [u32]) {
        let held = self.count.min(self.room.len() - 1);
        let (mut at, mut seen) = (0, 0);
        for out in out {
            let [bits, from] = self.room[at];
            let left = bits & !seen;
            let there = u64::from(at < held);
            // The highest bit stands for itself, or for none: no test is needed whether there is a
            // bit.
            let position = (from as u32).wrapping_add((left | 1 << (TOGETHER - 1)).trailing_zeros());
            let mask = (there as u32).wrapping_neg();
            *out = (position & mask) | (none & !mask);
            // The word is done if nothing is left without its lowest bit.
            let rest = left & left.wrapping_sub(1);
            let done = ((rest | rest.wrapping_neg()) >> (TOGETHER - 1)) ^ 1;
            seen = !rest & done.wrapping_sub(1);
            at += (done & there) as usize;
        }
    }
}

impl core::fmt::Debug for Matches {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Found(..)")
    }
}

impl Drop for Matches {
    fn drop(&mut self) {
        self.room.zeroize();
        self.hits.zeroize();
    }
}

impl Aes {
    /// Finds `base + i`, modulo 2^32, for every `i` whose word or tag matches.
    ///
    /// Words are those of the blocks of `from[0]` and each number from `from[1]` on
    /// ([`Aes::grid`]), eight little-endian ones per block; those that equal `words.0` in the bits
    /// of `words.1` match. The tags are `tags.0`, and those that equal `tags.1` match.
    ///
    /// The time depends on lengths only. Bits of sixty-four positions at a time are written and the
    /// list's end advances or does not, so the only address that depends on contents is that of the
    /// end, within the list.
    pub fn find(
        &self,
        from: [u64; 2],
        words: (u16, u16),
        tags: (&[u16], u16),
        base: u32,
        found: &mut Matches,
    ) {
        let ((word, mask), (tags, tag)) = (words, tags);
        let sought = Needle { word, mask, tag };
        find_with(simd::kernels().aes(), self, from, tags, sought, base, found);
    }
}

fn find_with(
    blocks: &dyn Blocks,
    key: &Aes,
    [x, y]: [u64; 2],
    tags: &[u16],
    sought: Needle,
    base: u32,
    found: &mut Matches,
) {
    let Matches { room, count, hits } = found;
    let last = room.len() - 1;
    let (mut end, mut from) = (*count, base);
    for (tags, y) in tags.chunks(PART).zip((0..).map(|part| y.wrapping_add(part * (PART / 8) as u64))) {
        let hits = &mut hits[..tags.len().div_ceil(TOGETHER)];
        blocks.find(key, [x, y], tags, sought, hits);
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
