//! The pass over tiles, four slots to a register: half a line.
//!
//! Half lines of up to two columns are multiplied at once, so that their sums, their words and
//! a selector fit sixteen registers; the other halves of the run, and further queries, find
//! it in the first cache. Words are pairs here and residues in [residues].

mod residues;

use super::lanes::{load, store};
use crate::simd::generic::prefetch;
use crate::simd::scalar;
use crate::simd::shapes::TilesShape;
use crate::tiles::{Block, Form, Line, Packing, Pair, Run, TileLayout, Words};
use core::arch::x86_64::*;

type Slots = [u64; 8];

#[target_feature(enable = "avx2,fma")]
pub(super) fn tiles(_: &TilesShape, form: &Words, block: Block<'_>, sums: &mut [&mut [Slots]]) {
    match (form.form(), block.comps) {
        (Form::Pair(pair), 1) => runs::<1>(pair, block, sums),
        (Form::Pair(pair), 2) => runs::<2>(pair, block, sums),
        (Form::Pair(pair), 3) => runs::<3>(pair, block, sums),
        (Form::Residue(residue), 1) => residues::runs::<1>(residue, block, sums),
        (Form::Residue(residue), 2) => residues::runs::<2>(residue, block, sums),
        (Form::Residue(residue), 3) => residues::runs::<3>(residue, block, sums),
        _ => scalar::tiles(form, block, sums),
    }
}

#[target_feature(enable = "avx2")]
fn runs<const K: usize>(pair: &Pair, block: Block<'_>, sums: &mut [&mut [Slots]]) {
    let mut lines = block.lines;
    let mut room = [Line([0; 8]); TileLayout::RUN];
    for run in block.layout.runs() {
        let (mine, rest) = lines.split_at(run.lines());
        lines = rest;
        // One run is unpacked for all queries, and the next one fetched meanwhile.
        let next = rest.as_ptr().cast::<u8>();
        let words = &mut room[..run.rows.len() * run.cols.len()];
        Packing::Pairs.unpack(run.cols.len(), mine, words, |line| prefetch(next.wrapping_add(line * 64)));
        let words = &*words;
        for (selectors, sums) in block.selectors.iter().zip(sums.iter_mut()) {
            let selectors = &selectors.as_chunks::<K>().0[run.rows.clone()];
            let sums = &mut sums.as_chunks_mut::<K>().0[run.cols.clone()];
            for half in 0..2 {
                let piece = Piece { pair, run: &run, words, selectors, half };
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
struct Piece<'a, const K: usize> {
    pair: &'a Pair,
    run: &'a Run,
    words: &'a [Line],
    selectors: &'a [[Line; K]],
    half: usize,
}

impl<const K: usize> Piece<'_, K> {
    /// Adds the products of `C` columns, and returns `C`.
    #[target_feature(enable = "avx2")]
    fn add<const C: usize>(&self, col: usize, sums: &mut [[Slots; K]]) -> usize {
        let (half, width) = (self.half, self.run.cols.len());
        let sums = &mut sums[col..col + C];
        let mut acc = [[[_mm256_setzero_si256(); 2]; K]; C];
        for (lines, selectors) in self.words.chunks_exact(width).zip(self.selectors) {
            let lines = &lines[col..col + C];
            let mut words = [[_mm256_setzero_si256(); 2]; C];
            for (words, line) in words.iter_mut().zip(lines) {
                *words = halves(load(&line.0.as_chunks::<4>().0[half]));
            }
            for (k, selector) in selectors.iter().enumerate() {
                let selector = halves(load(&selector.0.as_chunks::<4>().0[half]));
                for (acc, words) in acc.iter_mut().zip(words) {
                    for (acc, (a, b)) in acc[k].iter_mut().zip(words.into_iter().zip(selector)) {
                        *acc = _mm256_add_epi64(*acc, _mm256_mul_epu32(a, b));
                    }
                }
            }
        }
        for (acc, sums) in acc.into_iter().zip(sums) {
            for ([low, high], sums) in acc.into_iter().zip(sums) {
                let (mut lows, mut highs) = ([0u64; 4], [0u64; 4]);
                store(&mut lows, low);
                store(&mut highs, high);
                let sums = &mut sums.as_chunks_mut::<4>().0[half];
                for (sum, (low, high)) in sums.iter_mut().zip(lows.into_iter().zip(highs)) {
                    *sum = self.pair.add(*sum, [low, high]);
                }
            }
        }
        C
    }
}

/// A word as a factor modulo each prime: the multiplication ignores the upper halves of lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn halves(word: __m256i) -> [__m256i; 2] {
    [word, _mm256_srli_epi64::<32>(word)]
}
