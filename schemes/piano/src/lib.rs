//! Piano (Zhou, Park, Shi, Zheng; "Piano: Extremely Simple, Single-Server PIR with Sublinear Server Computation",
//! S&P 2024): a baseline, next to which S3PIR is measured.
//!
//! A client streams the whole table once and keeps parities of pseudo-random sets of rows, one of each partition: its
//! hints. To fetch a row it takes a hint that contains it, puts a row of its own in that one's place, and sends all
//! offsets; the server adds up what they name. The hint is then spent, and a backup of the row's partition takes its
//! place. Backups belong to partitions, so which sequences of queries work is limited: README.md says which, next to
//! the symbol table, the proofs and the deviations from the paper.
//!
//! State, journal and image are read and written with what [`sotto_hints`] has for that.
//!
//! | module | what lives there |
//! |---|---|
//! | [`params`] | the literal, its check, its report |
//! | [`select`] | choosing partitions, hints and backups for a table |
//! | [`bound`] | how often a lookup fails, and for whom that holds |
//! | [`places`] | the public order in which rows lie in partitions |
//! | [`prf`] | hints as a function of a key and an id |
//! | `hints` | what a client keeps of them: standing, parities, replacement entries |
//! | `seen` | rows that were asked for, so that none is asked for twice |
//! | [`pass`] | the one pass over the table, from which all parities come |
//! | `choose` | a hint that contains a row |
//! | `request` | a request made of it |
//! | [`message`] | request and answer on the wire |
//! | [`prepare`] | becoming a client |
//! | [`client`] | query, recover |
//! | `journal` | what is written down before a request leaves |
//! | `state` | the whole state as bytes |
//! | `follow` | hints of the next epoch |
//! | `server` | encode, open, answer, revise (feature `server`) |
#![forbid(unsafe_code)]

pub mod bound;
mod choose;
pub mod client;
mod follow;
mod hints;
mod journal;
pub mod message;
pub mod params;
pub mod pass;
pub mod places;
pub mod prepare;
pub mod prf;
mod request;
mod seen;
pub mod select;
#[cfg(feature = "server")]
pub mod server;
mod state;
#[cfg(all(test, feature = "server"))]
mod tests;

use sotto_core::{Caps, One, Scheme, SchemeEntry, SchemeId};

/// The scheme.
pub struct Piano;

impl Scheme for Piano {
    const ID: SchemeId = SchemeId("piano/1");
    const TITLE: &'static str = "Piano (S&P 2024), one server, a baseline";
    type Params = params::Params;
    type Fan<T> = One<T>;
    type Keys = ();
    type Query = message::Query;
    type Answer = message::Answer;
    type Prepare = prepare::Prepare;
    type Client = client::Client;
    #[cfg(feature = "server")]
    type Server = server::Server;
    const CAPS: Caps<Self> = Caps::NONE.revise().state();
}

/// What the registry knows of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<Piano>();
