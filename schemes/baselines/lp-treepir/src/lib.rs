//! TreePIR (Lazzaretti, Papamanthou; "TreePIR: Sublinear-Time and Polylog-Bandwidth Private Information Retrieval from DDH",
//! CRYPTO 2023), two servers, its first phase.
//!
//! ```
//! use sotto_core::{RecordIndex, TableShape};
//! use sotto_lp_treepir::ENTRY;
//! use sotto_testkit::memory::{MemoryRows, MemorySink};
//! use sotto_testkit::rng::seeded;
//! use std::sync::Arc;
//!
//! // A table of 1000 rows of 8 bytes, which both servers have.
//! let params = (ENTRY.select)(&TableShape::new(1000, 8, 100))?;
//! let rows = MemoryRows::new(8, (0..1000u64).flat_map(u64::to_le_bytes).collect());
//! let sink = MemorySink::new();
//! (ENTRY.server.encode)(&params, &rows, &sink)?;
//! let server = (ENTRY.server.open)(&params, Arc::new(sink.into_image()))?;
//!
//! // The second server makes the client's hints.
//! let rng = &mut seeded("client");
//! let mut client = (ENTRY.prepare)(&params, rng)?.finish()?;
//! let hints = server.hint_server().ok_or("makes no hints")?;
//! while let Some(request) = client.hint_client().ok_or("needs no hints")?.next_hint_request()? {
//!     let response = hints.answer_hint_request(&request)?;
//!     client.hint_client().ok_or("needs no hints")?.apply_hint_response(&response)?;
//! }
//!
//! // Each lookup spends one, and replaces it.
//! let session = server.admit(&client.keys())?;
//! let (queries, secret) = client.query(RecordIndex(42), rng)?;
//! let asked: Vec<_> = queries.iter().map(|query| (&session, query.as_slice())).collect();
//! let answers = server.answer_many(&asked).into_iter().collect::<Result<Vec<_>, _>>()?;
//! assert_eq!(client.recover(secret, &answers)?.bytes(), 42u64.to_le_bytes());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A table is divided into about sqrt(N) partitions, and a hint is the parity of a pseudo-random
//! set with one row of each. To fetch a row, a client takes a hint whose set contains it and sends
//! that set to the first server without the row's partition: the seeds beside the path to a leaf of
//! a tree, which do not reveal which leaf. So the server makes a parity for each partition that the
//! client may mean, and the client uses its own. The spent hint is replaced by a fresh set that
//! contains the row too, whose parity comes from the second server in the same way. README.md has
//! the symbol table, the proof and the deviations from the paper.
//!
//! Client, state, hint requests and servers are those of [`sotto_hints::two_server`], as
//! Checklist's are.
//!
//! | module | contents |
//! |---|---|
//! | [`partition_offset`] | the places of rows in partitions; paths of trees to one of them |
//! | [`message`] | a query on the wire |
//! | `select_hint` | choosing a hint that contains a row |
//! | `guesses` | a parity for each partition that may be the requested one (feature `server`) |
//! | `family` | the scheme built from them |
#![forbid(unsafe_code)]

mod family;
#[cfg(feature = "server")]
mod guesses;
pub mod message;
pub mod partition_offset;
mod select_hint;
#[cfg(test)]
mod tests;

use sotto_core::SchemeEntry;
use sotto_hints::two_server::TwoServerScheme;

/// The family of sets that do not reveal the partition of their missing row.
#[derive(Debug, Clone, Copy)]
pub struct PrivatelyPuncturedSets;

/// The TreePIR scheme.
pub type TreePir = TwoServerScheme<PrivatelyPuncturedSets>;
/// Parameters of the TreePIR scheme.
pub type Params = sotto_hints::two_server::Params<PrivatelyPuncturedSets>;

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<TreePir>();
