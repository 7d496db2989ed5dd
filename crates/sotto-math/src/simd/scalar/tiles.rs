//! The pass over tiles, one slot at a time.

use crate::simd::args::tiles::{Block, CacheLine};

use crate::simd::args::tiles::TileLayout;

use crate::simd::args::tiles::{OneResidue, TwoResidues, WordForm, WordFormat};

type Slots = [u64; 8];

pub(in crate::simd) fn tiles(form: &WordFormat, block: Block<'_>, sums: &mut [&mut [Slots]]) {
    match form.form() {
        WordForm::Residue(form) => add_runs(block, sums, |sum, products| residue(form, sum, products)),
        WordForm::Pair(form) => add_runs(block, sums, |sum, products| pair(form, sum, products)),
    }
}

/// For each line of sums and each run, calls `add` with the line and the factors of the run's rows.
fn add_runs(
    block: Block<'_>,
    sums: &mut [&mut [Slots]],
    add: impl Fn(&mut Slots, &mut dyn Iterator<Item = [Slots; 2]>),
) {
    let mut lines = block.lines;
    let mut buffer = [CacheLine([0; 8]); TileLayout::RUN];
    for run in block.layout.runs() {
        let (mine, rest) = lines.split_at(run.lines());
        lines = rest;
        let words = &mut buffer[..run.rows.len() * run.cols.len()];
        block.layout.packing().unpack(run.cols.len(), mine, words, |_| ());
        for (selectors, sums) in block.selectors.iter().zip(sums.iter_mut()) {
            let selectors = &selectors[run.rows.start * block.comps..];
            for (i, col) in run.cols.clone().enumerate() {
                for comp in 0..block.comps {
                    let words = words[i..].iter().step_by(run.cols.len());
                    let selectors = selectors[comp..].iter().step_by(block.comps);
                    let mut factors = words.zip(selectors).map(|(words, selector)| [words.0, selector.0]);
                    add(&mut sums[col * block.comps + comp], &mut factors);
                }
            }
        }
    }
}

/// Adds at most 32 products below 2^100, so that only the end needs a reduction.
fn residue(form: &OneResidue, sum: &mut Slots, factors: &mut dyn Iterator<Item = [Slots; 2]>) {
    let mut wide = sum.map(u128::from);
    for [a, b] in factors {
        for ((wide, a), b) in wide.iter_mut().zip(a).zip(b) {
            *wide += u128::from(a) * u128::from(b);
        }
    }
    *sum = wide.map(|x| form.reduce(x));
}

/// Adds at most 32 products below 2^56, for each half.
fn pair(form: &TwoResidues, sum: &mut Slots, factors: &mut dyn Iterator<Item = [Slots; 2]>) {
    let (mut low, mut high) = ([0; 8], [0; 8]);
    for [a, b] in factors {
        for (((low, high), a), b) in low.iter_mut().zip(&mut high).zip(a).zip(b) {
            *low += lower(a) * lower(b);
            *high += (a >> 32) * (b >> 32);
        }
    }
    for ((sum, low), high) in sum.iter_mut().zip(low).zip(high) {
        *sum = form.add(*sum, [low, high]);
    }
}

fn lower(x: u64) -> u64 {
    x & u64::from(u32::MAX)
}
