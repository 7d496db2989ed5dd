//! Piano (Zhou, Park, Shi, Zheng; "Piano: Extremely Simple, Single-Server PIR with Sublinear Server Computation",
//! S&P 2024): a baseline, next to which S3PIR is measured.
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
