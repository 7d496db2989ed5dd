//! Checklist (Kogan, Corrigan-Gibbs; "Private Blocklist Lookups with Checklist", USENIX Security 2021), two servers.
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
//! | [`message`] | a query on the wire |
//! | `select_hint` | choosing a hint that contains a row |
//! | `request` | the three forms of a pair of queries |
//! | `family` | the scheme built from them |
#![forbid(unsafe_code)]

mod family;
pub mod message;
mod request;
mod select_hint;
pub mod set;
#[cfg(test)]
mod tests;

use sotto_core::SchemeEntry;
use sotto_hints::two_server::TwoServerScheme;

pub use family::PuncturedSets;

/// The Checklist scheme.
pub type Checklist = TwoServerScheme<PuncturedSets>;
/// Parameters of the Checklist scheme.
pub type Params = sotto_hints::two_server::Params<PuncturedSets>;

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<Checklist>();
