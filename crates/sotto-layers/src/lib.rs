//! Which rows a request needs, whatever scheme fetches them.
//!
//! | module | what lives there |
//! |---|---|
//! | [`colour`] | Merkle proofs: one row of each colour (TreePIR) |
//! | [`tile`] | Merkle proofs: one or two tiles of 256 hashes |
//! | [`keyword`] | values by key: the rows where the key may lie (cuckoo hashing) |
//! | [`node`] | Merkle proofs: rows of one table of all hashes, by a batch code |
//! | [`pbc`] | several rows at once (batch codes) |
//! | [`design`] | how a log is laid out for proofs, as a stack says it |
//! | [`draw`] | rows that nobody asked for |
#![forbid(unsafe_code)]

pub mod colour;
pub mod design;
pub mod draw;
pub mod keyword;
pub mod node;
pub mod pbc;
pub mod tile;

pub use colour::Colour;
pub use design::{Design, Proofs};
pub use keyword::{Keyword, Keywords};
pub use node::Nodes;
pub use pbc::Pbc;
pub use tile::Tile;
