//! SHA-256 with a prefix that distinguishes leaves from nodes, so that no node can pass for a leaf
//! (RFC 6962, 2.1).

use sha2::{Digest, Sha256};
use subtle::{ConditionallySelectable, ConstantTimeEq};

/// A SHA-256 digest.
pub type Hash = [u8; 32];

/// The root of a log without entries.
pub fn empty() -> Hash {
    Sha256::digest([]).into()
}

/// The leaf hash of an entry.
pub fn leaf(entry: &[u8]) -> Hash {
    Sha256::new().chain_update([0]).chain_update(entry).finalize().into()
}

/// The hash of a node, from its children's hashes.
pub fn node(left: &Hash, right: &Hash) -> Hash {
    let mut input = [1; 65];
    input[1..33].copy_from_slice(left);
    input[33..].copy_from_slice(right);
    Sha256::digest(input).into()
}

/// The hash at a secret position: all of them are read. Zeros if there is no such position.
pub fn pick(hashes: &[Hash], at: u64) -> Hash {
    let mut out = Hash::default();
    for (i, hash) in (0u64..).zip(hashes) {
        out.conditional_assign(hash, i.ct_eq(&at));
    }
    out
}
