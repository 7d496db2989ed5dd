//! Use cases as files: written once and atomically, then mapped to answer queries.
//!
//! | module | contents |
//! |---|---|
//! | [`description`] | the description of a use case in its file |
//! | [`rows`] | rows of a table before it is encoded |
//! | [`ingest`] | reads a file of keys and values into such rows |
//! | [`encode`](mod@encode) | encodes rows as the file of the next epoch |
//! | [`row_intake`] | converts keys and values into rows: hashes or seals them |
//! | [`oprf`] | the secret key of a symmetric table |
//! | `index` | encodes rows by number |
//! | [`open`](mod@open) | opens a file as a use case |
//! | [`update`] | writes the file of the next epoch from changed rows, re-encoding only what changed |
//! | `revision` | copies a file, and writes what changed over the copy |
//! | `buckets` | finds out which buckets change, and which rows move |
//! | [`error`] | errors, with whose fault they are and what to do |
//!
//! A folder contains the epochs of one use case, as the folders of other tables do
//! ([`sotto_db::epoch`]). The format of a file is specified in `spec/apple.md`.

mod buckets;
pub mod description;
pub mod encode;
pub mod error;
mod index;
pub mod ingest;
pub mod open;
pub mod oprf;
mod revision;
pub mod row_intake;
pub mod rows;
pub mod update;

pub use description::{UseCaseDescription, UseCaseKind};
pub use encode::{UseCaseOptions, UseCaseSummary, encode};
pub use error::ImageError;
pub use index::encode_index;
pub use ingest::{IngestSummary, SourceFile, encode_file};
pub use open::{OpenUseCase, open, open_in};
pub use row_intake::RowIntake;
pub use rows::KeywordRows;
pub use update::{PreviousEpoch, UseCaseUpdate};
