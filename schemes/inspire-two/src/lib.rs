//! InsPIRe^(2) (Google, 2025, eprint 2025/1352): short records for clients without registered keys.
//!
//! ```
//! use sotto_core::{Client as _, Params as _, TableShape};
//! use sotto_inspire_two::{InspireTwo, params::Params};
//! use sotto_testkit::{rng::seeded, served::InProcessServer};
//!
//! // Parameters for 1000 rows of 32 bytes, and a server of a table of that shape.
//! let params = Params::check(Params::select(&TableShape::new(1000, 32, 1))?)?;
//! let server = InProcessServer::<InspireTwo>::new(params);
//!
//! // A query tells the server nothing; its answer is read with the secret that stays here.
//! let mut client = server.client("client");
//! let (query, secret) = server.ask(&mut client, 3, &mut seeded("query"));
//! let answer = server.answer(&client, &query);
//! assert_eq!(client.recover(secret, answer)?.bytes(), server.row(3));
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! Records are in a grid of columns and blocks. A first encrypted unit vector selects a column, and
//! its products are packed into a small ciphertext for each block; a second one selects the block's
//! ciphertext, whose packed copy is the answer. README.md has the symbol table, the deviations from
//! the paper, and the heuristics.
//!
//! | module | contents |
//! |---|---|
//! | [`literal`] | parameters as a catalog states them, with sizes and costs |
//! | [`params`] | checked parameters, and their report |
//! | [`select`] | choosing a grid and word sizes for a table |
//! | [`message`] | query and answer, and their bits on the wire |
//! | [`client`] | query, recover |
//! | `server` | open, answer: the first layer (feature `server`) |
//! | `second_layer` | the second layer of an answer (feature `server`) |
//! | `part_contents`, `part` | tables in parts (feature `server`) |
//! | `encode` | writing both layers, and writing them again where bytes changed (feature `server`) |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod client;
#[cfg(feature = "server")]
pub mod encode;
pub mod literal;
pub mod message;
pub mod params;
#[cfg(feature = "server")]
mod part;
#[cfg(feature = "server")]
mod part_contents;
#[cfg(feature = "server")]
mod second_layer;
pub mod select;
#[cfg(feature = "server")]
pub mod server;

use sotto_core::{Assumption, Caps, Hiding, OneServer, Scheme, SchemeEntry, SchemeId, SchemeMetadata};

/// The InsPIRe^(2) scheme.
pub struct InspireTwo;

impl Scheme for InspireTwo {
    const ID: SchemeId = SchemeId("inspire-two/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "InsPIRe^(2) (2025), short records by two packed passes",
        paper: "https://eprint.iacr.org/2025/1352",
        hiding: &[Hiding::Encryption],
        assumptions: &[Assumption::RingLwe, Assumption::CircularSecurity],
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };
    type Params = params::Params;
    type Fan<T> = OneServer<T>;
    type Keys = ();
    type Query = message::Query;
    type Answer = message::Answer;
    type Prepare = client::Prepare;
    type Client = client::Client;
    #[cfg(feature = "server")]
    type Server = server::Server;
    const CAPS: Caps<Self> = Caps::NONE.update_image().parts();
}

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<InspireTwo>();
