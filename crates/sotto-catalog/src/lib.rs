//! Descriptions of tables: the signed catalog, artifacts by digest, and the packing of rows into
//! records.
//!
//! ```
//! use sotto_catalog::{KeyKind, PublicKey, SigningKey, TableName};
//!
//! // A client is given a table's name and its publisher's key, and accepts no other.
//! let key = SigningKey::generate(&mut sotto_prg::system_rng()?);
//! let pin: PublicKey = key.public().to_string().parse()?;
//! let name: TableName = "ip-country".parse()?;
//! assert_eq!((pin == key.public(), name.as_str()), (true, "ip-country"));
//!
//! // The table says what its keys are.
//! assert_eq!(KeyKind::Ipv4.parse("192.0.2.1"), Some(0xC000_0201));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`catalog`] | the catalog: parsed totally, checked for consistency |
//! | [`table`] | table names; index, range and keyword tables; the meaning of a row's bytes |
//! | [`anchor`] | the state of another system that an epoch was made from |
//! | [`batch_access`] | a stack whose tables are the buckets of a batch code |
//! | [`stack`] | a layer, the tables under it, and its public files |
//! | [`document`] | what catalogs and stacks have in common: JSON text with a version and a limit |
//! | [`signed`] | a signed document: exact text, public key, signature |
//! | [`succession`] | a change of the key that signs a table |
//! | [`symmetric`] | the layer of symmetric tables: rows that one evaluation opens |
//! | [`row_form`] | how a value is written into a row, and read out of it |
//! | [`key`] | signing keys, public keys, and their text forms |
//! | [`ml_dsa`] | keys and signatures of ML-DSA-44, beside Ed25519 |
//! | [`bit_position`] | the rows as one string of bits |
//! | [`packing`] | narrow rows share a record, wide rows span several |
//! | [`rows_root`] | the root of a Merkle tree over the rows, and proofs of single rows |
//! | [`hex`] | bytes that are written as hexadecimal text |
//! | [`error`] | errors, with whose fault they are and what to do |
//!
//! The formats are specified in `spec/catalog.md` and `spec/artifacts.md`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod anchor;
pub mod batch_access;
pub mod bit_position;
pub mod catalog;
pub mod document;
pub mod error;
pub mod hex;
pub mod key;
pub mod ml_dsa;
pub mod packing;
pub mod row_form;
pub mod rows_root;
pub mod signed;
pub mod stack;
pub mod succession;
pub mod symmetric;
pub mod table;
mod text;

pub use anchor::{Anchor, AnchorError};
pub use batch_access::BatchAccess;
pub use bit_position::BitPosition;
pub use catalog::{Catalog, LayerEntry, Sidecar, TableTerms};
pub use document::Document;
pub use error::CatalogError;
pub use hex::{Hex, Hex32, Hex64, HexBytes, PublicKey};
pub use key::SigningKey;
pub use ml_dsa::{MlDsaPublicKey, MlDsaSigningKey};
pub use packing::{Packing, RecordSpan};
pub use row_form::RowForm;
pub use rows_root::RowsRoot;
pub use signed::{SignedCatalog, SignedDocument, SignedStack};
pub use stack::Stack;
pub use succession::{SignerChange, Succession};
pub use symmetric::SymmetricLayer;
pub use table::{ArtifactEntry, KeyKind, TableKind, TableName, TableNameError, ValueKind};

/// Result of an operation of this crate, with [`CatalogError`] as the default error.
pub type Result<T, E = CatalogError> = std::result::Result<T, E>;
