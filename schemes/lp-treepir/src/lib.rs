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
//! | module | what lives there |
//! |---|---|
//! | [`params`] | the literal, its check, its report |
//! | [`bound`] | how often a lookup fails, and how many hints that takes |
//! | [`tree`] | a set as the leaves of a tree, and a tree without one of them |
//! | [`set`] | sets of a key and an id; a set that contains a row |
//! | [`message`] | order, supply, request and answer on the wire |
//! | `choose` | a hint that contains a row |
//! | [`prepare`] | becoming a client |
//! | [`client`] | query, recover |
//! | `upkeep` | ordering hints |
//! | `journal` | what is written down before a request leaves |
//! | `state` | the whole state as bytes |
//! | `follow` | hints of the next epoch |
//! | `guesses` | a parity for each partition that may be the wanted one (feature `server`) |
//! | `server` | encode, open, answer, and hints to order (feature `server`) |
//! | `revise` | changed rows (feature `server`) |
#![forbid(unsafe_code)]

pub mod bound;
mod choose;
pub mod client;
mod follow;
#[cfg(feature = "server")]
mod guesses;
mod journal;
pub mod message;
pub mod params;
pub mod prepare;
#[cfg(feature = "server")]
mod revise;
#[cfg(feature = "server")]
pub mod server;
pub mod set;
mod state;
#[cfg(test)]
mod tests;
pub mod tree;
mod upkeep;

use sotto_core::{Caps, Scheme, SchemeEntry, SchemeId, Two};

/// The scheme.
pub struct TreePir;

impl Scheme for TreePir {
    const ID: SchemeId = SchemeId("lp-treepir/1");
    const TITLE: &'static str = "TreePIR of Lazzaretti and Papamanthou (CRYPTO 2023), two servers";
    type Params = params::Params;
    type Fan<T> = Two<T>;
    type Keys = ();
    type Query = message::Query;
    type Answer = message::Answer;
    type Prepare = prepare::Prepare;
    type Client = client::Client;
    #[cfg(feature = "server")]
    type Server = server::Server;
    const CAPS: Caps<Self> = Caps::NONE.revise().upkeep();
}

/// What the registry knows of this scheme.
pub const ENTRY: SchemeEntry = SchemeEntry::of::<TreePir>();
