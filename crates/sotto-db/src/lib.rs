//! Table ingestion, encoding, image files and epochs.
//!
//! ```
//! use sotto_core::Epoch;
//! use sotto_db::progress::silent;
//! use sotto_db::table::RawFile;
//! use sotto_db::{EncodeOptions, TableDir, encode_table};
//! use std::fs::{self, File};
//!
//! # let temporary = tempfile::tempdir()?;
//! # let folder = temporary.path();
//! // A file of 100 rows of 8 bytes.
//! let file = folder.join("squares.raw");
//! fs::write(&file, (0..100u64).flat_map(|row| (row * row).to_le_bytes()).collect::<Vec<_>>())?;
//! let rows = RawFile::new(File::open(&file)?, &file, 100, 8)?;
//!
//! // It becomes the first epoch of a table, signed with a key that is made beside it.
//! let table = TableDir::create(&folder.join("squares"))?;
//! let key = table.signing_key(None, &mut sotto_prg::system_rng()?)?;
//! let options = EncodeOptions::new("squares".parse()?, &key);
//! let summary = encode_table(&simplepir::ENTRY, &rows, &table.lock()?, &options, &silent)?;
//! assert_eq!(summary.epoch, Epoch(1));
//!
//! // A server opens its image.
//! let image = table.open_latest()?;
//! assert_eq!((image.catalog().rows, image.catalog().row_bytes), (100, 8));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`ingest`](mod@ingest) | reads CSV, JSONL, Parquet and raw files into tables of fixed-width rows |
//! | [`table`] | tables of rows, and the records that a scheme sees of them |
//! | [`encode`] | encodes a table as the image of the next epoch |
//! | [`layout`] | chooses parameters and where the proofs of single rows are stored |
//! | `rows_tree` | builds the hash tree over a table's rows and stores it in records |
//! | [`batch`] | encodes a table as a stack whose tables are the buckets of a batch code |
//! | [`batch_sizes`] | chooses the sizes of a batch code for a scheme |
//! | [`audit`](mod@audit) | checks that an image holds the rows that its catalog commits to |
//! | [`update`] | writes the image of the next epoch from a file of changed rows, re-encoding only what changed |
//! | [`image`] | the image file: written once and atomically, then mapped |
//! | [`residency`] | decides whether answers are computed from the mapped file or from a copy on huge pages |
//! | [`epoch`] | a table's folder: its epochs, its signing key, its write lock |
//! | [`stack`] | a stack's folder: its tables and its public files; kinds of paths |
//! | [`publish_log`] | writes catalogs and stacks to their publisher's log |
//! | [`sidecars`] | files beside an image for the next update: rows, write counts, columns of the source |
//! | [`mask`] | masks the rows of a symmetric table |
//! | [`parts`] | tables in parts: a front, and the resident section in files of its own |
//! | [`key_rotation`] | replaces a signing key by another, and publishes the succession |
//! | [`retention`] | decides which old epochs stay whole, and which are reduced to their deltas |
//! | [`inspect`](mod@inspect) | describes an image as data |
//! | [`progress`] | reports how far a stage of the work is |
//! | [`error`] | errors, with whose fault it is and what to do |
//!
//! The format of an image is specified in `spec/image.md`.
#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod audit;
pub mod batch;
pub mod batch_sizes;
pub mod encode;
pub mod epoch;
pub mod error;
mod file_kind;
mod files;
pub mod image;
pub mod ingest;
pub mod inspect;
pub mod key_rotation;
mod keys;
pub mod layout;
pub mod mask;
pub mod parts;
pub mod progress;
pub mod publish_log;
pub mod residency;
pub mod retention;
mod rows_tree;
pub mod sidecars;
pub mod stack;
pub mod table;
pub mod update;

pub use audit::audit;
pub use batch::{BatchOptions, BatchSummary, encode_batch};
pub use encode::{EncodeOptions, EncodeSummary, encode_buckets, encode_pieces, encode_table};
pub use epoch::{TableDir, WriteLock};
pub use error::{DbError, ImageProblem};
pub use image::{ImageFile, ImageWriter};
pub use ingest::{IngestOptions, IngestedTable, ingest};
pub use inspect::{Inspection, inspect};
pub use layout::RowProofs;
pub use parts::{PartProblem, PiecesToWrite, encode_part};
pub use progress::{Progress, ProgressUnit, Watcher};
pub use publish_log::LogUpdate;
pub use residency::{CopyBudget, Residency, ResidentImage, TablePlacement};
pub use retention::{Retention, RetentionSummary, retain};
pub use sidecars::SourceColumns;
pub use stack::{PathKind, StackDir, latest_scheme};
pub use table::{PackedRecords, TableSource};
pub use update::{ChangeFile, TableUpdate, UpdateOptions, UpdateSummary, read_update, update_table};

/// Result of an operation of this crate, with [`DbError`] as the default error.
pub type Result<T, E = DbError> = std::result::Result<T, E>;
