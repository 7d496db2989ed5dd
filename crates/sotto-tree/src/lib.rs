//! Trees of hashes, as pure functions: no table, no lookup, no I/O.
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
