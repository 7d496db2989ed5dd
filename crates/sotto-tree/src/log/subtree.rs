//! Complete subtrees, layer by layer.

use super::hash::{Hash, node};
use sotto_core::{Misuse, Result};

/// The root above a power of two of hashes that lie side by side.
///
/// # Errors
/// [`Misuse::Rule`] for another number of them.
pub fn root(hashes: &[Hash]) -> Result<Hash> {
    if !hashes.len().is_power_of_two() {
        return Err(Misuse::Rule("a complete subtree has a power of two of hashes").into());
    }
    let mut layer = hashes.to_vec();
    while layer.len() > 1 {
        for pair in 0..layer.len() / 2 {
            layer[pair] = node(&layer[2 * pair], &layer[2 * pair + 1]);
        }
        layer.truncate(layer.len() / 2);
    }
    Ok(layer[0])
}
