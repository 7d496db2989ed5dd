//! KsPIR (Luo, Liu and Wang: *Faster FHE-Based Single-Server Private Information Retrieval*, CCS 2024), as a baseline.
//!
//! ```
//! use sotto_core::{Client as _, Params as _, TableShape};
//! use sotto_kspir::KsPir;
//! use sotto_silent::{MatrixScheme, Params};
//! use sotto_testkit::{rng::seeded, served::InProcessServer};
//!
//! // Parameters for 1000 rows of 32 bytes, and a server of a table of that shape.
//! let params = Params::<KsPir>::check(Params::<KsPir>::select(&TableShape::new(1000, 32, 1))?)?;
//! let server = InProcessServer::<MatrixScheme<KsPir>>::new(params);
//!
//! // A query tells the server nothing; its answer is read with the secret that stays here.
//! let mut client = server.client("client");
//! let (query, secret) = server.query(&mut client, 3, &mut seeded("query"));
//! let answer = server.answer(&client, &query);
//! assert_eq!(client.recover(secret, answer)?.bytes(), server.row(3));
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! A table is matrices of slots, and an encrypted unit vector is multiplied by all of them with
//! rotations, by baby steps and giant steps; an external product selects among the records that
//! share a column, and automorphisms pack the result. README.md has the symbol table, the
//! deviations from the paper, and figures.
//!
//! | module | contents |
//! |---|---|
//! | [`ring`] | the paper's moduli and gadgets, and slots |
//! | [`grid`] | the positions of records in matrices, and of matrices in the image |
//! | [`literal`] | parameters as a catalog states them, with sizes, costs and bounds, and their selection |
//! | [`keys`] | keys and queries: a seed for all masks, and bodies; admitted keys |
//! | [`client`] | make keys, query, recover |
//! | `encode` | tables into images, changes of them, and records out of them (feature `server`) |
//! | `server` | what a part has, and the steps of an answer (feature `server`) |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod client;
#[cfg(feature = "server")]
mod encode;
pub mod grid;
pub mod keys;
pub mod literal;
pub mod ring;
#[cfg(feature = "server")]
pub mod server;

use sotto_core::{Assumption, Caps, Hiding, SchemeEntry, SchemeId, SchemeMetadata};
use sotto_silent::{MatrixScheme, Method, message};

type Params = sotto_silent::Params<KsPir>;

/// The method of KsPIR.
pub struct KsPir;

impl Method for KsPir {
    const ID: SchemeId = SchemeId("kspir/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "KsPIR (CCS 2024), matrices times a vector by rotations",
        paper: "https://doi.org/10.1145/3658644.3690233",
        hiding: &[Hiding::Encryption],
        assumptions: &[Assumption::RingLwe, Assumption::CircularSecurity],
        client_keeps: "its secret key",
        server_keeps: "keys of 9 MB",
        is_baseline: true,
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };
    const CAPS: Caps<MatrixScheme<Self>> = Caps::NONE.update_image().parts();
    type Literal = literal::ParamsLiteral;
    type Keys = message::Keys;
    type Prepare = client::Secrets;
    type Client = client::Client;
    #[cfg(feature = "server")]
    type Server = server::Server;
}

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<MatrixScheme<KsPir>>();
