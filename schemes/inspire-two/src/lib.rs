//! InsPIRe^(2) (Google, 2025, eprint 2025/1352): short records for clients without registered keys.
//!
//! ```
//! use sotto_core::{Client as _, Params as _, TableShape};
//! use sotto_inspire_two::InspireTwo;
//! use sotto_silent::{MatrixScheme, Params};
//! use sotto_testkit::{rng::seeded, served::InProcessServer};
//!
//! // Parameters for 1000 rows of 32 bytes, and a server of a table of that shape.
//! let params = Params::<InspireTwo>::check(Params::<InspireTwo>::select(&TableShape::new(1000, 32, 1))?)?;
//! let server = InProcessServer::<MatrixScheme<InspireTwo>>::new(params);
//!
//! // A query tells the server nothing; its answer is read with the secret that stays here.
//! let mut client = server.client("client");
//! let (query, secret) = server.query(&mut client, 3, &mut seeded("query"));
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
//! | [`literal`] | parameters as a catalog states them, with sizes, costs and bounds, and their selection |
//! | [`client`] | the paper's Query and Extract |
//! | `server` | what a part has, and both layers of an answer (feature `server`) |
//! | `encode` | writing both layers, and writing them again where bytes changed (feature `server`) |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod client;
#[cfg(feature = "server")]
mod encode;
pub mod literal;
#[cfg(feature = "server")]
pub mod server;

use sotto_core::{Assumption, Caps, Hiding, SchemeEntry, SchemeId, SchemeMetadata};
use sotto_silent::masks::MaskDownload;
use sotto_silent::{MatrixScheme, Method};

#[cfg(feature = "server")]
type Params = sotto_silent::Params<InspireTwo>;

/// The method of InsPIRe^(2).
pub struct InspireTwo;

impl Method for InspireTwo {
    const ID: SchemeId = SchemeId("inspire-two/2");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "InsPIRe^(2) (2025), short records by two packed passes",
        paper: "https://eprint.iacr.org/2025/1352",
        hiding: &[Hiding::Encryption],
        assumptions: &[Assumption::RingLwe, Assumption::CircularSecurity],
        client_keeps: "masks of answers for each table and epoch, the same for every client",
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };
    const CAPS: Caps<MatrixScheme<Self>> = Caps::NONE.update_image().parts();
    type Literal = literal::ParamsLiteral;
    type Keys = ();
    type Prepare = MaskDownload;
    type Client = client::Client;
    #[cfg(feature = "server")]
    type Server = server::Server;
}

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<MatrixScheme<InspireTwo>>();
