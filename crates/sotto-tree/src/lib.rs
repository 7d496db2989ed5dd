//! Trees of hashes, as pure functions: no table, no lookup, no I/O.
//!
//! ```
//! use sotto_tree::log::{Peaks, hash, proof};
//!
//! // A log of three entries: its root is computed from the roots of its complete subtrees.
//! let leaves = [&b"one"[..], b"two", b"three"].map(hash::leaf);
//! let mut peaks = Peaks::new();
//! peaks.extend(&leaves, |_subtree| {});
//! let root = peaks.root();
//!
//! // The last entry is proved by the hash over the other two.
//! let siblings = [hash::node(&leaves[0], &leaves[1])];
//! proof::verify(&leaves[2], 2, 3, &siblings, &root)?;
//! assert!(proof::verify(&leaves[1], 2, 3, &siblings, &root).is_err());
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`shape`] | the shape of a perfect tree: children of a node, and layers |
//! | [`coloring`] | ancestral colorings: a table for each color, with one lookup in each of them for a proof |
//! | [`log`] | RFC 6962: hashes, the right edge of a growing log, inclusion proofs |
#![forbid(unsafe_code)]

pub mod coloring;
pub mod log;
pub mod shape;

pub use coloring::{ColorSlot, Coloring};
pub use shape::PerfectTree;
