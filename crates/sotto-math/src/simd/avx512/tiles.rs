//! The pass over tiles, eight slots per register.
//!
//! **In registers.** A *bundle* is one query or two. Its products with some columns are summed in
//! two registers each: the low and the high 52 bits of products modulo one number, the products
//! modulo one and the other prime for pairs. As many columns are processed together as give at most
//! 16 sums, which is enough to hide the latency of the product; of 24 sums the compiler keeps some
//! in memory.
//!
//! A word that several lines share is gathered by a concatenating shift of each of them, between
//! their products.
//!
//! **In memory.** The bundles take turns on one run of the table, 7 KiB, while another is
//! prefetched, a share by each: so memory is read once however many queries there are, and is busy
//! all the time. Prefetches must be even: bursts of 16 lines gave 22 GB/s on Zen 5, and the same
//! lines, four with each row, 34. On Zen 4 a lone query without prefetches is as fast as the plain
//! read, and bundles of one query, which read a run in order, are faster than bundles of two.

mod sums;

use super::registers::{load, store};
use crate::simd::args::tiles::{Block, CacheLine, TileLayout, TileRun, WordForm, WordFormat};
use crate::simd::generic::{prefetch, prefetch_second};
use crate::simd::scalar;
use crate::simd::shapes::TilesShape;
use core::arch::x86_64::*;
use sums::{Sums, packing};

type Bytes = [u8; 64];
type Slots = [u64; 8];

#[target_feature(enable = "avx512f,avx512ifma,avx512vbmi2")]
pub(super) fn tiles(shape: &TilesShape, form: &WordFormat, block: Block<'_>, sums: &mut [&mut [Slots]]) {
    match (form.form(), block.comps) {
        (WordForm::Residue(form), 1) => runs::<false, 1>(shape, &Sums::residue(form), block, sums),
        (WordForm::Residue(form), 2) => runs::<false, 2>(shape, &Sums::residue(form), block, sums),
        (WordForm::Residue(form), 3) => runs::<false, 3>(shape, &Sums::residue(form), block, sums),
        (WordForm::Pair(form), 1) => runs::<true, 1>(shape, &Sums::pair(form), block, sums),
        (WordForm::Pair(form), 2) => runs::<true, 2>(shape, &Sums::pair(form), block, sums),
        (WordForm::Pair(form), 3) => runs::<true, 3>(shape, &Sums::pair(form), block, sums),
        _ => scalar::tiles(form, block, sums),
    }
}

#[target_feature(enable = "avx512f,avx512ifma,avx512vbmi2")]
fn runs<const PAIR: bool, const K: usize>(
    shape: &TilesShape,
    s: &Sums,
    block: Block<'_>,
    sums: &mut [&mut [Slots]],
) {
    let queries = block.selectors.len();
    let fetches = shape.runs > 0 && (shape.lone || queries > 1);
    // With one component there are registers for all columns of a run whatever the shape.
    let bundle = if shape.pairs || K == 1 { 2 } else { 1 };
    let mut lines = block.lines;
    for run in block.layout.runs() {
        let (mine, rest) = lines.split_at(run.lines());
        lines = rest;
        let width = run.cols.len();
        let pieces = queries / bundle * width.div_ceil(at_once(bundle * K))
            + queries % bundle * width.div_ceil(at_once(K));
        let beyond = shape.runs.saturating_sub(1) * run.lines();
        let mut fetch = Fetch {
            at: rest.as_ptr().wrapping_add(beyond).cast(),
            due: 0,
            lines: if fetches { run.lines() } else { 0 },
            steps: pieces * mine.len() / width,
            second: shape.second,
        };
        if fetches && !shape.second {
            fetch_selectors(&block, &run);
        }
        for (selectors, sums) in block.selectors.chunks(bundle).zip(sums.chunks_mut(bundle)) {
            match (selectors, sums) {
                ([a], [x]) => {
                    let selectors = [rows(a, &run)];
                    Bundle::<PAIR, _, K> { s, width, lines: mine, selectors, sums: [cols(x, &run)] }
                        .run(&mut fetch);
                }
                ([a, b], [x, y]) => {
                    let (selectors, sums) = ([rows(a, &run), rows(b, &run)], [cols(x, &run), cols(y, &run)]);
                    Bundle::<PAIR, _, K> { s, width, lines: mine, selectors, sums }.run(&mut fetch);
                }
                _ => (),
            }
        }
    }
}

/// The selectors of a run's rows.
fn rows<'a, const K: usize>(selectors: &'a [CacheLine], run: &TileRun) -> &'a [[CacheLine; K]] {
    &selectors.as_chunks().0[run.rows.clone()]
}

/// The sums of a run's columns.
fn cols<'a, const K: usize>(sums: &'a mut [Slots], run: &TileRun) -> &'a mut [[Slots; K]] {
    &mut sums.as_chunks_mut().0[run.cols.clone()]
}

/// Number of columns that are processed at once, for a bundle of `polynomials` polynomials.
const fn at_once(polynomials: usize) -> usize {
    match polynomials {
        0..3 => 4,
        3 | 4 => 2,
        _ => 1,
    }
}

/// Prefetches the next tile's selectors, a share with each group of columns.
fn fetch_selectors(block: &Block<'_>, run: &TileRun) {
    let lines = run.rows.len() * block.comps;
    let groups = block.layout.cols().div_ceil(TileLayout::GROUP_COLS);
    let group = run.cols.start / TileLayout::GROUP_COLS;
    for selectors in block.selectors {
        let next = selectors.as_ptr().wrapping_add(run.rows.end * block.comps);
        for line in lines * group / groups..lines * (group + 1) / groups {
            prefetch(next.wrapping_add(line).cast());
        }
    }
}

/// Prefetches while a run is processed: some lines in each step, where steps are the rows of lines
/// of each piece.
struct Fetch {
    at: *const u8,
    due: usize,
    lines: usize,
    steps: usize,
    /// Whether into the second-level cache.
    second: bool,
}

impl Fetch {
    #[inline]
    fn row(&mut self) {
        self.due += self.lines;
        while self.due >= self.steps {
            self.due -= self.steps;
            if self.second {
                prefetch_second(self.at);
            } else {
                prefetch(self.at);
            }
            self.at = self.at.wrapping_add(64);
        }
    }
}

/// One bundle processing one run: `Q` queries of `K` components.
struct Bundle<'a, const PAIR: bool, const Q: usize, const K: usize> {
    s: &'a Sums,
    /// Number of columns of the run, and its lines row by row.
    width: usize,
    lines: &'a [Bytes],
    selectors: [&'a [[CacheLine; K]]; Q],
    sums: [&'a mut [[Slots; K]]; Q],
}

impl<const PAIR: bool, const Q: usize, const K: usize> Bundle<'_, PAIR, Q, K> {
    /// Processes as many columns at once as there are registers for; each number of columns has
    /// code of its own.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma,avx512vbmi2")]
    fn run(&mut self, fetch: &mut Fetch) {
        let max = const { at_once(Q * K) };
        let mut col = 0;
        while col < self.width {
            let left = self.width - col;
            // Written so that pieces that never run are never compiled.
            col += if max >= 4 && left >= 4 {
                self.piece::<4>(col, fetch)
            } else if max >= 2 && left >= 2 {
                self.piece::<2>(col, fetch)
            } else {
                self.piece::<1>(col, fetch)
            };
        }
    }

    /// Adds the products of `C` columns, and returns `C`.
    #[target_feature(enable = "avx512f,avx512ifma,avx512vbmi2")]
    fn piece<const C: usize>(&mut self, col: usize, fetch: &mut Fetch) -> usize {
        let mut acc = [[[[_mm512_setzero_si512(); 2]; K]; C]; Q];
        for (acc, sums) in acc.iter_mut().zip(&self.sums) {
            for (acc, sums) in acc.iter_mut().zip(&sums[col..col + C]) {
                for (acc, sum) in acc.iter_mut().zip(sums) {
                    *acc = self.s.open::<PAIR>(load(sum));
                }
            }
        }
        let (held, bunch) = const { (packing::<PAIR>().lines(), packing::<PAIR>().rows()) };
        let (count, width) = (self.selectors[0].len(), self.width);
        let selectors = self.selectors.each_ref().map(|s| &s[..count]);
        let bunches = count / bunch;
        let (bunched, single) = self.lines.split_at(bunches * held * width);
        for (i, lines) in bunched.chunks_exact(held * width).enumerate() {
            let mut shared = [_mm512_setzero_si512(); C];
            let (first, end) = lines.split_at((held - 1) * width);
            for (j, line) in first.chunks_exact(width).enumerate() {
                fetch.row();
                let mut words = [_mm512_setzero_si512(); C];
                for ((word, shared), line) in words.iter_mut().zip(&mut shared).zip(&line[col..col + C]) {
                    *word = load(line);
                    *shared = Sums::gather::<PAIR, false>(*shared, *word);
                    *word = Sums::own::<PAIR, false>(*word);
                }
                Self::multiply(&mut acc, words, &selectors, i * bunch + j);
            }
            fetch.row();
            let mut words = [_mm512_setzero_si512(); C];
            for ((word, shared), line) in words.iter_mut().zip(&mut shared).zip(&end[col..col + C]) {
                *word = load(line);
                *shared = Sums::gather::<PAIR, true>(*shared, *word);
                *word = Sums::own::<PAIR, true>(*word);
            }
            Self::multiply(&mut acc, words, &selectors, i * bunch + held - 1);
            Self::multiply(&mut acc, shared, &selectors, i * bunch + held);
        }
        for (i, line) in single.chunks_exact(width).enumerate() {
            fetch.row();
            let mut words = [_mm512_setzero_si512(); C];
            words.iter_mut().zip(&line[col..col + C]).for_each(|(word, line)| *word = load(line));
            Self::multiply(&mut acc, words, &selectors, bunches * bunch + i);
        }
        for (acc, sums) in acc.into_iter().zip(&mut self.sums) {
            for (acc, sums) in acc.into_iter().zip(&mut sums[col..col + C]) {
                for (acc, sum) in acc.into_iter().zip(sums) {
                    store(sum, self.s.close::<PAIR>(acc));
                }
            }
        }
        C
    }

    /// Adds the products of words with the selectors of a row.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma,avx512vbmi2")]
    fn multiply<const C: usize>(
        acc: &mut [[[[__m512i; 2]; K]; C]; Q],
        words: [__m512i; C],
        selectors: &[&[[CacheLine; K]]; Q],
        row: usize,
    ) {
        // Written out: the compiler would call a closure for each word.
        let mut halves = [[_mm512_setzero_si512(); 2]; C];
        for (halves, word) in halves.iter_mut().zip(words) {
            *halves = Sums::halves::<PAIR>(word);
        }
        for (acc, selectors) in acc.iter_mut().zip(selectors) {
            for (k, selector) in selectors[row].iter().enumerate() {
                let selector = Sums::halves::<PAIR>(load(&selector.0));
                for (acc, words) in acc.iter_mut().zip(halves) {
                    acc[k] = Sums::add::<PAIR>(acc[k], words, selector);
                }
            }
        }
    }
}
