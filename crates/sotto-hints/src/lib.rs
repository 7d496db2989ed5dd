//! What schemes whose clients keep *hints* share: parities of secret sets of rows, each of which is spent on one query.
//!
//! | module | what lives there |
//! |---|---|
//! | [`slots`] | hints from a second server, a fresh one in the slot of each that is spent: Checklist, TreePIR |
//! | [`stream`] | hints from one pass over the streamed table, each replaced by a backup: S3PIR, Piano |
//! | [`message`] | order, supply, answer |
//! | [`bytes`] | states and journals, read and written |
//! | [`delta`] | the changed rows of an epoch |
//! | `table` | the rows in an image: encoded, opened, revised (feature `server`) |
//!
//! README.md says what a scheme adds, and what every scheme of this kind keeps to.
#![forbid(unsafe_code)]

pub mod codec;
pub mod delta;
pub mod message;
pub mod one_server;
#[cfg(feature = "server")]
pub mod row_table;
pub mod two_server;
