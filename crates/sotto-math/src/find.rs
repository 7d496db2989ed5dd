//! Search for words in a list, in time that does not depend on where they are.

use crate::aes::Aes;
pub use crate::simd::args::Needle;
use crate::simd::args::PART;
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
    entries: Vec<[u64; 2]>,
    /// Number of such entries, including those past the capacity.
    count: usize,
    /// Output of a kernel: a bit for each position.
    hits: [u64; WORDS],
}

impl Matches {
    /// Makes an empty list with a capacity of `capacity` positions.
    pub fn new(capacity: usize) -> Self {
        Matches { entries: vec![[0; 2]; capacity.saturating_add(1)], count: 0, hits: [0; WORDS] }
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
        let held = self.count.min(self.entries.len() - 1);
        let (mut at, mut done_bits) = (0, 0);
        for out in out {
            let [bits, from] = self.entries[at];
            let left = bits & !done_bits;
            let there = u64::from(at < held);
            // The highest bit stands for itself, or for none: no test is needed whether there is a
            // bit.
            let position = (from as u32).wrapping_add((left | 1 << (TOGETHER - 1)).trailing_zeros());
            let mask = (there as u32).wrapping_neg();
            *out = (position & mask) | (none & !mask);
            // The word is done if nothing is left without its lowest bit.
            let rest = left & left.wrapping_sub(1);
            let done = ((rest | rest.wrapping_neg()) >> (TOGETHER - 1)) ^ 1;
            done_bits = !rest & done.wrapping_sub(1);
            at += (done & there) as usize;
        }
    }
}

impl core::fmt::Debug for Matches {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Matches(..)")
    }
}

impl Drop for Matches {
    fn drop(&mut self) {
        self.entries.zeroize();
        self.hits.zeroize();
    }
}

impl Aes {
    /// Finds `base + i`, modulo 2^32, for every `i` whose word or tag matches the needle.
    ///
    /// Words are those of the blocks of `from[0]` and each number from `from[1]` on
    /// ([`Aes::grid`]), eight little-endian ones per block.
    ///
    /// The time depends on lengths only. Bits of sixty-four positions at a time are written and the
    /// list's end advances or does not, so the only address that depends on contents is that of the
    /// end, within the list.
    pub fn find(&self, from: [u64; 2], tags: &[u16], needle: Needle, base: u32, found: &mut Matches) {
        find_with(simd::kernels().aes(), self, from, tags, needle, base, found);
    }
}

fn find_with(
    blocks: &dyn Blocks,
    key: &Aes,
    [x, y]: [u64; 2],
    tags: &[u16],
    needle: Needle,
    base: u32,
    found: &mut Matches,
) {
    let Matches { entries, count, hits } = found;
    let last = entries.len() - 1;
    let (mut end, mut from) = (*count, base);
    for (tags, y) in tags.chunks(PART).zip((0..).map(|part| y.wrapping_add(part * (PART / 8) as u64))) {
        let hits = &mut hits[..tags.len().div_ceil(TOGETHER)];
        blocks.find(key, [x, y], tags, needle, hits);
        for bits in hits {
            entries[end.min(last)] = [*bits, from.into()];
            end += ((*bits | bits.wrapping_neg()) >> (TOGETHER - 1)) as usize;
            from = from.wrapping_add(TOGETHER as u32);
        }
    }
    *count = end;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::mix;
    use crate::simd::{Kernels, available};

    fn words(n: usize, seed: u64, bits: u32) -> Vec<u16> {
        (0..n as u64).map(|i| (mix(i + seed) >> 7) as u16 & ((1u32 << bits) - 1) as u16).collect()
    }

    /// A position that stands for none and occurs in no test.
    const NONE: u32 = 1 << 30;

    /// The first `len` positions, padded with the value for none.
    fn first(found: &Matches, len: usize) -> Vec<u32> {
        let mut out = vec![7; len];
        found.positions(NONE, &mut out);
        out
    }

    /// Pads these positions to `len` with the value for none.
    fn padded(positions: &[u32], len: usize) -> Vec<u32> {
        positions.iter().copied().chain(std::iter::repeat(NONE)).take(len).collect()
    }

    /// A search among given words, and among those of blocks.
    struct Case {
        words: Vec<u16>,
        tags: Vec<u16>,
        needle: Needle,
    }

    const FROM: [u64; 2] = [3 << 56, u64::MAX - 5];

    fn key() -> Aes {
        Aes::new(&[7; 16])
    }

    impl Case {
        /// Words are those of the blocks from [`FROM`] on.
        fn of_blocks(n: usize, tags: Vec<u16>, needle: Needle) -> Self {
            let mut blocks = vec![[0; 16]; n.div_ceil(8)];
            key().grid(FROM[0], 1, FROM[1], blocks.len(), &mut blocks);
            let pairs = blocks.as_flattened().as_chunks().0;
            Case { words: pairs.iter().take(n).map(|pair| u16::from_le_bytes(*pair)).collect(), tags, needle }
        }

        fn hit(&self, i: usize) -> bool {
            self.words[i] & self.needle.mask == self.needle.word || self.tags[i] == self.needle.tag
        }

        fn expected(&self, base: u32) -> Vec<u32> {
            (0..self.tags.len()).filter(|i| self.hit(*i)).map(|i| base.wrapping_add(i as u32)).collect()
        }

        fn find(&self, kernels: &dyn Kernels, base: u32, found: &mut Matches) {
            find_with(kernels.aes(), &key(), FROM, &self.tags, self.needle, base, found);
        }
    }

    #[test]
    fn every_backend_finds_all_and_nothing_else() {
        for n in (0..70).chain([127, 128, 129, 255, 256, 257, 300, 1000, 4096 + 17, 2 * 4096]) {
            for (bits, mask) in [(1, 0), (1, 1), (4, 15), (9, 0x1FF), (16, 0xFFF)] {
                let needle = Needle { word: mask & 0x555, mask, tag: 1 };
                let case = Case::of_blocks(n, words(n, 9000, bits), needle);
                for base in [0, u32::MAX - 40] {
                    let expected = case.expected(base);
                    for k in available() {
                        let mut found = Matches::new(n);
                        case.find(k, base, &mut found);
                        for len in [expected.len() / 2, expected.len(), expected.len() + 3] {
                            let got = first(&found, len);
                            assert_eq!(
                                got,
                                padded(&expected, len),
                                "{n} words of {bits} bits by {}",
                                k.name()
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_dropped() {
        let case = Case::of_blocks(500, words(500, 2, 3), Needle { word: 2, mask: 7, tag: 6 });
        let all = case.expected(0);
        // One word of bits holds some positions each, so these are fewer than there are.
        for capacity in 0..20 {
            for k in available() {
                let mut found = Matches::new(capacity);
                case.find(k, 0, &mut found);
                let fit = |word: u32| word < capacity as u32;
                let once: Vec<u32> = all.iter().copied().filter(|at| fit(at / 64)).collect();
                assert_eq!(first(&found, all.len()), padded(&once, all.len()), "{capacity} by {}", k.name());
                // More searches do not displace the positions found before.
                case.find(k, 1 << 20, &mut found);
                let more = all.iter().filter(|at| fit(8 + **at / 64)).map(|at| at + (1 << 20));
                let twice: Vec<u32> = once.iter().copied().chain(more).collect();
                let len = 2 * all.len();
                assert_eq!(first(&found, len), padded(&twice, len), "{capacity} by {}", k.name());
                found.clear();
                assert_eq!(first(&found, 5), [NONE; 5]);
            }
        }
    }

    #[test]
    fn the_backend_in_use_appends() {
        let mut found = Matches::new(4);
        key().find([1, 2], &[9, 7, 7], Needle { word: 1, mask: 0, tag: 7 }, 10, &mut found);
        key().find([1, 2], &[9], Needle { word: 0, mask: 0, tag: 2 }, 99, &mut found);
        assert_eq!(first(&found, 4), [11, 12, 99, NONE]);
        assert!(!format!("{found:?}").contains("11"));
    }
}
