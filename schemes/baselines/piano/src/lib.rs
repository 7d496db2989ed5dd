//! Piano (Zhou, Park, Shi, Zheng; "Piano: Extremely Simple, Single-Server PIR with Sublinear Server Computation",
//! S&P 2024): a baseline, next to which S3PIR is measured.
//!
//! ```
//! use sotto_core::{RecordIndex, TableShape};
//! use sotto_piano::ENTRY;
//! use sotto_testkit::memory::{MemoryRows, MemorySink};
//! use sotto_testkit::rng::seeded;
//! use std::sync::Arc;
//!
//! // A table of 1000 rows of 8 bytes.
//! let params = (ENTRY.select)(&TableShape::new(1000, 8, 100))?;
//! let rows = MemoryRows::new(8, (0..1000u64).flat_map(u64::to_le_bytes).collect());
//! let sink = MemorySink::new();
//! (ENTRY.server.encode)(&params, &rows, &sink)?;
//! let image = Arc::new(sink.into_image());
//! let server = (ENTRY.server.open)(&params, image.clone())?;
//!
//! // The client streams the table once, and keeps hints.
//! let rng = &mut seeded("client");
//! let mut prepare = (ENTRY.prepare)(&params, rng)?;
//! for need in prepare.needs() {
//!     let table = image.artifact(need.artifact).ok_or("no such artifact")?;
//!     prepare.absorb(need.artifact, table)?;
//! }
//! let mut client = prepare.finish()?;
//!
//! // Each lookup spends one.
//! let session = server.admit(&client.keys())?;
//! let (queries, secret) = client.query(RecordIndex(42), rng)?;
//! let answers = server.answer_many(&[(&session, &queries[0])]);
//! let answers = answers.into_iter().collect::<Result<Vec<_>, _>>()?;
//! assert_eq!(client.recover(secret, &answers)?.bytes(), 42u64.to_le_bytes());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A client streams the whole table once and keeps parities of pseudo-random sets of rows, one of
//! each partition: its hints. To fetch a row it takes a hint that contains it, replaces that row by
//! another one, and sends all offsets; the server adds the rows that they name. The hint is then
//! spent, and a backup of the row's partition takes its place. Backups belong to partitions, so not
//! all sequences of queries work: README.md says which do, next to the symbol table, the proofs and
//! the deviations from the paper.
//!
//! Pass, client, state, updates and server are those of [`sotto_hints::one_server`], as S3PIR's
//! are.
//!
//! | module | contents |
//! |---|---|
//! | [`params`] | the literal, the failure bound, and choosing one for a table |
//! | [`places`] | the public order of rows in partitions |
//! | `hints` | hints, backups, replacement entries, and their encoding; the sums of the pass |
//! | `answered_rows` | rows that were requested, so that none is requested twice |
//! | [`query`] | making a query from a hint, and its bytes |
//! | `family` | the scheme built from them |
#![forbid(unsafe_code)]

mod answered_rows;
mod family;
mod hints;
pub mod params;
pub mod places;
pub mod query;
#[cfg(all(test, feature = "server"))]
mod tests;

use sotto_core::SchemeEntry;
use sotto_hints::one_server::{self, OneServerScheme};

/// The family of sets with a row of each partition.
#[derive(Debug, Clone, Copy)]
pub struct FullSets;

/// The Piano scheme.
pub type Piano = OneServerScheme<FullSets>;
/// Parameters of the Piano scheme.
pub type Params = one_server::Params<FullSets>;
type Client = one_server::Client<FullSets>;

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<Piano>();
