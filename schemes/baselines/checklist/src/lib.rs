//! Checklist (Kogan, Corrigan-Gibbs; "Private Blocklist Lookups with Checklist", USENIX Security 2021), two servers.
//!
//! ```
//! use sotto_checklist::ENTRY;
//! use sotto_core::{RecordIndex, TableShape};
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
//! A client has parities of pseudo-random sets of rows, its hints, which the second server made for
//! it. To fetch a row it takes a hint whose set contains it, and sends that set to the first server
//! with the row punctured out: a short key, from which all other members can be computed. The
//! answer and the hint differ by the row. The spent hint is replaced by a fresh set that contains
//! the row too, whose parity comes from the second server in the same way. README.md has the symbol
//! table, the proof and the deviations from the paper.
//!
//! Client, state, hint requests and servers are those of [`sotto_hints::two_server`], as TreePIR's
//! are.
//!
//! | module | contents |
//! |---|---|
//! | [`set`] | sets without repetition, derived from a key and an id; punctured sets |
//! | `select_hint` | choosing a hint that contains a row |
//! | [`query`] | the three forms of a pair of queries, and their bytes |
//! | `family` | the scheme built from them |
#![forbid(unsafe_code)]

mod family;
pub mod query;
mod select_hint;
pub mod set;
#[cfg(test)]
mod tests;

use sotto_core::SchemeEntry;
use sotto_hints::two_server::TwoServerScheme;

/// The family of sets with one member punctured out.
#[derive(Debug, Clone, Copy)]
pub struct PuncturedSets;

/// The Checklist scheme.
pub type Checklist = TwoServerScheme<PuncturedSets>;
/// Parameters of the Checklist scheme.
pub type Params = sotto_hints::two_server::Params<PuncturedSets>;

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<Checklist>();
