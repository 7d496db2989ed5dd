//! Inclusion proofs (RFC 6962, 2.1.1; verified as in RFC 9162, 2.1.3.2).
//!
//! On its way up from a leaf a path has a sibling at each level. In a log whose length is no power of two some of these
//! are beyond the log's end, and at most one reaches over it.

use super::hash::{Hash, node};
use super::peaks::Peaks;
use sotto_core::{Misuse, PeerMisbehaved, Result};

/// What a path meets at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sibling {
    /// A complete subtree: its hash is in a row, and stays what it is.
    Complete,
    /// Leaves from here to the log's end: their hash is the peaks' to say.
    Partial {
        /// The first leaf.
        start: u64,
    },
    /// Beyond the log's end: the proof has nothing here.
    Absent,
}

/// The levels of a log's tree.
pub fn height(leaves: u64) -> usize {
    if leaves < 2 { 0 } else { ((leaves - 1).ilog2() + 1) as usize }
}

/// The sibling of a leaf's path at a level, 0 for the leaf's own.
pub fn sibling(leaf: u64, leaves: u64, level: usize) -> Sibling {
    let index = leaf >> level ^ 1;
    let start = index << level;
    if start >= leaves {
        Sibling::Absent
    } else if leaves - start >= 1 << level {
        Sibling::Complete
    } else {
        Sibling::Partial { start }
    }
}

/// Makes a proof, from the leaf up, of the hashes of complete siblings by level and of the log's peaks.
///
/// # Errors
/// [`Misuse::IndexPastEnd`] if there is no such leaf, [`Misuse::Rule`] if `complete` has fewer levels than the log.
pub fn assemble(leaf: u64, peaks: &Peaks, complete: &[Hash]) -> Result<Vec<Hash>> {
    let leaves = peaks.leaves();
    check(leaf, leaves)?;
    let levels = complete.get(..height(leaves)).ok_or(Misuse::Rule("a hash for each level of the log"))?;
    let found = levels.iter().enumerate().map(|(level, row)| match sibling(leaf, leaves, level) {
        Sibling::Complete => Some(*row),
        Sibling::Partial { start } => peaks.root_from(start),
        Sibling::Absent => None,
    });
    Ok(found.flatten().collect())
}

/// Whether a proof leads from a leaf's hash to the root of a log.
///
/// # Errors
/// [`Misuse::IndexPastEnd`] if there is no such leaf, [`PeerMisbehaved::Count`] for a proof of another length,
/// [`PeerMisbehaved::Digest`] if it leads elsewhere.
pub fn verify(leaf_hash: &Hash, leaf: u64, leaves: u64, proof: &[Hash], root: &Hash) -> Result<()> {
    check(leaf, leaves)?;
    let mut hashes = proof.iter();
    let mut at = *leaf_hash;
    let mut want = 0;
    for level in 0..height(leaves) {
        if sibling(leaf, leaves, level) == Sibling::Absent {
            continue;
        }
        want += 1;
        let Some(other) = hashes.next() else { continue };
        at = if leaf >> level & 1 == 1 { node(other, &at) } else { node(&at, other) };
    }
    if proof.len() as u64 != want {
        return Err(PeerMisbehaved::Count { what: "hashes of a proof", got: proof.len() as u64, want }.into());
    }
    if at != *root {
        return Err(PeerMisbehaved::Digest("the inclusion proof").into());
    }
    Ok(())
}

/// Whether a log goes on from an earlier state of itself, by the inclusion proof of that state's last leaf.
///
/// The siblings to the left of the leaf's path are complete subtrees that cover all leaves before it, in both trees the
/// same ones; so they and the leaf give the earlier root (RFC 6962, 2.1), and the whole proof gives the later one.
///
/// # Errors
/// As [`verify`]; [`PeerMisbehaved::Digest`] if the earlier root is another.
pub fn verify_growth(
    leaf_hash: &Hash,
    (before, root_before): (u64, &Hash),
    (leaves, root): (u64, &Hash),
    proof: &[Hash],
) -> Result<()> {
    let last = before.checked_sub(1).ok_or(Misuse::Rule("a log of no leaves goes on as any"))?;
    verify(leaf_hash, last, leaves, proof, root)?;
    let levels = (0..height(leaves)).filter(|level| sibling(last, leaves, *level) != Sibling::Absent);
    let left = levels.zip(proof).filter(|(level, _)| last >> level & 1 == 1);
    let at = left.fold(*leaf_hash, |at, (_, other)| node(other, &at));
    if at == *root_before {
        Ok(())
    } else {
        Err(PeerMisbehaved::Digest("the earlier state of the log").into())
    }
}

fn check(leaf: u64, leaves: u64) -> Result<()> {
    if leaf < leaves {
        return Ok(());
    }
    Err(Misuse::IndexPastEnd { index: leaf, len: leaves }.into())
}
