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
    sought: Needle,
}

const FROM: [u64; 2] = [3 << 56, u64::MAX - 5];

fn key() -> Aes {
    Aes::new(&[7; 16])
}

impl Case {
    /// Words are those of the blocks from [`FROM`] on.
    fn of_blocks(n: usize, tags: Vec<u16>, sought: Needle) -> Self {
        let mut blocks = vec![[0; 16]; n.div_ceil(8)];
        key().grid(FROM[0], 1, FROM[1], blocks.len(), &mut blocks);
        let pairs = blocks.as_flattened().as_chunks().0;
        Case { words: pairs.iter().take(n).map(|pair| u16::from_le_bytes(*pair)).collect(), tags, sought }
    }

    fn hit(&self, i: usize) -> bool {
        self.words[i] & self.sought.mask == self.sought.word || self.tags[i] == self.sought.tag
    }

    fn expected(&self, base: u32) -> Vec<u32> {
        (0..self.tags.len()).filter(|i| self.hit(*i)).map(|i| base.wrapping_add(i as u32)).collect()
    }

    fn find(&self, kernels: &dyn Kernels, base: u32, found: &mut Matches) {
        find_with(kernels.aes(), &key(), FROM, &self.tags, self.sought, base, found);
    }
}

#[test]
fn every_backend_finds_all_and_nothing_else() {
    for n in (0..70).chain([127, 128, 129, 255, 256, 257, 300, 1000, 4096 + 17, 2 * 4096]) {
        for (bits, mask) in [(1, 0), (1, 1), (4, 15), (9, 0x1FF), (16, 0xFFF)] {
            let sought = Needle { word: mask & 0x555, mask, tag: 1 };
            let case = Case::of_blocks(n, words(n, 9000, bits), sought);
            for base in [0, u32::MAX - 40] {
                let expected = case.expected(base);
                for k in available() {
                    let mut found = Matches::new(n);
                    case.find(k, base, &mut found);
                    for len in [expected.len() / 2, expected.len(), expected.len() + 3] {
                        let got = first(&found, len);
                        assert_eq!(got, padded(&expected, len), "{n} words of {bits} bits by {}", k.name());
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
    key().find([1, 2], (1, 0), (&[9, 7, 7], 7), 10, &mut found);
    key().find([1, 2], (0, 0), (&[9], 2), 99, &mut found);
    assert_eq!(first(&found, 4), [11, 12, 99, NONE]);
    assert!(!format!("{found:?}").contains("11"));
}
