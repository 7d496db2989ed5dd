//! A use case as a file: written once, whole or not at all; then mapped, and answered from.
//!
//! | module | what lives there |
//! |---|---|
//! | [`describe`] | what a file says of itself |
//! | [`rows`] | rows on their way into a table |
//! | [`read`] | a file of keys and values, read into such rows |
//! | [`encode`](mod@encode) | rows in, the next epoch's file out |
//! | [`intake`] | keys and values on their way into rows: hashed, or sealed |
//! | [`oprf`] | the key of a symmetric table |
//! | `index` | the same for rows by number |
//! | [`opened`] | an open file, as a use case |
//! | [`update`] | changed rows in, the next epoch's file out, making anew only what changed |
//! | `buckets` | which buckets change, and which rows move |
//! | [`error`] | whose fault, and what to do |
//!
//! A folder holds the epochs of one use case, as folders of other tables do ([`sotto_db::epoch`]). The bytes of a file are drawn
//! in `spec/apple.md`.

mod buckets;
pub mod description;
pub mod encode;
pub mod error;
mod index;
pub mod ingest;
pub mod open;
pub mod oprf;
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
