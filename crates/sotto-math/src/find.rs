//! Where a word lies in a list, found without telling by time where.

use crate::aes::Aes;
use crate::simd::{self, Blocks};
use zeroize::Zeroize;

/// Positions that are looked at together: the bits of a word.
const TOGETHER: usize = 64;
/// Words of bits that a kernel fills at once, so that they stay in the nearest cache.
const WORDS: usize = 64;
/// Positions that those are.
pub(crate) const PART: usize = WORDS * TOGETHER;

/// Positions that were found, with fixed room, wiped on drop.
///
/// What does not fit is dropped, so that neither memory nor time follows what was found.
pub struct Matches {
    /// Where one of sixty-four positions was found, their bits and the first of them; and one more that is never read.
    room: Vec<[u64; 2]>,
    /// How many of those there are, with those that did not fit.
    count: usize,
    /// What a kernel found.
    hits: [u64; WORDS],
}

impl Matches {
    /// Nothing, with room for `capacity` positions.
    pub fn new(capacity: usize) -> Self {
        Matches { room: vec![[0; 2]; capacity.saturating_add(1)], count: 0, hits: [0; WORDS] }
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
    /// Finds `base + i`, modulo 2^32, for every `i` whose word is sought, or whose tag is.
    ///
    /// Words are those of the blocks of `from[0]` and each number from `from[1]` on ([`Aes::grid`]), eight little-endian ones to
    /// a block, and `words.0` is sought, in the bits that `words.1` has. The tags are `tags.0`, and `tags.1` is sought.
    ///
    /// Time depends on lengths alone. Bits of sixty-four positions at a time are written and the list's end moves on or does
    /// not, so the only address that depends on content is that of the end, within the list.
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

/// What is sought: words that are this one in the bits of the mask, and those with this tag.
#[derive(Clone, Copy)]
pub(crate) struct Needle {
    pub(crate) word: u16,
    pub(crate) mask: u16,
    pub(crate) tag: u16,
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
