//! Layers: the rows that a request needs, independent of the scheme that fetches them.
//!
//! ```
//! use sotto_core::{Layer as _, Row};
//! use sotto_layers::keyword::{BuildOptions, KeyForm, KeywordBuilder};
//! use sotto_prg::{PublicSeed, system_rng};
//!
//! // The publisher places keys and their values in a table, in two passes over the data.
//! let entries = [("apple", "red"), ("plum", "blue"), ("lime", "green")];
//! let rng = &mut system_rng()?;
//! let options = BuildOptions::new(KeyForm::Text, PublicSeed::fresh(rng));
//! let mut builder = KeywordBuilder::new(options)?;
//! for (key, value) in entries {
//!     builder.add(key.as_bytes(), value.len() as u64)?;
//! }
//! let mut placement = builder.place()?;
//! let params = placement.keyword().params();
//! let width = params.row_bytes() as usize;
//! let mut table = vec![0; width * params.rows as usize];
//! let mut slot = Vec::new();
//! for (key, value) in entries {
//!     let at = placement.write(key.as_bytes(), value.as_bytes(), &mut slot)? as usize;
//!     table[at..at + slot.len()].copy_from_slice(&slot);
//! }
//! let keyword = placement.finish()?;
//!
//! // A client fetches the rows that may have a key, with any scheme, and reads its value there.
//! let (rows, plan) = keyword.plan(b"plum", rng)?;
//! let row = |row: &u64| Row::new(table[*row as usize * width..][..width].to_vec());
//! let fetched = rows.iter().map(row);
//! let value = keyword.assemble(plan, fetched.collect())?.ok_or("no such key")?;
//! assert_eq!(value.as_slice(), b"blue");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
