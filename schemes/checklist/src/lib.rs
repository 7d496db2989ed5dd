//! Checklist (Kogan, Corrigan-Gibbs; "Private Blocklist Lookups with Checklist", USENIX Security 2021), two servers.
//!
//! A client has parities of pseudo-random sets of rows, its hints, which the second server made for it. To fetch a row it
//! takes a hint whose set contains it, and sends that set to the first server with the row punctured out: a short key,
//! from which all other members can be computed. The answer and the hint differ by the row. The spent hint is replaced by a
//! fresh set that contains the row too, whose parity the second server is asked for in the same way. README.md has the
//! symbol table, the proof and the deviations from the paper.
//!
//! | module | what lives there |
//! |---|---|
//! | [`params`] | the literal, its check, its report |
//! | [`bound`] | how often a lookup fails, and how many hints that takes |
//! | [`tree`] | a set as the leaves of a binary tree |
//! | [`set`] | sets without repetition, of a key and an id; a set punctured |
//! | [`message`] | order, supply, request and answer on the wire |
//! | `choose` | a hint that contains a row |
//! | `request` | the three forms of a pair of requests |
//! | [`prepare`] | becoming a client |
//! | [`client`] | query, recover |
//! | `upkeep` | ordering hints |
//! | `journal` | what is written down before a request leaves |
//! | `state` | the whole state as bytes |
//! | `follow` | hints of the next epoch |
//! | `server` | encode, open, answer, and hints to order (feature `server`) |
//! | `revise` | changed rows (feature `server`) |
#![forbid(unsafe_code)]

pub mod bound;
mod choose;
pub mod client;
mod follow;
mod journal;
pub mod message;
pub mod params;
pub mod prepare;
mod request;
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
pub struct Checklist;

impl Scheme for Checklist {
    const ID: SchemeId = SchemeId("checklist/1");
    const TITLE: &'static str = "Checklist (USENIX Security 2021), two servers";
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
pub const ENTRY: SchemeEntry = SchemeEntry::of::<Checklist>();
