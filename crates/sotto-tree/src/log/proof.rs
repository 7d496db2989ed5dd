//! Inclusion proofs (RFC 6962, 2.1.1; verified as in RFC 9162, 2.1.3.2).
//!
//! A leaf's path has a sibling at each level. In a log whose length is no power of two some of
//! these are past the log's end, and at most one extends over it.
//!
//! The leaf is the client's secret. [`assemble`] and [`verify`] hash and copy the same for every
//! leaf; the length of the proof depends on the leaf, and its reader learns it.

use super::hash::{Hash, node, pick};
use super::peaks::Peaks;
use sotto_core::{Misuse, PeerMisbehaved, Result};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq, ConstantTimeLess};

/// The sibling of a path at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sibling {
    /// A complete subtree: its hash is in a row, and never changes.
    Complete,
    /// The leaves from `start` to the log's end: the peaks determine their hash.
    Partial {
        /// The first leaf of the sibling.
        start: u64,
    },
    /// A sibling past the log's end: the proof has no hash here.
    Absent,
}

/// Number of levels of a log's tree.
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

/// Assembles a proof, from the leaf up, from the hashes of complete siblings by level and the log's
/// peaks.
///
/// # Errors
/// [`Misuse::IndexPastEnd`] for a leaf past the end, [`Misuse::Rule`] if `complete` has fewer
/// levels than the log.
pub fn assemble(leaf: u64, peaks: &Peaks, complete: &[Hash]) -> Result<Vec<Hash>> {
    let leaves = peaks.leaves();
    check(leaf, leaves)?;
    let levels = complete
        .get(..height(leaves))
        .ok_or(Misuse::Rule("there must be a hash for each level of the log"))?;
    // Each sibling is written to its position among the existing ones, and zeros to the others.
    let (mut proof, mut count) = (vec![Hash::default(); levels.len()], 0u64);
    for (level, row) in levels.iter().enumerate() {
        let is = SecretSibling::at(leaf, leaves, level);
        // The root of the leaves after the complete subtrees of this level, in case the path meets
        // it.
        let rest = peaks.root_from(leaves >> level << level).unwrap_or_default();
        let found = Hash::conditional_select(row, &rest, is.partial);
        for (place, hash) in (0u64..).zip(&mut proof) {
            hash.conditional_assign(&found, is.present() & place.ct_eq(&count));
        }
        count += u64::from(is.present().unwrap_u8());
    }
    proof.truncate(count as usize);
    Ok(proof)
}

/// The [`sibling`] of a secret leaf.
struct SecretSibling {
    complete: Choice,
    partial: Choice,
}

impl SecretSibling {
    fn at(leaf: u64, leaves: u64, level: usize) -> Self {
        // Complete nodes of the level; after them there is one more, if leaves are left over.
        let (index, nodes) = (leaf >> level ^ 1, leaves >> level);
        let rest = leaves & ((1 << level) - 1);
        SecretSibling { complete: index.ct_lt(&nodes), partial: index.ct_eq(&nodes) & !rest.ct_eq(&0) }
    }

    fn present(&self) -> Choice {
        self.complete | self.partial
    }
}

/// Verifies that a proof leads from a leaf's hash to the root of a log.
///
/// # Errors
/// [`Misuse::IndexPastEnd`] for a leaf past the end, [`PeerMisbehaved::Count`] for a proof of
/// another length, [`PeerMisbehaved::Digest`] if it leads to another root.
pub fn verify(leaf_hash: &Hash, leaf: u64, leaves: u64, proof: &[Hash], root: &Hash) -> Result<()> {
    check(leaf, leaves)?;
    let (mut at, mut want) = (*leaf_hash, 0u64);
    for level in 0..height(leaves) {
        let present = SecretSibling::at(leaf, leaves, level).present();
        let (mut left, mut right) = (at, pick(proof, want));
        let is_right = Choice::from((leaf >> level & 1) as u8);
        Hash::conditional_swap(&mut left, &mut right, is_right);
        at.conditional_assign(&node(&left, &right), present);
        want += u64::from(present.unwrap_u8());
    }
    let got = proof.len() as u64;
    if !bool::from(got.ct_eq(&want)) {
        return Err(PeerMisbehaved::Count { what: "hashes of a proof", got, want }.into());
    }
    if !bool::from(at.ct_eq(root)) {
        return Err(PeerMisbehaved::Digest("the inclusion proof").into());
    }
    Ok(())
}

/// Number of leaves of a log, and its root.
#[derive(Debug, Clone, Copy)]
pub struct TreeHead<'a> {
    /// Number of leaves.
    pub leaves: u64,
    /// Root of the tree.
    pub root: &'a Hash,
}

/// Verifies that a log extends an earlier state of itself, with the inclusion proof of that state's
/// last leaf.
///
/// The siblings to the left of the leaf's path are complete subtrees that cover all leaves before
/// it, the same in both trees; so they and the leaf give the earlier root (RFC 6962, 2.1), and the
/// whole proof gives the later one.
///
/// # Errors
/// The errors of [`verify`]; [`PeerMisbehaved::Digest`] if the earlier root is another.
pub fn verify_growth(
    leaf_hash: &Hash,
    before: TreeHead<'_>,
    now: TreeHead<'_>,
    proof: &[Hash],
) -> Result<()> {
    let leaves = now.leaves;
    let last = before.leaves.checked_sub(1).ok_or(Misuse::Rule("the earlier log must have a leaf"))?;
    verify(leaf_hash, last, leaves, proof, now.root)?;
    let levels = (0..height(leaves)).filter(|level| sibling(last, leaves, *level) != Sibling::Absent);
    let left = levels.zip(proof).filter(|(level, _)| last >> level & 1 == 1);
    let at = left.fold(*leaf_hash, |at, (_, other)| node(other, &at));
    if at == *before.root {
        Ok(())
    } else {
        Err(PeerMisbehaved::Digest("the earlier state of the log").into())
    }
}

/// Checks that a leaf exists, which is public.
///
/// # Errors
/// [`Misuse::IndexPastEnd`] if not.
pub fn check(leaf: u64, leaves: u64) -> Result<()> {
    if leaf < leaves {
        return Ok(());
    }
    Err(Misuse::IndexPastEnd { index: leaf, len: leaves }.into())
}
