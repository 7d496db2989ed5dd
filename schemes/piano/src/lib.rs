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
//! A client streams the whole table once and keeps parities of pseudo-random sets of rows, one of each partition: its
//! hints. To fetch a row it takes a hint that contains it, puts a row of its own in that one's place, and sends all
//! offsets; the server adds up what they name. The hint is then spent, and a backup of the row's partition takes its
//! place. Backups belong to partitions, so which sequences of queries work is limited: README.md says which, next to
//! the symbol table, the proofs and the deviations from the paper.
//!
//! Pass, client, state, updates and server are [`sotto_hints::stream`]'s, as S3PIR's are.
//!
//! | module | what lives there |
//! |---|---|
//! | [`params`] | the literal, what it promises, and choosing one for a table |
//! | [`bound`] | how often a lookup fails, and for whom that holds |
//! | [`places`] | the public order in which rows lie in partitions |
//! | `hints` | hints, backups, replacement entries; what the pass sums up |
//! | `stock` | which backups are left; how hints are written |
//! | `seen` | rows that were asked for, so that none is asked for twice |
//! | `request` | a request made of a hint |
//! | [`message`] | the request on the wire |
//! | `family` | what makes the scheme of them |
#![forbid(unsafe_code)]

mod answered_rows;
mod backups;
pub mod bound;
mod family;
mod hints;
pub mod message;
pub mod params;
pub mod places;
mod request;
#[cfg(all(test, feature = "server"))]
mod tests;

use sotto_core::SchemeEntry;
use sotto_hints::one_server::{self, OneServerScheme};

pub use family::FullSets;

/// The scheme.
pub type Piano = OneServerScheme<FullSets>;
/// Its parameters.
pub type Params = one_server::Params<FullSets>;
type Client = one_server::Client<FullSets>;

/// What the registry knows of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<Piano>();
