//! The pass over the table, the last products, and the messages that result.

use super::image::{Coefficients, PlaintextTable};
use super::prepare::ExpandedQuery;
use super::{AnswerBuffers, SwitchKeys};
use crate::message::Answer;
use crate::params::Inner;
use crate::rings::on_ring;
use rayon::prelude::*;
use sotto_lattice::bgv::keyswitch::lower;
use sotto_lattice::bgv::pass::pass_in;
use sotto_lattice::bgv::table_product::{RowBuffers, STREAMED_COLS};
use sotto_lattice::bgv::tensor::tensor;
use sotto_lattice::bgv::{Answer as Sent, Ciphertext, RnsRing, Scratch, SlotRing};
use sotto_math::tiles::Selectors;
use std::ops::Range;
use std::sync::Arc;

/// Sums of one query over the table: a ciphertext for each column.
#[derive(Default)]
pub struct ColumnSums {
    parts: Vec<ColumnPart>,
    /// The pool that their memory came from.
    buffers: Option<Arc<AnswerBuffers>>,
}

impl Drop for ColumnSums {
    fn drop(&mut self) {
        if let Some(buffers) = &self.buffers {
            self.parts.drain(..).flat_map(|part| part.limbs).for_each(|limb| buffers.sums.keep(limb));
        }
    }
}

/// Sums over some consecutive columns, modulo each prime, block by block.
struct ColumnPart {
    cols: Range<usize>,
    limbs: Vec<Vec<u64>>,
}

/// `w_a = sum over b of v[b] X[a, b]` for all a of all layers, for several queries in one pass.
pub(super) fn first_dimension(table: &PlaintextTable, queries: &[&ExpandedQuery]) -> Vec<ColumnSums> {
    match table.coefficients() {
        None => resident(table, queries),
        Some(rows) => on_ring!(&*table.params().ring, rns => streamed(table, rns, rows, queries)),
    }
}

/// Sums of rows that the image has as values.
fn resident(table: &PlaintextTable, queries: &[&ExpandedQuery]) -> Vec<ColumnSums> {
    let cols = 0..table.shape.layout().cols();
    let selectors: Vec<&[Selectors]> = queries.iter().map(|query| query.v.as_slice()).collect();
    let buffers = &table.buffers;
    let mut buffer = || buffers.sums.take().unwrap_or_default();
    let pass_sums = pass_in(&table.shape, table.values(), &selectors, &mut buffer);
    let sums = |limbs| ColumnSums {
        parts: vec![ColumnPart { cols: cols.clone(), limbs }],
        buffers: Some(buffers.clone()),
    };
    pass_sums.into_iter().map(sums).collect()
}

/// Sums of rows that the image has as coefficients: each is converted once, for all queries.
/// Threads of the current pool take columns.
fn streamed<R: SlotRing>(
    table: &PlaintextTable,
    rns: &RnsRing<R>,
    rows: Coefficients<'_>,
    queries: &[&ExpandedQuery],
) -> Vec<ColumnSums> {
    let selectors: Vec<&[Selectors]> = queries.iter().map(|query| query.v.as_slice()).collect();
    let all = table.shape.layout().cols();
    let starts: Vec<usize> = (0..all).step_by(STREAMED_COLS).collect();
    let some: Vec<(Range<usize>, Vec<Vec<Vec<u64>>>)> = starts
        .into_par_iter()
        .map_init(RowBuffers::default, |scratch, start| {
            let cols = start..(start + STREAMED_COLS).min(all);
            let sums =
                table.shape.stream(rns, cols.clone(), &|row, col| rows.row(row, col), &selectors, scratch);
            (cols, sums)
        })
        .collect();
    let mut out: Vec<ColumnSums> = queries.iter().map(|_| ColumnSums::default()).collect();
    for (cols, limbs) in some {
        let mut limbs: Vec<_> = limbs.into_iter().map(Vec::into_iter).collect();
        for out in &mut out {
            let limbs = limbs.iter_mut().filter_map(Iterator::next).collect();
            out.parts.push(ColumnPart { cols: cols.clone(), limbs });
        }
    }
    out
}

impl ColumnSums {
    /// Replaces ciphertexts by the columns from `first` on.
    fn columns(&self, table: &PlaintextTable, first: usize, mut out: &mut [Ciphertext]) {
        let mut next = first;
        for some in &self.parts {
            let mine = some.cols.end.saturating_sub(next).min(out.len());
            if mine == 0 || next < some.cols.start {
                continue;
            }
            let limbs: Vec<&[u64]> = some.limbs.iter().map(Vec::as_slice).collect();
            let (now, rest) = std::mem::take(&mut out).split_at_mut(mine);
            table.shape.columns_into(&limbs, some.cols.len(), next - some.cols.start, now);
            (out, next) = (rest, next + mine);
        }
    }
}

/// `r = sum over a of u[a] w_a` for each layer of which the table has columns, and over these
/// columns; r has three parts.
pub(super) fn products<R: SlotRing>(
    table: &PlaintextTable,
    rns: &RnsRing<R>,
    query: &ExpandedQuery,
    sums: &ColumnSums,
) -> Vec<Ciphertext> {
    let layers = layers_of(table.params(), &table.cols).into_par_iter();
    layers.map(|layer| dot(table, rns, query, sums, layer)).collect()
}

/// The layers of some columns.
pub(super) fn layers_of(params: &Inner, cols: &Range<usize>) -> Range<usize> {
    cols.start / params.columns()..cols.end.div_ceil(params.columns())
}

/// Relinearizes each layer's sum, leaves one prime, and rounds, for the wire.
pub(super) fn finish<R: SlotRing>(
    params: &Inner,
    rns: &RnsRing<R>,
    keys: &SwitchKeys<R>,
    products: Vec<Ciphertext>,
) -> Answer {
    let one = |scratch: &mut Scratch, mut product: Ciphertext| {
        let mut c = Ciphertext::zero(rns, product.level(), 2);
        keys.square.relinearize(rns, &product, &mut c, scratch);
        while let Some(below) = c.level().below() {
            product = Ciphertext::zero(rns, below, 2);
            lower(rns, &c, &mut product, scratch);
            c = product;
        }
        Sent::new(rns, params.bits, &c)
    };
    Answer(products.into_par_iter().map_init(|| Scratch::new(rns), one).collect())
}

/// Columns that are multiplied together: taken out of the sums together they share pages, and their
/// products are reduced once.
const TOGETHER: usize = 16;

/// The three parts of `sum over a of u[a] w_a` in one layer, over the present columns.
fn dot<R: SlotRing>(
    table: &PlaintextTable,
    rns: &RnsRing<R>,
    query: &ExpandedQuery,
    sums: &ColumnSums,
    layer: usize,
) -> Ciphertext {
    let level = rns.level(table.params().literal.scan_primes.into()).unwrap_or(rns.top());
    // Entry a of u belongs to column a of the layer.
    let columns = table.params().columns();
    let cols = table.cols.start.max(layer * columns)..table.cols.end.min((layer + 1) * columns);
    let first = cols.start - table.cols.start;
    let mine = cols.start - layer * columns..cols.end - layer * columns;
    let scratch = || vec![table.shape.column(rns); TOGETHER];
    let some = |scratch: &mut Vec<Ciphertext>, (i, u): (usize, &[Ciphertext])| {
        sums.columns(table, first + i * TOGETHER, &mut scratch[..u.len()]);
        let pairs: Vec<[&Ciphertext; 2]> = u.iter().zip(&*scratch).map(|(u, w)| [u, w]).collect();
        let mut out = Ciphertext::zero(rns, level, 3);
        tensor(rns, &pairs, &mut out);
        out
    };
    let add = |mut a: Ciphertext, b: Ciphertext| {
        a.add(rns, &b);
        a
    };
    query.u[mine]
        .par_chunks(TOGETHER)
        .enumerate()
        .map_init(scratch, some)
        .reduce(|| Ciphertext::zero(rns, level, 3), add)
}
