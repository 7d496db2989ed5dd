//! BGV-PIR (Dong and Chen, "A Fast Single Server PIR Protocol with Low Communication Cost"): one ciphertext asks for a
//! block of any row of a table, and one comes back.
//!
//! ```
//! use bgvpir::{BgvPir, params::Params};
//! use sotto_core::{Client as _, Params as _, TableShape};
//! use sotto_testkit::{rng::seeded, served::InProcessServer};
//!
//! // Parameters for 1000 rows of 32 bytes, and a server of a table of that shape.
//! let params = Params::check(Params::select(&TableShape::new(1000, 32, 1))?)?;
//! let server = InProcessServer::<BgvPir>::new(params);
//!
//! // A query tells the server nothing; its answer is read with the secret that stays here.
//! let mut client = server.client("client");
//! let (query, secret) = server.ask(&mut client, 3, &mut seeded("query"));
//! let answer = server.answer(&client, &query);
//! assert_eq!(client.recover(secret, answer)?.bytes(), server.row(3));
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! README.md has the symbol table, the deviations from the paper, and figures.
//!
//! | module | what lives there |
//! |---|---|
//! | [`rings`] | the two rings a table may be in |
//! | [`literal`], [`params`] | what a catalog holds, and what was checked of it |
//! | [`tree`] | a row's number folded into short one-hot vectors, and unfolded |
//! | [`order`] | which products come first, rows or selectors |
//! | [`turns`] | the query turned to every place of what was folded |
//! | [`layout`] | where a record's bits lie: strided slots of a row |
//! | [`whiten`](mod@whiten) | the public mask on the data |
//! | [`sets`] | the parameter sets that can be named |
//! | `noise`, `cost`, `select`, `report` | how much noise, what it costs, which parameters, what a person reads of them |
//! | [`message`] | keys, queries, answers |
//! | [`client`] | make keys, ask, read |
//! | `server` | encode, open, admit, answer, revise (feature `server`) |
#![forbid(unsafe_code)]

pub mod client;
mod cost;
pub mod folding_tree;
pub mod layout;
pub mod literal;
pub mod message;
pub mod noise;
pub mod order;
pub mod params;
mod report;
pub mod rings;
pub mod rotations;
mod select;
#[cfg(feature = "server")]
pub mod server;
pub mod sets;
pub mod whitening;

use sotto_core::{Caps, OneServer, Scheme, SchemeEntry, SchemeId};

/// The scheme.
pub struct BgvPir;

impl Scheme for BgvPir {
    const ID: SchemeId = SchemeId("bgvpir/1");
    const TITLE: &'static str = "BGV-PIR (Dong and Chen), folded queries over packed slots, no hint";
    type Params = params::Params;
    type Fan<T> = OneServer<T>;
    type Keys = message::Keys;
    type Query = message::Query;
    type Answer = message::Answer;
    type Prepare = client::Prepare;
    type Client = client::Client;
    #[cfg(feature = "server")]
    type Server = server::Server;
    const CAPS: Caps<Self> = Caps::NONE.update_image().whitening().steps().parts();
}

/// What the registry knows of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<BgvPir>();
