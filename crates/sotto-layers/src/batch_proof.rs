//! Merkle proofs from one table of all hashes: a proof's siblings are some of its rows, which a
//! batch code fetches at once.
//!
//! `Compose<BatchProof, BatchCode>` is the alternative that papers compare colorings with: it needs
//! no coloring, and costs more rows at the server and more lookups. Rows are in the order in which
//! hashes become known, so a longer log only appends; but a new number of rows moves all of them in
//! the buckets.

use crate::dummy_rows;
use sotto_core::{CryptoRng, Misuse, Result, Row};
use sotto_tree::log::{Hash, Peaks, proof};
use subtle::{ConditionallySelectable, ConstantTimeGreater};

/// Bytes of a row.
pub const ROW_BYTES: usize = size_of::<Hash>();

/// The batch proof layer of a log with some length.
#[derive(Debug)]
pub struct BatchProof {
    peaks: Peaks,
}

/// The secret plan of one leaf.
#[derive(Debug)]
pub struct Plan {
    leaf: u64,
}

/// Rows of a log: its complete nodes, without the root, which is public. A log of one leaf has one
/// row too.
pub fn rows(leaves: u64) -> u64 {
    let nodes = before(leaves);
    if leaves.is_power_of_two() && nodes > 1 { nodes - 1 } else { nodes }
}

/// Rows of a proof: one for each level, and at least one.
pub fn height(leaves: u64) -> usize {
    proof::height(leaves).max(1)
}

/// Number of nodes that are complete with `leaves` leaves: each leaf completes one, and two
/// subtrees of one size complete another.
fn before(leaves: u64) -> u64 {
    2 * leaves - u64::from(leaves.count_ones())
}

impl BatchProof {
    /// Proofs in a log with these peaks.
    ///
    /// # Errors
    /// [`Misuse::Rule`] if the log is empty or has more than 2^39 leaves, whose nodes are the
    /// maximum number of a batch code's rows.
    pub fn new(peaks: Peaks) -> Result<Self> {
        if !(1..=1 << 39).contains(&peaks.leaves()) {
            return Err(Misuse::Rule("the log must have 1 to 2^39 leaves").into());
        }
        Ok(BatchProof { peaks })
    }
}

impl sotto_core::Layer for BatchProof {
    /// The number of a leaf.
    type Request = u64;
    /// The inclusion proof, from the leaf up: RFC 6962, 2.1.1.
    type Reply = Vec<Hash>;
    type Plan = Plan;

    fn shards(&self) -> Vec<u64> {
        vec![rows(self.peaks.leaves())]
    }

    fn visits(&self) -> Vec<usize> {
        vec![0; height(self.peaks.leaves())]
    }

    fn plan(&self, leaf: &u64, rng: &mut dyn CryptoRng) -> Result<(Vec<u64>, Plan)> {
        let (leaf, leaves) = (*leaf, self.peaks.leaves());
        proof::check(leaf, leaves)?;
        let all = rows(leaves);
        let row = |level: usize| {
            // The sibling is complete with leaf `end - 1`, after the `level` nodes under it that the leaf completes too.
            let end = ((leaf >> level ^ 1) + 1) << level;
            let requested = before(end - 1) + level as u64;
            // An incomplete sibling is in no row.
            u64::conditional_select(&requested, &dummy_rows::row(all, rng), end.ct_gt(&leaves))
        };
        let rows = (0..proof::height(leaves)).map(row).collect::<Vec<_>>();
        // A log of one leaf has an empty proof.
        Ok((if rows.is_empty() { vec![0] } else { rows }, Plan { leaf }))
    }

    fn assemble(&self, plan: Plan, rows: Vec<Row>) -> Result<Vec<Hash>> {
        if rows.len() != height(self.peaks.leaves()) {
            return Err(Misuse::Rule("there must be a row for each lookup").into());
        }
        let hashes = rows.iter().map(|row| row.as_slice().try_into());
        let complete: Vec<Hash> =
            hashes.collect::<Result<_, _>>().map_err(|_| Misuse::Rule("every row must be a hash"))?;
        proof::assemble(plan.leaf, &self.peaks, &complete)
    }
}
