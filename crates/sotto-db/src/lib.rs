//! Tables in, images out: ingestion, encoding, mapped images, epochs.
//!
//! | module | what lives there |
//! |---|---|
//! | [`ingest`](mod@ingest) | CSV, JSONL, Parquet and raw files, each streamed into a table of fixed-width rows |
//! | [`table`] | those tables, and the records a scheme sees of them |
//! | [`encode`] | a table in, the next epoch's image out |
//! | [`layout`] | parameters, and where the nodes go that prove rows one by one |
//! | `commit` | the tree over a table's rows, built and put into records |
//! | [`batch`] | a table in, a stack out, whose tables are the buckets of a batch code |
//! | [`audit`](mod@audit) | whether an image holds the rows that its catalog commits to |
//! | [`update`] | a file of changed rows in, the next epoch's image out, re-encoding only what changed |
//! | [`image`] | the image file: written once, whole or not at all; then mapped |
//! | [`residency`] | whether answers are made from the mapped file or from a copy on huge pages |
//! | [`epoch`] | a table's folder: its epochs, its signing key, its one writer |
//! | [`stack`] | a stack's folder: its tables, its public files, what belongs together |
//! | [`path_kind`] | what lies at a path: a table, a stack, a table of another protocol, or a file |
//! | [`logged`] | catalogs and stacks in their publisher's log |
//! | [`origin`] | how the source of a table was read, beside its images, for the next file |
//! | [`kept`] | the rows of a keyword table, beside its image, for the next update |
//! | [`written`] | the mask of a table's own, and how much was written since it was drawn |
//! | [`mask`] | a table whose rows are masked, for symmetric lookups |
//! | [`parts`] | tables in parts: a front, and what is answered from in files of its own |
//! | [`rotate`](mod@rotate) | another signing key, and how clients come to know it |
//! | [`retain`](mod@retain) | which epochs stay whole, and of which only a remnant does |
//! | [`inspect`](mod@inspect) | what there is to know of an image, as data |
//! | [`progress`] | telling a watching person how far a stage is |
//! | [`error`] | whose fault, and what to do |
//!
//! The bytes of an image are drawn in `spec/image.md`.
#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod audit;
pub mod batch;
pub mod encode;
pub mod epoch;
pub mod error;
pub mod image;
pub mod ingest;
pub mod inspect;
pub mod key_rotation;
pub mod layout;
pub mod mask;
pub mod parts;
pub mod path_kind;
pub mod progress;
pub mod publish_log;
pub mod residency;
pub mod retention;
mod rows_tree;
pub mod source_columns;
pub mod stack;
pub mod stored_rows;
pub mod table;
pub mod update;
pub mod write_counts;

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
pub use path_kind::PathKind;
pub use progress::{Progress, ProgressUnit, Watcher};
pub use publish_log::LogUpdate;
pub use residency::{CopyBudget, Residency, ResidentImage, TablePlacement};
pub use retention::{Retention, RetentionSummary, retain};
pub use source_columns::SourceColumns;
pub use stack::StackDir;
pub use table::{PackedRecords, TableSource};
pub use update::{TableUpdate, UpdateOptions, UpdateSummary, read_update, update_table};

/// Shorthand for results of this crate.
pub type Result<T, E = DbError> = std::result::Result<T, E>;
