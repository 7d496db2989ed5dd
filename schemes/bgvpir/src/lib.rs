//! BGV-PIR (Dong and Chen, "A Fast Single Server PIR Protocol with Low Communication Cost"): one
//! ciphertext selects a block of any row of a table, and one ciphertext returns it.
//!
//! ```
//! use sotto_bgvpir::{BgvPir, params::Params};
//! use sotto_core::{Client as _, Params as _, TableShape};
//! use sotto_testkit::{rng::seeded, served::InProcessServer};
//!
//! // Parameters for 1000 rows of 32 bytes, and a server of a table of that shape.
//! let params = Params::check(Params::select(&TableShape::new(1000, 32, 1))?)?;
//! let server = InProcessServer::<BgvPir>::new(params);
//!
//! // A query tells the server nothing; its answer is read with the secret that stays here.
//! let mut client = server.client("client");
//! let (query, secret) = server.query(&mut client, 3, &mut seeded("query"));
//! let answer = server.answer(&client, &query);
//! assert_eq!(client.recover(secret, answer)?.bytes(), server.row(3));
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! README.md has the symbol table, the deviations from the paper, and figures.
//!
//! | module | contents |
//! |---|---|
//! | [`rings`] | the two rings that a table may be in |
//! | [`literal`] | parameters as a catalog states them |
//! | [`params`] | checked parameters, and their report |
//! | [`folding_tree`] | a row's number folded into short one-hot vectors, and unfolded |
//! | [`layout`] | the positions of a record's bits: strided slots of a row |
//! | [`whitening`](mod@whitening) | the public mask on the data |
//! | `noise`, `cost`, `select` | noise bounds, costs, choice of parameters |
//! | [`message`] | keys, queries, answers |
//! | [`client`] | make keys, query, recover |
//! | `server` | encode, open, admit, answer, update (feature `server`) |
#![forbid(unsafe_code)]

pub mod client;
mod cost;
pub mod folding_tree;
pub mod layout;
pub mod literal;
pub mod message;
pub mod noise;
pub mod params;
pub mod rings;
mod select;
#[cfg(feature = "server")]
pub mod server;
pub mod whitening;

use sotto_core::{Assumption, Caps, Hiding, OneServer, Scheme, SchemeEntry, SchemeId, SchemeMetadata};

/// The BGV-PIR scheme.
pub struct BgvPir;

impl Scheme for BgvPir {
    const ID: SchemeId = SchemeId("bgvpir/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "BGV-PIR (ESORICS 2014), folded queries over packed slots",
        paper: "https://doi.org/10.1007/978-3-319-11203-9_22",
        hiding: &[Hiding::Encryption],
        assumptions: &[Assumption::RingLwe, Assumption::CircularSecurity],
        client_keeps: "its secret key",
        server_keeps: "keys of 0.3 to 1.2 MB, 0.8 to 3.1 MB in memory",
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };
    type Params = params::Params;
    type Fan<T> = OneServer<T>;
    type Keys = message::Keys;
    type Query = message::Query;
    type Answer = message::Answer;
    type Prepare = client::Prepare;
    type Client = client::Client;
    #[cfg(feature = "server")]
    type Server = server::Server;
    const CAPS: Caps<Self> = Caps::NONE.update_image().whitening().parts();
}

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<BgvPir>();
