//! Transparency logs as files: tlog-tiles of C2SP, static-ct-api, and Go's checksum database.
//!
//! ```
//! use sotto_tlog::{Checkpoint, LogSigner};
//! use sotto_tree::log::{Peaks, hash};
//!
//! // A log signs its length and its root.
//! let mut peaks = Peaks::new();
//! peaks.extend(&[b"one", b"two"].map(|entry| hash::leaf(entry)), |_subtree| {});
//! let (origin, root) = ("log.example".to_owned(), peaks.root());
//! let signer = LogSigner::new(&origin, &[7; 32])?;
//! let note = signer.sign(&Checkpoint { origin, size: 2, root, extensions: Vec::new() });
//!
//! // A reader who knows the log's key verifies both.
//! let read = Checkpoint::open(note.to_string().as_bytes(), signer.public())?;
//! assert_eq!((read.size, read.root), (2, root));
//! let other = LogSigner::new("log.example", &[8; 32])?;
//! assert!(Checkpoint::open(note.to_string().as_bytes(), other.public()).is_err());
//! # Ok::<(), sotto_tlog::LogError>(())
//! ```
//!
//! A log is a checkpoint, signed by the log's key, and tiles of hashes that lead to its root. One
//! reader and one writer serve all three formats; a [`LogLayout`] says where files are stored and
//! how entries are encoded.
//!
//! | module | contents |
//! |---|---|
//! | [`note`] | signed notes: a text and lines of signatures |
//! | [`key`] | public keys of logs, pinned by readers: Ed25519, ML-DSA-44, or P-256 as in RFC 6962 |
//! | [`signer`] | signing keys of logs |
//! | [`cosigner`] | keys of witnesses and their cosignatures: `c2sp.org/tlog-cosignature` |
//! | [`witness`] | what a witness examines before it cosigns a log |
//! | [`policy`] | trust policies: known logs, witnesses and quorums: `c2sp.org/tlog-policy` |
//! | [`catalogs`] | entries and key of the log of a publisher's catalogs |
//! | [`history`] | checks a publisher's log in order: one catalog for each epoch, one chain for each name |
//! | [`appender`] | appends entries to a publisher's log, and attaches cosignatures |
//! | [`publisher_log`] | a publisher's log as a server reads it: catalogs, their places and proofs |
//! | [`checkpoint`] | a log's length and root, under its signature; signed tree heads of RFC 6962 servers |
//! | [`layout`] | the three layouts: what each file contains |
//! | [`entries`] | bundles of entries, and the leaf hash of each |
//! | [`log_folder`] | where files are read from; a log in a folder: its layout, its checkpoint, the missing tiles |
//! | [`read`] | a log of which every tile is checked before it is used; detects logs that shrank or forked |
//! | [`mod@write`] | writes and grows logs, entry by entry |
//! | [`generate`] | synthetic logs of any length |
//! | [`proof`] | inclusion proofs as text, with the checkpoint: `c2sp.org/tlog-proof@v1` |
//! | [`error`] | errors: the file, the problem, and the remedy |
//!
//! The files are described in `spec/tlog.md`.
#![forbid(unsafe_code)]

pub mod appender;
pub mod catalogs;
pub mod checkpoint;
mod cosignature;
pub mod cosigner;
pub mod entries;
pub mod error;
pub mod generate;
pub mod history;
pub mod key;
pub mod layout;
pub mod log_folder;
pub mod note;
pub mod policy;
pub mod proof;
pub mod publisher_log;
pub mod read;
pub mod signer;
pub mod witness;
pub mod write;

pub use catalogs::LogEntry;
pub use checkpoint::{Checkpoint, SignedTreeHead};
pub use cosigner::{CosignatureKind, Cosigner, WitnessKey};
pub use entries::BundleEntry;
pub use error::LogError;
pub use history::LogHistory;
pub use key::LogKey;
pub use layout::{LogLayout, Tile};
pub use log_folder::{DirectorySource, LogFolder, LogSource};
pub use note::SignedNote;
pub use policy::Policy;
pub use proof::InclusionProof;
pub use read::VerifiedLog;
pub use signer::LogSigner;
pub use write::LogWriter;

/// Result of an operation of this crate, with [`LogError`] as the default error.
pub type Result<T, E = LogError> = std::result::Result<T, E>;
