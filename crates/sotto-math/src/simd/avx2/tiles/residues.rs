//! Tiles of residues below 2^50, in floating point, four slots to a register.
//!
//! A product below 2^100 is added to 2^101, where the last bit of a double counts 2^49: what is left of it is a multiple of
//! that, exactly, and a second fused multiply-add gives the rest, at most 2^48 in absolute value (the same idea as in the
//! transform: van der Hoeven, Lecerf and Quintin, "Modular SIMD arithmetic in Mathemagix", section 3.3). Multiples are
//! summed as integers, in the bits of the doubles; 32 rests are a double again, at most 2^53. Nothing is
//! reduced before the end of a run.

use super::super::lanes::{load, store};
use super::super::ntt::{Constants, Factors, from_integers, to_integers};
use super::Slots;
use crate::simd::generic::prefetch;
use crate::tiles::{Block, Line, Packing, Residue, Run, TileLayout};
use core::arch::x86_64::*;

/// log2 of what the last bit of a double from 2^101 on counts.
const UNIT: u32 = 49;

/// 2^101.
const LARGE: f64 = (1u128 << (UNIT + 52)) as f64;

#[target_feature(enable = "avx2,fma")]
pub(super) fn runs<const K: usize>(residue: &Residue, block: Block<'_>, sums: &mut [&mut [Slots]]) {
    const { assert!(TileLayout::TILE_ROWS <= 32, "rests of a run are at most 2^53") }
    let fold = Fold::new(residue);
    let mut lines = block.lines;
    let mut room = [Line([0; 8]); TileLayout::RUN];
    for run in block.layout.runs() {
        let (mine, rest) = lines.split_at(run.lines());
        lines = rest;
        // One run is unpacked for all queries, and the next one fetched meanwhile.
        let next = rest.as_ptr().cast::<u8>();
        let words = &mut room[..run.rows.len() * run.cols.len()];
        Packing::Residues.unpack(run.cols.len(), mine, words, |line| prefetch(next.wrapping_add(line * 64)));
        let words = &*words;
        for (selectors, sums) in block.selectors.iter().zip(sums.iter_mut()) {
            let selectors = &selectors.as_chunks::<K>().0[run.rows.clone()];
            let sums = &mut sums.as_chunks_mut::<K>().0[run.cols.clone()];
            for half in 0..2 {
                let piece = Piece { fold, run: &run, words, selectors, half };
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
    fold: Fold,
    run: &'a Run,
    words: &'a [Line],
    selectors: &'a [[Line; K]],
    half: usize,
}

impl<const K: usize> Piece<'_, K> {
    /// Adds the products of `C` columns, and returns `C`.
    #[target_feature(enable = "avx2,fma")]
    fn add<const C: usize>(&self, col: usize, sums: &mut [[Slots; K]]) -> usize {
        let (half, width) = (self.half, self.run.cols.len());
        let sums = &mut sums[col..col + C];
        let large = _mm256_set1_pd(LARGE);
        let mut acc = [[Sums { multiples: _mm256_setzero_si256(), rests: _mm256_setzero_pd() }; K]; C];
        for (lines, selectors) in self.words.chunks_exact(width).zip(self.selectors) {
            let lines = &lines[col..col + C];
            let mut words = [_mm256_setzero_pd(); C];
            for (word, line) in words.iter_mut().zip(lines) {
                *word = from_integers(load(&line.0.as_chunks::<4>().0[half]));
            }
            for (k, selector) in selectors.iter().enumerate() {
                let selector = from_integers(load(&selector.0.as_chunks::<4>().0[half]));
                for (acc, word) in acc.iter_mut().zip(words) {
                    acc[k].add(word, selector, large);
                }
            }
        }
        for (acc, sums) in acc.into_iter().zip(sums) {
            for (acc, sums) in acc.into_iter().zip(sums) {
                let sums = &mut sums.as_chunks_mut::<4>().0[half];
                let total = self.fold.total(acc, self.selectors.len(), from_integers(load(sums)));
                store(sums, total);
            }
        }
        C
    }
}

/// What brings both parts of a sum together.
#[derive(Clone, Copy)]
struct Fold {
    c: Constants,
    /// 2^49, and 2^75.
    factors: [Factors; 2],
}

impl Fold {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new(residue: &Residue) -> Self {
        let (q, c) = (&residue.modulus, Constants::of(&residue.modulus));
        let [low, high] = residue.folds;
        let factor = |w: u64| c.factors(_mm256_set1_pd(q.centred(w) as f64));
        Fold { c, factors: [factor(low), factor(high)] }
    }

    /// The sums of so many products and a reduced number, reduced.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn total(self, sums: Sums, products: usize, before: __m256d) -> __m256i {
        const LOW_BITS: i32 = 26;
        // Each double brought the bits of 2^101 along. What is left is below 2^56: two numbers of which products are exact.
        let along = LARGE.to_bits().wrapping_mul(products as u64);
        let multiples = _mm256_sub_epi64(sums.multiples, _mm256_set1_epi64x(along as i64));
        let low = _mm256_and_si256(multiples, _mm256_set1_epi64x((1 << LOW_BITS) - 1));
        let high = _mm256_srli_epi64::<LOW_BITS>(multiples);
        let c = self.c;
        let [low, high] =
            [c.times(from_integers(low), self.factors[0]), c.times(from_integers(high), self.factors[1])];
        // Half a q each, and a q: so that nothing is above 2 q before it is reduced once more.
        let total = _mm256_add_pd(_mm256_add_pd(low, high), _mm256_add_pd(c.reduced(sums.rests), before));
        to_integers(c, c.reduced(total))
    }
}

/// Sums of products of four slots, in two parts.
#[derive(Clone, Copy)]
struct Sums {
    multiples: __m256i,
    rests: __m256d,
}

impl Sums {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn add(&mut self, a: __m256d, b: __m256d, large: __m256d) {
        let upper = _mm256_fmadd_pd(a, b, large);
        self.multiples = _mm256_add_epi64(self.multiples, _mm256_castpd_si256(upper));
        let rest = _mm256_fmadd_pd(a, b, _mm256_sub_pd(large, upper));
        self.rests = _mm256_add_pd(self.rests, rest);
    }
}
