//! TreePIR (Lazzaretti, Papamanthou; "TreePIR: Sublinear-Time and Polylog-Bandwidth Private Information Retrieval from DDH",
//! CRYPTO 2023), two servers, its first phase.
//!
//! A table is cut into about sqrt(N) partitions, and a hint is the parity of a pseudo-random set with one row of each. To fetch a
//! row, a client takes a hint whose set contains it and sends that set to the first server without the row's partition: the
//! seeds beside the path to a leaf of a tree, which do not say which leaf. So the server makes a parity for each partition
//! that the client may mean, and the client keeps its own. The spent hint is replaced by a fresh set that contains the row
//! too, whose parity the second server is asked for in the same way. README.md has the symbol table, the proof and the
//! deviations from the paper.
//!
//! Client, state, upkeep and servers are [`sotto_hints::slots`]', as Checklist's are.
//!
//! | module | what lives there |
//! |---|---|
//! | [`place`] | where rows lie in partitions; paths of trees to one of them |
//! | [`message`] | a request on the wire |
//! | `choose` | a hint that contains a row |
//! | `guesses` | a parity for each partition that may be the wanted one (feature `server`) |
//! | `family` | what makes the scheme of them |
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

pub use family::PrivatelyPuncturedSets;

/// The scheme.
pub type TreePir = TwoServerScheme<PrivatelyPuncturedSets>;
/// Its parameters.
pub type Params = sotto_hints::two_server::Params<PrivatelyPuncturedSets>;

/// What the registry knows of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<TreePir>();
