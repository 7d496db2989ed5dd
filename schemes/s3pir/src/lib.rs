//! S3PIR (Ren, Mughees, Sun; "Simple and Practical Amortized Sublinear PIR using Dummy Subsets", CCS 2024), one server.
//!
//! A client streams the whole table once and keeps parities of pseudo-random sets of rows, its hints. To fetch a row it
//! takes a hint that contains it, leaves the row out, and sends the rest next to a dummy set of the same form; the server
//! adds up both, one row of each partition, and the difference to the hint is the row. The hint is then spent, and half
//! of a backup pair takes its place. README.md has the symbol table, the proofs and the deviations from the paper.
//!
//! State, journal and image are read and written with what [`sotto_hints`] has for that.
//!
//! | module | what lives there |
//! |---|---|
//! | [`params`] | the literal, its check, its report |
//! | [`select`] | choosing partitions, hints and pairs for a table |
//! | [`bound`] | how often a lookup fails |
//! | [`prf`] | hints as a function of a key and an id |
//! | `hints` | what a client keeps of them: standing, extra entries, parities |
//! | [`offline`] | the one pass over the table, from which all parities come |
//! | `choose` | a hint that contains a row |
//! | `request` | a request made of it |
//! | [`message`] | request and answer on the wire |
//! | [`prepare`] | becoming a client |
//! | [`client`] | query, recover |
//! | `journal` | what is written down before a request leaves |
//! | `state` | the whole state as bytes |
//! | `follow` | hints of the next epoch |
//! | `server` | encode, open, answer, revise (feature `server`) |
//! | [`two`] | the same with a second server, which makes the hints |
#![forbid(unsafe_code)]

pub mod bound;
mod choose;
pub mod client;
mod follow;
mod hints;
mod journal;
pub mod message;
pub mod offline;
pub mod params;
pub mod prepare;
pub mod prf;
mod request;
pub mod select;
#[cfg(feature = "server")]
pub mod server;
mod state;
#[cfg(all(test, feature = "server"))]
mod tests;
pub mod two;

use sotto_core::{Caps, One, Scheme, SchemeEntry, SchemeId};

pub use two::TWO;

/// The scheme.
pub struct S3pir;

impl Scheme for S3pir {
    const ID: SchemeId = SchemeId("s3pir/1");
    const TITLE: &'static str = "S3PIR (CCS 2024), one server";
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
pub static ENTRY: SchemeEntry = SchemeEntry::of::<S3pir>();
