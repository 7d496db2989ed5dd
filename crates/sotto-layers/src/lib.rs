//! Which rows a request needs, whatever scheme fetches them.
//!
//! | module | what lives there |
//! |---|---|
//! | [`color`] | Merkle proofs: one row of each color (TreePIR) |
//! | [`tile`] | Merkle proofs: one or two tiles of 256 hashes |
//! | [`keyword`] | values by key: the rows where the key may lie (cuckoo hashing) |
//! | [`node`] | Merkle proofs: rows of one table of all hashes, by a batch code |
//! | [`pbc`] | several rows at once (batch codes) |
//! | [`design`] | how a log is laid out for proofs, as a stack says it |
//! | [`draw`] | rows that nobody asked for |
#![forbid(unsafe_code)]

pub mod batch_code;
pub mod batch_proof;
pub mod color_proof;
pub mod dummy_rows;
pub mod keyword;
pub mod proof_layout;
pub mod tile_proof;

pub use batch_code::BatchCode;
pub use batch_proof::BatchProof;
pub use color_proof::ColorProof;
pub use keyword::{Keyword, MultiKeyword};
pub use proof_layout::{ProofLayer, ProofLayout};
pub use tile_proof::TileProof;
