//! Layers: the rows that a request needs, independent of the scheme that fetches them.
//!
//! | module | contents |
//! |---|---|
//! | [`color_proof`] | Merkle proofs: one row of each color (TreePIR) |
//! | [`tile_proof`] | Merkle proofs: one or two tiles of 256 hashes |
//! | [`batch_proof`] | Merkle proofs: rows of one table of all hashes, by a batch code |
//! | [`keyword`] | values by key: the rows that may have the key (cuckoo hashing) |
//! | [`batch_code`] | several rows at once (batch codes) |
//! | [`proof_layout`] | the layout of a log for proofs, as a stack describes it |
//! | [`dummy_rows`] | random rows for lookups that only keep their number constant |
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
