//! Tiles of residues below 2^50, in floating point, four slots per register.
//!
//! A product below 2^100 is added to 2^101, where the last bit of a double counts 2^49: the result
//! is a multiple of that, exactly, and a second fused multiply-add gives the rest, at most 2^48 in
//! absolute value (the same idea as in the transform: van der Hoeven, Lecerf and Quintin, "Modular
//! SIMD arithmetic in Mathemagix", section 3.3). Multiples are summed as integers, in the bits of
//! the doubles; 32 rests are a double again, at most 2^53. Nothing is reduced before the end of a
//! run.

use super::super::doubles::{Constants, Doubles, Factors, FusedMultiplyAdd};
use super::super::prefetch;
use super::Slots;
use crate::simd::args::tiles::packing::WordPacking;
use crate::simd::args::tiles::{Block, CacheLine, OneResidue, TileLayout, TileRun};

/// log2 of the value of the last bit of a double from 2^101 on.
const UNIT: u32 = 49;

/// 2^101.
const LARGE: f64 = (1u128 << (UNIT + 52)) as f64;

#[inline(always)]
pub(super) fn runs<R: FusedMultiplyAdd, const K: usize>(
    r: R,
    residue: &OneResidue,
    block: Block<'_>,
    sums: &mut [&mut [Slots]],
) {
    const { assert!(TileLayout::TILE_ROWS <= 32, "rests of a run are at most 2^53") }
    let fold = Fold::new(r, residue);
    let mut lines = block.lines;
    let mut buffer = [CacheLine([0; 8]); TileLayout::RUN];
    for run in block.layout.runs() {
        let (mine, rest) = lines.split_at(run.lines());
        lines = rest;
        // One run is unpacked for all queries, and the next one prefetched meanwhile.
        let next = rest.as_ptr().cast::<u8>();
        let words = &mut buffer[..run.rows.len() * run.cols.len()];
        WordPacking::Residues
            .unpack(run.cols.len(), mine, words, |line| prefetch(next.wrapping_add(line * 64)));
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
struct Piece<'a, R: FusedMultiplyAdd, const K: usize> {
    fold: Fold<R>,
    run: &'a TileRun,
    words: &'a [CacheLine],
    selectors: &'a [[CacheLine; K]],
    half: usize,
}

impl<R: FusedMultiplyAdd, const K: usize> Piece<'_, R, K> {
    /// Adds the products of `C` columns, and returns `C`.
    #[inline(always)]
    fn add<const C: usize>(&self, col: usize, sums: &mut [[Slots; K]]) -> usize {
        let (half, width) = (self.half, self.run.cols.len());
        let sums = &mut sums[col..col + C];
        let (c, r) = (self.fold.c, self.fold.c.r);
        let large = r.every(LARGE);
        let mut acc = [[Sums { multiples: r.zero(), rests: r.every(0.0) }; K]; C];
        for (lines, selectors) in self.words.chunks_exact(width).zip(self.selectors) {
            let lines = &lines[col..col + C];
            let mut words = [large; C];
            for (word, line) in words.iter_mut().zip(lines) {
                *word = c.take(&line.0.as_chunks::<4>().0[half]);
            }
            for (k, selector) in selectors.iter().enumerate() {
                let selector = c.take(&selector.0.as_chunks::<4>().0[half]);
                for (acc, word) in acc.iter_mut().zip(words) {
                    acc[k].add(r, word, selector, large);
                }
            }
        }
        for (acc, sums) in acc.into_iter().zip(sums) {
            for (acc, sums) in acc.into_iter().zip(sums) {
                let sums = &mut sums.as_chunks_mut::<4>().0[half];
                let total = self.fold.total(acc, self.selectors.len(), c.take(sums));
                r.store(sums, total);
            }
        }
        C
    }
}

/// Constants that combine both parts of a sum.
#[derive(Clone, Copy)]
struct Fold<R: FusedMultiplyAdd> {
    c: Constants<R>,
    /// 2^49, and 2^75.
    factors: [Factors<R>; 2],
}

impl<R: FusedMultiplyAdd> Fold<R> {
    #[inline(always)]
    fn new(r: R, residue: &OneResidue) -> Self {
        let (q, c) = (&residue.modulus, Constants::of(r, &residue.modulus));
        let [low, high] = residue.folds;
        let factor = |w: u64| c.factors_of(q.centered(w) as f64);
        Fold { c, factors: [factor(low), factor(high)] }
    }

    /// Reduces the sums of `products` products plus a reduced number.
    #[inline(always)]
    fn total(self, sums: Sums<R>, products: usize, before: R::Doubles) -> R::Value {
        const LOW_BITS: i32 = 26;
        let (c, r) = (self.c, self.c.r);
        // Each double added the bits of 2^101. The rest is below 2^56: two numbers of which
        // products are exact.
        let along = LARGE.to_bits().wrapping_mul(products as u64);
        let multiples = r.add_64(sums.multiples, r.splat_64(along.wrapping_neg()));
        let low = r.and(multiples, r.splat_64((1 << LOW_BITS) - 1));
        let high = r.down::<LOW_BITS>(multiples);
        let [low, high] =
            [c.times(r.of_integers(low), self.factors[0]), c.times(r.of_integers(high), self.factors[1])];
        // Half a q each, and a q: so nothing is above 2 q before it is reduced once more.
        let total = r.plus(r.plus(low, high), r.plus(c.reduced(sums.rests), before));
        r.to_integers(c.reduced(total), c.q)
    }
}

/// Sums of products of four slots, in two parts.
#[derive(Clone, Copy)]
struct Sums<R: Doubles> {
    multiples: R::Value,
    rests: R::Doubles,
}

impl<R: FusedMultiplyAdd> Sums<R> {
    #[inline(always)]
    fn add(&mut self, r: R, a: R::Doubles, b: R::Doubles, large: R::Doubles) {
        let upper = r.plus_product(large, a, b);
        self.multiples = r.add_64(self.multiples, r.bits(upper));
        let rest = r.plus_product(r.minus(large, upper), a, b);
        self.rests = r.plus(self.rests, rest);
    }
}
