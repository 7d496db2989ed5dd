//! The paper's order: for each row the raw product `u[a] v[b]`, of three parts, times the row (Algorithm 3, with
//! delayed unfolding).
//! It takes seven products of polynomials where the distributed order takes two, and exists for
//! comparison: messages, image and levels are the same. As there, products are summed before they
//! are reduced, and no step allocates; rows are read once, one polynomial at a time.

use super::image::{Coefficients, PlaintextTable, stored};
use rayon::prelude::*;
use sotto_lattice::bgv::{Ciphertext, CoefficientFormat, RnsRing, SlotRing};
use sotto_math::ntt::NttPlan;
use std::ops::Range;

/// Rows of a column that are multiplied together: their lines share pages, and their products with
/// the selectors are reduced once.
const TOGETHER: usize = 8;

/// `r = sum over a, b of (u[a] v[b]) X[a, b]` for each layer, of three parts. Threads of the current pool take columns.
pub(super) fn products<R: SlotRing>(
    table: &PlaintextTable,
    rns: &RnsRing<R>,
    u: &[Ciphertext],
    v: &[Ciphertext],
) -> Vec<Ciphertext> {
    let literal = &table.params().literal;
    let level = rns.level(literal.scan_primes.into()).unwrap_or(rns.top());
    let layers = literal.layers as usize;
    let sources: Vec<Source> =
        (0..literal.scan_primes.into()).map(|prime| Source::of(table, prime)).collect();
    let zero = || ThreadScratch::new(vec![Ciphertext::zero(rns, level, 3); layers], rns.ring().words());
    let some = |mut scratch: ThreadScratch, (a, u): (usize, &Ciphertext)| {
        for ((limb, plan), source) in rns.plans(level).enumerate().zip(&sources) {
            for (i, v) in v.chunks(TOGETHER).enumerate() {
                scratch.multiply(plan, limb, u, v);
                let rows = i * TOGETHER..i * TOGETHER + v.len();
                (0..layers).for_each(|layer| {
                    let col = layer * table.params().columns() + a;
                    match source {
                        Source::Values(bytes) => gather(table, bytes, rows.clone(), col, &mut scratch.rows),
                        Source::Coefficients(all, stored) => {
                            for (row, out) in rows.clone().zip(&mut scratch.rows) {
                                stored.residues(all.row(row, col), plan.modulus().value(), out);
                                rns.ring().forward(limb, out);
                            }
                        }
                    }
                    scratch.add(plan, limb, layer, v.len());
                });
            }
        }
        scratch
    };
    let add = |mut a: ThreadScratch, b: ThreadScratch| {
        a.sums.iter_mut().zip(&b.sums).for_each(|(a, b)| a.add(rns, b));
        a
    };
    // One part for each thread, with sums of its own.
    let each = u.len().div_ceil(rayon::current_num_threads()).max(1);
    let mut sums = u.par_iter().enumerate().with_min_len(each).fold(zero, some).reduce(zero, add).sums;
    // The factor t of BGV's product, once for the whole sum.
    for sum in &mut sums {
        (0..sum.parts()).for_each(|part| rns.mul_plain_modulus(level, sum.part_mut(part)));
    }
    sums
}

/// The table of the image, modulo one prime.
enum Source<'a> {
    Values(&'a [u8]),
    Coefficients(Coefficients<'a>, CoefficientFormat),
}

impl<'a> Source<'a> {
    fn of(table: &'a PlaintextTable, prime: usize) -> Self {
        match table.coefficients() {
            Some(coefficients) => Source::Coefficients(coefficients, stored(table.params())),
            None => Source::Values(table.limb(prime)),
        }
    }
}

/// A few rows of one column, as values modulo one prime.
fn gather(table: &PlaintextTable, bytes: &[u8], rows: Range<usize>, col: usize, out: &mut [Vec<u64>]) {
    let layout = table.shape.layout();
    for block in 0..layout.blocks() {
        for (row, out) in rows.clone().zip(&mut *out) {
            let at = |offset: u64, line: &mut [u8]| {
                let bytes = bytes.get(offset as usize..).and_then(|bytes| bytes.get(..line.len()));
                bytes.map(|bytes| line.copy_from_slice(bytes)).ok_or(())
            };
            let words = layout.read(block, (row, col), at);
            if let (Ok(words), Some(to)) = (words, out.as_chunks_mut::<8>().0.get_mut(block)) {
                *to = words;
            }
        }
    }
}

/// The working memory of a thread.
struct ThreadScratch {
    /// Sums, one for each layer.
    sums: Vec<Ciphertext>,
    /// The three parts of a few products modulo one prime, part after part.
    products: [Vec<Vec<u64>>; 3],
    /// Rows modulo the same prime.
    rows: Vec<Vec<u64>>,
}

impl ThreadScratch {
    fn new(sums: Vec<Ciphertext>, words: usize) -> Self {
        let some = || vec![vec![0; words]; TOGETHER];
        ThreadScratch { sums, products: [some(), some(), some()], rows: some() }
    }

    /// The raw products of an entry of u and a few of v.
    fn multiply(&mut self, plan: &NttPlan, limb: usize, u: &Ciphertext, v: &[Ciphertext]) {
        let [u0, u1] = [0, 1].map(|part| u.limb(part, limb));
        let [first, second, third] = &mut self.products;
        for (((v, first), second), third) in v.iter().zip(first).zip(second).zip(third) {
            let [v0, v1] = [0, 1].map(|part| v.limb(part, limb));
            plan.sum_of_products(&[u0], &[v0], first);
            plan.sum_of_products(&[u0, u1], &[v1, v0], second);
            plan.sum_of_products(&[u1], &[v1], third);
        }
    }

    /// Adds the products, each times its row, to the sum of a layer.
    fn add(&mut self, plan: &NttPlan, limb: usize, layer: usize, count: usize) {
        let Some(sum) = self.sums.get_mut(layer) else { return };
        let mut rows = [&[][..]; TOGETHER];
        rows.iter_mut().zip(&self.rows).for_each(|(to, row)| *to = row);
        for (part, products) in self.products.iter().enumerate() {
            let mut factors = [&[][..]; TOGETHER];
            factors.iter_mut().zip(products).for_each(|(to, product)| *to = product);
            plan.add_sum_of_products(&factors[..count], &rows[..count], sum.limb_mut(part, limb));
        }
    }
}
