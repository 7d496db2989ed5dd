//! Shared code of schemes whose clients hold *hints*: parities of secret sets of rows, each of
//! which one query spends.
//!
//! ```
//! use sotto_hints::delta::{RowsDelta, add};
//!
//! // A hint: the parity of rows 1, 3 and 4 of a table of two-byte rows.
//! let mut parity = [0x0A ^ 0x30 ^ 0x04, 0];
//!
//! // An update turns row 3 from 30 00 into 31 01: the delta has the number, and old xor new.
//! let delta = [&3u64.to_le_bytes()[..], &[0x01, 0x01]].concat();
//! for (row, change) in RowsDelta::read(&delta, 10, 2)?.rows() {
//!     if [1, 3, 4].contains(row) {
//!         add(&mut parity, change);
//!     }
//! }
//! assert_eq!(parity, [0x0A ^ 0x31 ^ 0x04, 0x01]);
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`two_server`] | hints that a second server makes, with a fresh one in the slot of each spent one: Checklist, TreePIR |
//! | [`one_server`] | hints from one pass over the streamed table, each replaced by a backup: S3PIR, Piano |
//! | [`message`] | hint request, hint response, answer |
//! | [`codec`] | reading and writing states and journals |
//! | [`delta`] | the changed rows of an epoch |
//! | [`row_table`] | the rows in an image: encoded, opened, updated (feature `server`) |
//!
//! README.md says what a scheme adds, and which rules all schemes of this kind follow.
#![forbid(unsafe_code)]

pub mod codec;
pub mod delta;
mod journal;
pub mod message;
pub mod one_server;
#[cfg(feature = "server")]
pub mod row_table;
pub mod two_server;
