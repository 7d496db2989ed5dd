//! Shared code of schemes whose clients hold *hints*: parities of secret sets of rows, each of
//! which one query spends.
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
pub mod message;
pub mod one_server;
#[cfg(feature = "server")]
pub mod row_table;
pub mod two_server;
