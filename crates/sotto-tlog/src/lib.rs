//! Transparency logs as files: tlog-tiles of C2SP, static-ct-api, and Go's checksum database.
//!
//! A log is a checkpoint, signed by the log's key, and tiles of hashes that lead to its root. One reader and one
//! writer serve all three; a [`LogLayout`] says where the files lie and how entries are written in them.
//!
//! | module | what lives there |
//! |---|---|
//! | [`note`] | signed notes: a text and lines of signatures |
//! | [`key`] | a log's public key, pinned by whoever reads it: Ed25519, or P-256 as in RFC 6962 |
//! | [`signer`] | a log's signing key |
//! | [`witness`] | who saw a log grow, and signs that: `c2sp.org/tlog-cosignature`, Ed25519 |
//! | [`catalogs`] | the log of a publisher's catalogs: its key, its entries |
//! | [`history`] | the entries of such a log, checked in order: one catalog for each epoch, one chain for each name |
//! | [`publish`] | that log in its publisher's folder: appended to, and given cosignatures |
//! | [`published`] | the same as a server reads it: which catalog is where, and proofs |
//! | [`checkpoint`] | a log's length and root, under its signature |
//! | [`head`] | the same as RFC 6962's servers say it: signed tree heads |
//! | [`layout`] | the three layouts: which file holds what |
//! | [`entries`] | bundles of entries, and the leaf hash of each |
//! | [`source`] | where files come from |
//! | [`found`] | a log as it lies in a folder: its layout, its checkpoint, the tiles that are not there |
//! | [`read`] | a log of which every tile is checked before it is used; logs that shrank or forked |
//! | [`mod@write`] | logs that are written, and grown, entry by entry |
//! | [`generate`] | synthetic logs of any length |
//! | [`proof`] | inclusion proofs as text, with the checkpoint: `c2sp.org/tlog-proof@v1` |
//! | [`error`] | what is wrong with which file, and what to do |
//!
//! The files are described in `spec/tlog.md`.
#![forbid(unsafe_code)]

pub mod appender;
pub mod catalogs;
pub mod checkpoint;
mod ecdsa;
pub mod entries;
pub mod error;
pub mod generate;
pub mod history;
pub mod key;
pub mod layout;
pub mod log_folder;
pub mod note;
pub mod proof;
pub mod publisher_log;
pub mod read;
pub mod signed_tree_head;
pub mod signer;
pub mod source;
mod text;
pub mod witness;
pub mod write;

pub use catalogs::LogEntry;
pub use checkpoint::Checkpoint;
pub use entries::BundleEntry;
pub use error::LogError;
pub use history::LogHistory;
pub use key::LogKey;
pub use layout::{LogLayout, Tile};
pub use log_folder::LogFolder;
pub use note::SignedNote;
pub use proof::InclusionProof;
pub use read::VerifiedLog;
pub use signed_tree_head::SignedTreeHead;
pub use signer::LogSigner;
pub use source::{DirectorySource, LogSource};
pub use witness::{Cosigner, WitnessKey};
pub use write::LogWriter;

/// Shorthand for results of this crate.
pub type Result<T, E = LogError> = std::result::Result<T, E>;
