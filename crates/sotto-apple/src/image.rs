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
pub mod describe;
pub mod encode;
pub mod error;
mod index;
pub mod intake;
pub mod opened;
pub mod oprf;
pub mod read;
pub mod rows;
pub mod update;

pub use describe::{Description, Kind};
pub use encode::{How, Written, encode};
pub use error::ImageError;
pub use index::encode_index;
pub use intake::Intake;
pub use opened::{Opened, open, open_in};
pub use read::{From, Read, encode_file};
pub use rows::Rows;
pub use update::{Before, Update};
