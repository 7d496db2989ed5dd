//! The paper's order: for each row the raw product `u[a] v[b]`, of three parts, times the row (Algorithm 3, with delayed unfolding).
//!
//! It takes seven products of polynomials where the distributed order takes two, and is here to be measured against that: messages,
//! image and levels are the same. Rows are taken out of their tiles a few columns by a few rows at a time, since those lie together.

use super::image::Table;
use rayon::prelude::*;
use sotto_core::Result;
use sotto_lattice::bgv::rows::product_sum;
use sotto_lattice::bgv::tensor::raw;
use sotto_lattice::bgv::{Cipher, Rns, SlotRing};
use sotto_math::tiles::TileLayout;
use std::ops::Range;

/// Rows of the tiles whose products are summed together: their selectors' products fit the second cache.
const TOGETHER: usize = 8;

/// `r = sum over a, b of (u[a] v[b]) X[a, b]` for each layer, of three parts. Threads of the current pool take columns.
///
/// # Errors
/// Only if the image has lost its table.
pub(super) fn products<R: SlotRing>(
    table: &Table,
    rns: &Rns<R>,
    u: &[Cipher],
    v: &[Cipher],
) -> Result<Vec<Cipher>> {
    let literal = &table.params().literal;
    let level = rns.level(literal.scan_primes.into()).unwrap_or(rns.top());
    let zero = || vec![Cipher::zero(rns, level, 3); literal.layers as usize];
    let limbs = (0..literal.scan_primes.into()).map(|prime| table.limb(prime)).collect::<Result<Vec<_>>>()?;
    let work = Work { rns, layout: table.shape.layout(), limbs, columns: u.len() };
    let some = |mut sums: Vec<Cipher>, (i, u): (usize, &[Cipher])| {
        let first = i * TileLayout::GROUP_COLS;
        for (j, v) in v.chunks(TOGETHER).enumerate() {
            work.add(j * TOGETHER, first, u, v, &mut sums);
        }
        sums
    };
    let add = |mut a: Vec<Cipher>, b: Vec<Cipher>| {
        a.iter_mut().zip(&b).for_each(|(a, b)| a.add(rns, b));
        a
    };
    let mut sums = u.par_chunks(TileLayout::GROUP_COLS).enumerate().fold(zero, some).reduce(zero, add);
    // The factor t of BGV's product, once for the whole sum.
    for sum in &mut sums {
        (0..sum.parts()).for_each(|part| rns.mul_plain_modulus(level, sum.part_mut(part)));
    }
    Ok(sums)
}

/// What all columns share.
struct Work<'a, R: SlotRing> {
    rns: &'a Rns<R>,
    layout: &'a TileLayout,
    /// The table modulo each prime.
    limbs: Vec<&'a [u8]>,
    /// Columns of a layer.
    columns: usize,
}

impl<R: SlotRing> Work<'_, R> {
    /// Adds the products of a few entries of u, from column `first` on, and of v, from row `row` on, with all layers of their rows.
    fn add(&self, row: usize, first: usize, u: &[Cipher], v: &[Cipher], sums: &mut [Cipher]) {
        let Some(level) = sums.first().map(Cipher::level) else { return };
        let mut selectors = vec![Cipher::zero(self.rns, level, 3); u.len() * v.len()];
        for (selector, (u, v)) in
            selectors.iter_mut().zip(u.iter().flat_map(|u| v.iter().map(move |v| (u, v))))
        {
            raw(self.rns, &[[u, v]], selector);
        }
        let selectors: Vec<&Cipher> = selectors.iter().collect();
        let mut sum = Cipher::zero(self.rns, level, 3);
        for (layer, out) in sums.iter_mut().enumerate() {
            let first = layer * self.columns + first;
            let rows = self.rows(row..row + v.len(), first..first + u.len());
            product_sum(self.rns, &selectors, &rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut sum);
            out.add(self.rns, &sum);
        }
    }

    /// Polynomials as values, limb by limb: of each column all rows.
    fn rows(&self, rows: Range<usize>, cols: Range<usize>) -> Vec<Vec<u64>> {
        let words = self.layout.n();
        let mut out = vec![vec![0; words * self.limbs.len()]; rows.len() * cols.len()];
        for (limb, bytes) in self.limbs.iter().enumerate() {
            for block in 0..self.layout.blocks() {
                let cells = cols.clone().flat_map(|col| rows.clone().map(move |row| (row, col)));
                for (out, (row, col)) in out.iter_mut().zip(cells) {
                    let at = self.layout.line(block, row, col) as usize;
                    let line = bytes.get(at..).and_then(<[u8]>::first_chunk::<64>);
                    let to = out.get_mut(limb * words + 8 * block..).and_then(<[u64]>::first_chunk_mut::<8>);
                    if let (Some(line), Some(to)) = (line, to) {
                        to.iter_mut().zip(line.as_chunks::<8>().0).for_each(|(to, word)| {
                            *to = u64::from_le_bytes(*word);
                        });
                    }
                }
            }
        }
        out
    }
}
