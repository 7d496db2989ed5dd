//! S3PIR (Ren, Mughees, Sun; "Simple and Practical Amortized Sublinear PIR using Dummy Subsets", CCS 2024), one server.
//!
//! ```
//! use sotto_core::{RecordIndex, TableShape};
//! use sotto_s3pir::ENTRY;
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
//! A client streams the whole table once and keeps parities of pseudo-random sets of rows, its
//! hints. To fetch a row it takes a hint that contains it, leaves the row out, and sends the rest
//! next to a dummy set of the same form; the server adds up each, one row of each partition in
//! total, and the difference to the hint is the row. The hint is then spent, and half of a backup
//! pair takes its place. README.md has the symbol table, the proofs and the deviations from the
//! paper.
//!
//! Pass, client, state, updates and server are those of [`sotto_hints::one_server`], as Piano's
//! are.
//!
//! In the order of the paper:
//!
//! | module | contents |
//! |---|---|
//! | [`params`] | lambda, sqrt(n) and B: the literal, the failure bound, and choosing one for a table |
//! | [`prf`] | v_{j,k} and r_{j,k}: halves and offsets as a function of a key and an id |
//! | `hints` | hints (S_j, e_j), and pairs of halves that become hints |
//! | [`offline`] | v^_j, e_j, and the parities P_j from one pass over the table |
//! | [`query`] | a query: the real set and the dummy set, and its bytes |
//! | `online` | query, answer, recover, refresh; hints of the next epoch |
//! | [`two_server`] | the scheme with a second server, which makes the hints |
#![forbid(unsafe_code)]

mod hints;
pub mod offline;
mod online;
pub mod params;
pub mod prf;
pub mod query;
#[cfg(all(test, feature = "server"))]
mod tests;
pub mod two_server;

use sotto_core::SchemeEntry;
use sotto_hints::one_server::{self, OneServerScheme};

pub use two_server::TWO;

/// The family of sets with a row of each partition of a half.
#[derive(Debug, Clone, Copy)]
pub struct HalfSets;

/// The S3PIR scheme with one server.
pub type S3pir = OneServerScheme<HalfSets>;
/// Parameters of the S3PIR scheme with one server.
pub type Params = one_server::Params<HalfSets>;
type Client = one_server::Client<HalfSets>;

/// The registry entry of the scheme with one server.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<S3pir>();
