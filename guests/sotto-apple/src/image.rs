//! Use cases as files: written once and atomically, then mapped to answer queries.
//!
//! | module | contents |
//! |---|---|
//! | [`description`] | the description of a use case in its file |
//! | [`encode`](mod@encode) | encodes rows, by key or by number, or a file of them, as the file of the next epoch |
//! | [`row_intake`] | rows of a table before it is encoded, from keys and values that are hashed or sealed |
//! | [`oprf`] | the secret key of a symmetric table |
//! | [`open`](mod@open) | opens a file as a use case |
//! | [`update`] | writes the file of the next epoch from changed rows: a copy, and what changed written over it |
//! | `buckets` | finds out which buckets change, and which rows move |
//! | [`error`] | errors, with whose fault they are and what to do |
//!
//! A folder contains the epochs of one use case, as the folders of other tables do
//! ([`sotto_db::epoch`]). The format of a file is specified in `spec/apple.md`.

mod buckets;
pub mod description;
pub mod encode;
pub mod error;
pub mod open;
pub mod oprf;
pub mod row_intake;
pub mod update;

pub use description::{UseCaseDescription, UseCaseKind};
pub use encode::{
    IngestSummary, SourceFile, UseCaseOptions, UseCaseSummary, encode, encode_file, encode_index,
};
pub use error::ImageError;
pub use open::{OpenUseCase, open, open_in};
pub use row_intake::{KeywordRows, RowIntake};
pub use update::{PreviousEpoch, UseCaseUpdate};
