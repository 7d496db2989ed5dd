//! Complete subtrees, layer by layer: a layer's nodes are hashed many at a time.

use super::hash::Hash;
use sotto_core::{Misuse, Result};
use sotto_math::sha256::nodes;

/// The root over a power of two of consecutive hashes.
///
/// # Errors
/// [`Misuse::Rule`] for another number of hashes.
pub fn root(hashes: &[Hash]) -> Result<Hash> {
    if !hashes.len().is_power_of_two() {
        return Err(Misuse::Rule("a complete subtree must have a power of two of hashes").into());
    }
    Ok(above(hashes).last().copied().unwrap_or(hashes[0]))
}

/// All nodes over a power of two of hashes, layer after layer, the root last.
pub(super) fn above(hashes: &[Hash]) -> Vec<Hash> {
    let mut above = vec![[0; 32]; hashes.len() - 1];
    let (mut layer, mut free) = (hashes, above.as_mut_slice());
    while layer.len() > 1 {
        let (made, rest) = free.split_at_mut(layer.len() / 2);
        nodes(layer.as_chunks().0, made);
        (layer, free) = (made, rest);
    }
    above
}
