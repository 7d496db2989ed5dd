//! Trees of hashes, as pure functions: no table, no lookup, no I/O.
//!
//! | module | what lives there |
//! |---|---|
//! | [`shape`] | how many children a node has, and how many layers there are |
//! | [`color`] | ancestral colorings: a table for each color, one lookup in each, and the lookups make a proof |
//! | [`log`] | RFC 6962: hashes, the right edge of a growing log, inclusion proofs |
#![forbid(unsafe_code)]

pub mod coloring;
pub mod log;
pub mod shape;

pub use coloring::{ColorSlot, Coloring};
pub use shape::PerfectTree;
