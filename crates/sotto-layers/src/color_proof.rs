//! Merkle proofs by color (TreePIR, Dau and others): the log's hashes are in one table for each
//! color, and a proof takes one lookup in every one of them.
//!
//! A log of `n` leaves is in a tree of `2^H`, whose coloring is fixed. Every color's rows are
//! written in the order in which their hashes become known, so a longer log only appends. The *top*
//! layers may be public, since they are few hashes: then each subtree under them is colored alike,
//! one subtree's rows after the other's, and there are fewer lookups.
//!
//! A color without rows has one row of zeros, since no table is empty.
//!
//! In a log whose length is no power of two, the number of a leaf's siblings depends on the leaf.
//! Every color gets a lookup all the same, of a row drawn at random if need be.

use crate::dummy_rows;
use sotto_core::{ExpectOrDefault, Misuse, PeerMisbehaved, Result, Row};
use sotto_tree::log::hash::pick;
use sotto_tree::log::{Hash, Peaks, proof};
use sotto_tree::{Coloring, PerfectTree};
use subtle::{ConditionallySelectable, ConstantTimeEq, ConstantTimeGreater};

/// Bytes of a row.
pub const ROW_BYTES: usize = size_of::<Hash>();

/// The color proof layer of a log with some length.
///
/// ```
/// use sotto_core::Layer as _;
/// use sotto_layers::ColorProof;
/// use sotto_tree::log::{Peaks, hash};
/// use sotto_tree::{Coloring, PerfectTree};
///
/// // A log of eight entries, whose hashes are in three tables by color.
/// let leaves: Vec<_> = (0..8u64).map(|i| hash::leaf(&i.to_be_bytes())).collect();
/// let mut peaks = Peaks::new();
/// peaks.extend(&leaves, |_subtree| {});
/// let layer = ColorProof::new(Coloring::new(PerfectTree::new(2, 3)?), peaks, Vec::new())?;
///
/// // The proof of any entry takes one row of each table.
/// let (rows, _plan) = layer.plan(&5, &mut sotto_prg::system_rng()?)?;
/// assert_eq!((rows.len(), layer.shards().len()), (3, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ColorProof {
    /// The coloring of each subtree under the public layers.
    coloring: Coloring,
    peaks: Peaks,
    /// Complete nodes of the public layers, the topmost layer (that of the root's children) first, from left to right.
    public: Vec<Vec<Hash>>,
}

/// The secret plan of one leaf.
#[derive(Debug)]
pub struct Plan {
    leaf: u64,
    /// The number of the lookup of each level's sibling, from the leaf up.
    lookups: Vec<u8>,
}

impl ColorProof {
    /// Proofs in a log with these peaks. `coloring` is that of a subtree; `public` has the complete
    /// nodes of each layer above the subtrees, from the root's children down.
    ///
    /// # Errors
    /// [`Misuse::Rule`] if the log is empty or longer than the tree, or the coloring is not a
    /// binary tree's; [`PeerMisbehaved::Count`] if a public layer has another number of hashes than
    /// the log's length gives.
    pub fn new(coloring: Coloring, peaks: Peaks, public: Vec<Vec<Hash>>) -> Result<Self> {
        let shape = coloring.shape();
        let height = shape.height() + public.len();
        if shape.arity() != 2 || height > 40 || peaks.leaves() == 0 || peaks.leaves() > 1 << height {
            return Err(Misuse::Rule("the log must fit a binary tree of at most 40 layers").into());
        }
        for (level, layer) in (shape.height()..height).rev().zip(&public) {
            let (got, want) = (layer.len() as u64, peaks.leaves() >> level);
            if got != want {
                return Err(PeerMisbehaved::Count { what: "public hashes", got, want }.into());
            }
        }
        Ok(ColorProof { coloring, peaks, public })
    }

    /// The shape of the tree under each node of the lowest public layer.
    pub fn subtree(&self) -> PerfectTree {
        self.coloring.shape()
    }

    /// The sibling's hash at a public level; any hash if no complete node is there.
    fn public_sibling(&self, leaf: u64, level: usize) -> Hash {
        let layer = (self.subtree().height() + self.public.len()).checked_sub(level + 1);
        let layer = layer.and_then(|layer| self.public.get(layer)).map_or(&[][..], Vec::as_slice);
        pick(layer, leaf >> level ^ 1)
    }
}

/// Rows of each color, in a log of `leaves` leaves.
pub(crate) fn shards(coloring: &Coloring, leaves: u64) -> Vec<u64> {
    let layers = coloring.shape().height();
    let (whole, rest) = (leaves >> layers, leaves & ((1 << layers) - 1));
    let last = coloring.copath_rows(rest).expect_or_default("the rest is shorter than a subtree");
    coloring.sizes().iter().zip(last).map(|(size, last)| (size * whole + last).max(1)).collect()
}

impl sotto_core::Layer for ColorProof {
    /// The number of a leaf.
    type Request = u64;
    /// The inclusion proof, from the leaf up: RFC 6962, 2.1.1.
    type Reply = Vec<Hash>;
    type Plan = Plan;

    fn shards(&self) -> Vec<u64> {
        shards(&self.coloring, self.peaks.leaves())
    }

    fn visits(&self) -> Vec<usize> {
        (0..self.subtree().height()).collect()
    }

    fn plan(&self, leaf: &u64, rng: &mut dyn rand_core::CryptoRng) -> Result<(Vec<u64>, Plan)> {
        let (leaf, leaves) = (*leaf, self.peaks.leaves());
        proof::check(leaf, leaves)?;
        let layers = self.subtree().height();
        let (subtree, within) = (leaf >> layers, leaf & ((1 << layers) - 1));
        let places = self.coloring.secret_copath(within)?;
        let mut rows: Vec<u64> = self.shards().into_iter().map(|rows| dummy_rows::row(rows, rng)).collect();
        // From the leaf up. The color of each slot is secret, so every entry is written, most of
        // them with their old value.
        for (level, place) in places.iter().rev().enumerate() {
            let incomplete = (((leaf >> level ^ 1) + 1) << level).ct_gt(&leaves);
            for ((color, row), size) in (0u8..).zip(&mut rows).zip(self.coloring.sizes()) {
                let requested = (subtree * size).wrapping_add(place.row);
                row.conditional_assign(&requested, !incomplete & color.ct_eq(&place.color));
            }
        }
        let lookups = places.iter().rev().map(|place| place.color).collect();
        Ok((rows, Plan { leaf, lookups }))
    }

    fn assemble(&self, plan: Plan, rows: Vec<Row>) -> Result<Vec<Hash>> {
        let fetched: Vec<Hash> = rows
            .iter()
            .map(|row| row.as_slice().try_into().map_err(|_| Misuse::Rule("every row must be a hash")))
            .collect::<Result<_, _>>()?;
        if fetched.len() != plan.lookups.len() {
            return Err(Misuse::Rule("there must be a row for each lookup").into());
        }
        let own = plan.lookups.iter().map(|lookup| pick(&fetched, (*lookup).into()));
        let mut complete: Vec<Hash> = own.collect();
        let layers = self.subtree().height();
        complete
            .extend((layers..layers + self.public.len()).map(|level| self.public_sibling(plan.leaf, level)));
        proof::assemble(plan.leaf, &self.peaks, &complete)
    }
}
