//! What a table is: the signed catalog, artifacts by digest, and how rows lie in records.
//!
//! | module | what lives there |
//! |---|---|
//! | [`catalog`] | the catalog itself: parsed totally, checked for consistency |
//! | [`table`] | table names, index, range and keyword tables, what a row's bytes mean |
//! | [`entry`] | one static file: its size, its digest, the digests of its chunks |
//! | [`batched`] | a stack whose tables are the buckets of a batch code |
//! | [`stack`] | a layer, the tables it lies on, and what is public of it |
//! | [`document`] | what catalogs and stacks have in common: JSON text with a version and a limit |
//! | [`signed`] | a document as it travels: exact text, public key, signature |
//! | [`succession`] | a change of the key that signs a table |
//! | [`masked`] | the layer of symmetric tables: rows that one evaluation opens |
//! | [`row_form`] | how a value lies in a row, and how it is read there |
//! | [`key`] | signing keys, public keys, and their text forms |
//! | [`bit`] | the rows as one string of bits |
//! | [`packing`] | narrow rows share a record, wide rows span several |
//! | [`rows_root`] | the root of a Merkle tree over the rows, and how one row is proved by it |
//! | [`hex`] | bytes that are written as hexadecimal text |
//! | [`error`] | whose fault, and what to do |
//!
//! The bytes are drawn in `spec/catalog.md` and `spec/artifacts.md`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod artifact_entry;
pub mod batch_access;
pub mod bit_position;
pub mod catalog;
pub mod document;
pub mod error;
pub mod hex;
pub mod key;
pub mod packing;
pub mod row_form;
pub mod rows_root;
pub mod signed;
pub mod stack;
pub mod succession;
pub mod symmetric;
pub mod table;

pub use artifact_entry::ArtifactEntry;
pub use batch_access::BatchAccess;
pub use bit_position::BitPosition;
pub use catalog::{Catalog, LayerEntry, Sidecar, TableTerms};
pub use document::Document;
pub use error::CatalogError;
pub use hex::{Hex, Hex32, Hex64, HexBytes};
pub use key::{PublicKey, SigningKey};
pub use packing::{Packing, RecordSpan};
pub use row_form::RowForm;
pub use rows_root::RowsRoot;
pub use signed::{SignedCatalog, SignedDocument, SignedStack};
pub use stack::Stack;
pub use succession::{SignerChange, Succession};
pub use symmetric::SymmetricLayer;
pub use table::{KeyKind, TableKind, TableName, TableNameError, ValueKind};

/// Shorthand for results of this crate.
pub type Result<T, E = CatalogError> = std::result::Result<T, E>;
