//! Merkle trees of RFC 6962 (section 2.1), for logs of any length.
//!
//! | module | what lives there |
//! |---|---|
//! | [`hash`] | leaves and nodes, hashed apart |
//! | [`peaks`] | the right edge of a growing log: its complete subtrees |
//! | [`subtree`] | the root of a complete subtree |
//! | [`proof`] | inclusion proofs: which siblings there are, and whether they lead to the root |

pub mod hash;
pub mod peaks;
pub mod proof;
pub mod subtree;

pub use hash::Hash;
pub use peaks::{CompleteSubtree, Peaks};
pub use proof::{Sibling, assemble, verify, verify_growth};
