//! Packing of a few columns of a strip, made of whole polynomials.
//!
//! An encoder that has all polynomials of some columns writes every line once, front to back, and
//! reads none: lines that several rows share are assembled from all of them.

use super::strip::Strip;
use crate::simd::args::tiles::layout::TileLayout;
use crate::simd::args::tiles::{LINE, LINE_BYTES};

impl Strip {
    /// Splits the strip into groups of columns, each of which is a strip: in a block their lines
    /// are concatenated.
    pub fn groups(&self) -> impl Iterator<Item = Strip> + use<> {
        let (rows, end) = (self.rows.clone(), self.cols.end);
        self.cols
            .clone()
            .step_by(TileLayout::GROUP_COLS)
            .map(move |col| Strip { rows: rows.clone(), cols: col..end.min(col + TileLayout::GROUP_COLS) })
    }

    /// Packs the bytes of a [group](Self::groups), block after block, from its polynomials as
    /// stored words, in the order of [`polynomials`](Self::polynomials). `None` stands for a
    /// polynomial of zeros.
    ///
    /// # Panics
    /// If there is not one for each position, one is not `n` words, the strip has more columns than
    /// a group, or `out` is not [`block_bytes`](Self::block_bytes) for each block.
    pub fn pack<W: AsRef<[u64]>>(&self, layout: &TileLayout, polynomials: &[Option<W>], out: &mut [u8]) {
        let (cols, packing) = (self.cols.len(), layout.packing());
        assert_eq!(out.len(), self.block_bytes(layout) * layout.blocks(), "a group's bytes of every block");
        assert_eq!(polynomials.len(), self.rows.len() * cols, "a polynomial for each position");
        assert!(cols <= TileLayout::GROUP_COLS, "the columns of one group");
        let zero = vec![0; layout.n()];
        let polynomials: Vec<&[[u64; LINE]]> = polynomials
            .iter()
            .map(|words| {
                let words = words.as_ref().map_or(zero.as_slice(), AsRef::as_ref);
                assert_eq!(words.len(), layout.n(), "polynomials of n words");
                words.as_chunks().0
            })
            .collect();
        let (bunched, single) =
            polynomials.split_at(self.rows.len() / packing.rows() * packing.rows() * cols);
        let bunch_bytes = packing.lines() * cols * LINE_BYTES;
        for (i, block) in out.chunks_exact_mut(self.block_bytes(layout)).enumerate() {
            let (of_bunches, of_single) =
                block.split_at_mut(bunched.len() / (packing.rows() * cols) * bunch_bytes);
            let bunches =
                bunched.chunks_exact(packing.rows() * cols).zip(of_bunches.chunks_exact_mut(bunch_bytes));
            for (bunch, out) in bunches {
                let (own, last) = bunch.split_at(packing.lines() * cols);
                for (line, (own, out)) in own.iter().zip(out.as_chunks_mut::<LINE_BYTES>().0).enumerate() {
                    let mut words = own[i];
                    for (word, last) in words.iter_mut().zip(&last[line % cols][i]) {
                        packing.scatter(line / cols, *last, word);
                    }
                    put(&words, out);
                }
            }
            single.iter().zip(of_single.as_chunks_mut().0).for_each(|(words, out)| put(&words[i], out));
        }
    }
}

#[inline(always)]
fn put(words: &[u64; LINE], out: &mut [u8; LINE_BYTES]) {
    out.as_chunks_mut::<8>().0.iter_mut().zip(words).for_each(|(out, word)| *out = word.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::mix;
    use crate::tiles::{WordPacking, strips};

    #[test]
    fn groups_are_what_is_put_one_by_one() {
        for packing in [WordPacking::Residues, WordPacking::Pairs] {
            for (rows, cols) in [(1, 1), (33, 6), (64, 9), (47, 4)] {
                let layout = TileLayout::new(packing, 128, rows, cols).unwrap();
                for strip in strips(&layout) {
                    let mut whole = vec![0; strip.block_bytes(&layout) * layout.blocks()];
                    let mut groups: Vec<Vec<u8>> = Vec::new();
                    for group in strip.groups() {
                        let words = |(row, col): (usize, usize)| {
                            let word = |i| mix((row * 1000 + col * 130 + i) as u64) & packing.own();
                            ((row + col) % 5 > 0).then(|| (0..128).map(word).collect::<Vec<u64>>())
                        };
                        let all: Vec<_> = group.polynomials().map(words).collect();
                        let there: Vec<_> = group.polynomials().zip(&all).collect();
                        let there: Vec<_> =
                            there.into_iter().filter_map(|(at, words)| Some((at, words.as_ref()?))).collect();
                        strip.put(&layout, &there, &mut whole);
                        let mut out = vec![0xEE; group.block_bytes(&layout) * layout.blocks()];
                        group.pack(&layout, &all, &mut out);
                        groups.push(out);
                    }
                    for (i, block) in whole.chunks_exact(strip.block_bytes(&layout)).enumerate() {
                        let of = |group: &Vec<u8>| {
                            let len = group.len() / layout.blocks();
                            group[i * len..(i + 1) * len].to_vec()
                        };
                        assert!(block == groups.iter().flat_map(of).collect::<Vec<u8>>());
                    }
                }
            }
        }
    }
}
