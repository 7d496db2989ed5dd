//! The pass over tiles, four slots per register of 32 bytes, which is half a line.
//!
//! Half lines of up to two columns are multiplied at once, so that their sums, their words and a
//! selector fit sixteen registers; the other halves of the run, and further queries, find it in the
//! first-level cache. Words are pairs here and residues in [residues].

mod residues;

use super::doubles::FusedMultiplyAdd;
use super::{Register, prefetch};
use crate::simd::args::tiles::packing::WordPacking;
use crate::simd::args::tiles::{Block, CacheLine, TileLayout, TileRun, TwoResidues, WordForm, WordFormat};
use crate::simd::scalar;

type Slots = [u64; 8];

/// Registers of 32 bytes that multiply words.
pub(in crate::simd) trait Products: Register {
    /// Adds the products of eight words of 32 bits to sums of 64.
    fn add_products(self, sums: [Self::Value; 2], a: Self::Value, b: Self::Value) -> [Self::Value; 2];

    /// The sums of the products of each lower word, and of each upper word.
    fn sums(self, sums: [Self::Value; 2]) -> [[u64; 2]; 4];
}

#[inline(always)]
pub(in crate::simd) fn tiles<R: Products + FusedMultiplyAdd>(
    r: R,
    form: &WordFormat,
    block: Block<'_>,
    sums: &mut [&mut [Slots]],
) {
    match (form.form(), block.comps) {
        (WordForm::Pair(pair), 1) => runs::<_, 1>(r, pair, block, sums),
        (WordForm::Pair(pair), 2) => runs::<_, 2>(r, pair, block, sums),
        (WordForm::Pair(pair), 3) => runs::<_, 3>(r, pair, block, sums),
        (WordForm::Residue(residue), 1) => residues::runs::<_, 1>(r, residue, block, sums),
        (WordForm::Residue(residue), 2) => residues::runs::<_, 2>(r, residue, block, sums),
        (WordForm::Residue(residue), 3) => residues::runs::<_, 3>(r, residue, block, sums),
        _ => scalar::tiles(form, block, sums),
    }
}

#[inline(always)]
fn runs<R: Products, const K: usize>(r: R, pair: &TwoResidues, block: Block<'_>, sums: &mut [&mut [Slots]]) {
    let mut lines = block.lines;
    let mut buffer = [CacheLine([0; 8]); TileLayout::RUN];
    for run in block.layout.runs() {
        let (mine, rest) = lines.split_at(run.lines());
        lines = rest;
        // One run is unpacked for all queries, and the next one prefetched meanwhile.
        let next = rest.as_ptr().cast::<u8>();
        let words = &mut buffer[..run.rows.len() * run.cols.len()];
        WordPacking::Pairs.unpack(run.cols.len(), mine, words, |line| prefetch(next.wrapping_add(line * 64)));
        let words = &*words;
        for (selectors, sums) in block.selectors.iter().zip(sums.iter_mut()) {
            let selectors = &selectors.as_chunks::<K>().0[run.rows.clone()];
            let sums = &mut sums.as_chunks_mut::<K>().0[run.cols.clone()];
            for half in 0..2 {
                let piece = Piece { r, pair, run: &run, words, selectors, half };
                let mut col = 0;
                while col < sums.len() {
                    col += if K < 3 && col + 2 <= sums.len() {
                        piece.add::<2>(col, sums)
                    } else {
                        piece.add::<1>(col, sums)
                    };
                }
            }
        }
    }
}

/// Half of the lines of one run, and one query.
struct Piece<'a, R, const K: usize> {
    r: R,
    pair: &'a TwoResidues,
    run: &'a TileRun,
    words: &'a [CacheLine],
    selectors: &'a [[CacheLine; K]],
    half: usize,
}

impl<R: Products, const K: usize> Piece<'_, R, K> {
    /// Adds the products of `C` columns, and returns `C`.
    #[inline(always)]
    fn add<const C: usize>(&self, col: usize, sums: &mut [[Slots; K]]) -> usize {
        let (half, width) = (self.half, self.run.cols.len());
        let sums = &mut sums[col..col + C];
        let r = self.r;
        let mut acc = [[[r.zero(); 2]; K]; C];
        for (lines, selectors) in self.words.chunks_exact(width).zip(self.selectors) {
            let lines = &lines[col..col + C];
            let mut words = [r.zero(); C];
            for (word, line) in words.iter_mut().zip(lines) {
                *word = r.load(&line.0.as_chunks::<4>().0[half]);
            }
            for (k, selector) in selectors.iter().enumerate() {
                let selector = r.load(&selector.0.as_chunks::<4>().0[half]);
                for (acc, word) in acc.iter_mut().zip(words) {
                    acc[k] = r.add_products(acc[k], word, selector);
                }
            }
        }
        for (acc, sums) in acc.into_iter().zip(sums) {
            for (acc, sums) in acc.into_iter().zip(sums) {
                let sums = &mut sums.as_chunks_mut::<4>().0[half];
                for (sum, products) in sums.iter_mut().zip(r.sums(acc)) {
                    *sum = self.pair.add(*sum, products);
                }
            }
        }
        C
    }
}
