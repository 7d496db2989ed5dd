//! Merkle trees of RFC 6962 (section 2.1), for logs of any length.
//!
//! | module | contents |
//! |---|---|
//! | [`hash`] | hashes of leaves and nodes |
//! | [`peaks`] | the right edge of a growing log: its complete subtrees |
//! | [`subtree`] | the root of a complete subtree |
//! | [`proof`] | inclusion proofs: assembling their siblings, and verifying them |

pub mod hash;
pub mod peaks;
pub mod proof;
pub mod subtree;

pub use hash::Hash;
pub use peaks::{CompleteSubtree, Peaks};
pub use proof::{Sibling, TreeHead, assemble, verify, verify_growth};
