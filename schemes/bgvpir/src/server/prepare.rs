//! From a query to u and v.

use super::image::PlaintextTable;
use super::{AnswerBuffers, SwitchKeys};
use crate::client::QUERY_MASKS;
use crate::folding_tree::{Side, depth};
use crate::literal::ParamsLiteral;
use crate::message::Query;
use crate::params::Inner;
use rayon::prelude::*;
use sotto_core::{ExpectOrDefault, PeerMisbehaved, Result};
use sotto_lattice::bgv::keyswitch::lower;
use sotto_lattice::bgv::rotation_grid::RotationGrid;
use sotto_lattice::bgv::tensor::tensor;
use sotto_lattice::bgv::{Ciphertext, Level, RnsRing, Scratch, SlotRing};
use sotto_math::tiles::Selectors;
use std::sync::Arc;

/// A query in the form that the pass uses.
pub struct ExpandedQuery {
    /// Entries of u, as many as the table needs for its rows.
    pub(super) u: Vec<Ciphertext>,
    /// Entries of v, modulo each prime of the table, in the order in which the pass reads them: all, or some at a
    /// time for rows as coefficients.
    pub(super) v: Vec<Selectors>,
    buffers: Arc<AnswerBuffers>,
}

impl ExpandedQuery {
    /// Arranges v in the order in which the pass reads it.
    pub(super) fn new(table: &PlaintextTable, [u, v]: [Vec<Ciphertext>; 2]) -> Self {
        let buffers = table.buffers.clone();
        let buffer = || buffers.selectors();
        let laid = match table.coefficients() {
            None => table.shape.selectors_in(&v, &buffer),
            Some(_) => table.shape.streamed_selectors(&v, &buffer),
        };
        buffers.keep(v);
        ExpandedQuery { u, v: laid, buffers }
    }
}

impl Drop for ExpandedQuery {
    fn drop(&mut self) {
        self.buffers.keep(std::mem::take(&mut self.u));
        self.buffers.keep_selectors(&mut self.v);
    }
}

/// Rotates and unfolds, and arranges v in the order in which the pass reads it.
///
/// # Errors
/// [`sotto_core::Error::Peer`] for a query that was not decoded under these parameters.
pub(super) fn prepare<R: SlotRing>(
    table: &PlaintextTable,
    rns: &RnsRing<R>,
    keys: &SwitchKeys<R>,
    query: &Query,
) -> Result<ExpandedQuery> {
    let leaves = leaves(table, rns, keys, query)?;
    Ok(ExpandedQuery::new(table, sides(table.params(), rns, keys, leaves)))
}

/// The query rotated to every place of the folded vector: all leaves, one after the other.
///
/// # Errors
/// [`sotto_core::Error::Peer`] for a query that was not decoded under these parameters.
pub(super) fn leaves<R: SlotRing>(
    table: &PlaintextTable,
    rns: &RnsRing<R>,
    keys: &SwitchKeys<R>,
    query: &Query,
) -> Result<Vec<Ciphertext>> {
    let mask = rns.mask(rns.top(), &query.seed, QUERY_MASKS, 0);
    if query.body.len() != mask.len() {
        return Err(PeerMisbehaved::NotCanonical("query").into());
    }
    let query = Ciphertext::new(rns, rns.top(), &[&query.body, &mask]);
    let (params, buffers) = (table.params(), &*table.buffers);
    let rotations = params.literal.rotations(&params.tree);
    let grid = RotationGrid { rns, rotations, rotation: &keys.rotation, stride: keys.stride.as_ref() };
    Ok(grid.all(query, &|| buffers.cipher(rns)))
}

/// u, with the entries that the table needs, and v, from their leaves, modulo the primes of the
/// table.
pub(super) fn sides<R: SlotRing>(
    params: &Inner,
    rns: &RnsRing<R>,
    keys: &SwitchKeys<R>,
    leaves: Vec<Ciphertext>,
) -> [Vec<Ciphertext>; 2] {
    let mut entries = leaves.into_iter();
    let work = ProductContext { rns, keys, literal: &params.literal };
    let mut side = |side: Side| {
        let leaves = params.tree.leaves(side).iter();
        let leaves = leaves.map(|length| entries.by_ref().take(*length as usize).collect()).collect();
        work.unfold(leaves)
    };
    // The leaves of u come first in the folded vector.
    let (mut u, v) = (side(Side::Left), side(Side::Right));
    u.truncate(params.columns());
    [u, v].map(|side| work.lower_all(side, params.literal.scan_primes.into()))
}

/// Products of ciphertexts, and the primes that they drop.
struct ProductContext<'a, R: SlotRing> {
    rns: &'a RnsRing<R>,
    keys: &'a SwitchKeys<R>,
    /// The literal, which states where primes are dropped.
    literal: &'a ParamsLiteral,
}

impl<R: SlotRing> ProductContext<'_, R> {
    /// Unfold (Algorithm 3): one side's vector from its leaves, by full products: relinearized, and
    /// a prime lower where the literal says so.
    fn unfold(&self, mut leaves: Vec<Vec<Ciphertext>>) -> Vec<Ciphertext> {
        let depth = depth(leaves.len());
        let right = leaves.split_off(leaves.len().div_ceil(2));
        if right.is_empty() {
            return leaves.pop().expect_or_default("a side has a leaf");
        }
        let (left, right) = (self.unfold(leaves), self.unfold(right));
        let primes = [&left, &right].map(|side| side.first().map_or(1, |c| c.level().primes()));
        let primes = primes[0].min(primes[1]);
        let [left, right] = [left, right].map(|side| self.lower_all(side, primes));
        let level = self.rns.level(primes).unwrap_or(self.rns.top());
        let kept = self.literal.left_with(primes, depth);
        let pairs: Vec<[&Ciphertext; 2]> =
            left.iter().flat_map(|a| right.iter().map(move |b| [a, b])).collect();
        let products = pairs.par_iter().map_init(
            || ProductScratch::new(self.rns, level),
            |buffer, pair| {
                tensor(self.rns, &[*pair], &mut buffer.product);
                let mut out = Ciphertext::zero(self.rns, level, 2);
                self.keys.square.relinearize(self.rns, &buffer.product, &mut out, &mut buffer.scratch);
                self.lower(out, kept, &mut buffer.scratch)
            },
        );
        products.collect()
    }

    fn lower_all(&self, side: Vec<Ciphertext>, primes: usize) -> Vec<Ciphertext> {
        if side.iter().all(|c| c.level().primes() <= primes) {
            return side;
        }
        side.into_par_iter()
            .map_init(|| Scratch::new(self.rns), |scratch, c| self.lower(c, primes, scratch))
            .collect()
    }

    fn lower(&self, mut c: Ciphertext, primes: usize, scratch: &mut Scratch) -> Ciphertext {
        while let Some(below) = c.level().below().filter(|below| below.primes() >= primes) {
            let mut out = Ciphertext::zero(self.rns, below, c.parts());
            lower(self.rns, &c, &mut out, scratch);
            c = out;
        }
        c
    }
}

/// Working memory of one product.
struct ProductScratch {
    product: Ciphertext,
    scratch: Scratch,
}

impl ProductScratch {
    fn new<R: SlotRing>(rns: &RnsRing<R>, level: Level) -> Self {
        ProductScratch { product: Ciphertext::zero(rns, level, 3), scratch: Scratch::new(rns) }
    }
}
