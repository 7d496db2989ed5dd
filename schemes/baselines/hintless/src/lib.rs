//! HintlessPIR (Li, Micciancio, Raykova and Schultz-Wu, CRYPTO 2024), a baseline at its paper's parameters.
//!
//! ```
//! use sotto_core::{Client as _, Params as _, TableShape};
//! use sotto_hintless::Hintless;
//! use sotto_silent::{MatrixScheme, Params};
//! use sotto_testkit::{rng::seeded, served::InProcessServer};
//!
//! // Parameters for 1000 rows of 32 bytes, and a server of a table of that shape.
//! let params = Params::<Hintless>::check(Params::<Hintless>::select(&TableShape::new(1000, 32, 1))?)?;
//! let server = InProcessServer::<MatrixScheme<Hintless>>::new(params);
//!
//! // A query tells the server nothing; its answer is read with the secret that stays here.
//! let mut client = server.client("client");
//! let (query, secret) = server.query(&mut client, 3, &mut seeded("query"));
//! let answer = server.answer(&client, &query);
//! assert_eq!(client.recover(secret, answer)?.bytes(), server.row(3));
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! SimplePIR's answer needs the product of a hint H and the query's secret s subtracted. Here the
//! server computes `H s` itself, on ring-LWE encryptions of s that travel in the query: LinPIR.
//! Everything that depends on public numbers and the table alone is in the image. README.md has the
//! symbol table, the deviations from the paper, and the heuristics.
//!
//! | module | contents |
//! |---|---|
//! | [`literal`] | parameters as a catalog states them, with sizes, costs and bounds, and their selection |
//! | [`linpir`] | `H s` under encryption |
//! | [`client`] | the paper's Query and Recover |
//! | `server` | the matrix and LinPIR's data, and the passes of an answer (feature `server`) |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod client;
pub mod linpir;
pub mod literal;
#[cfg(feature = "server")]
pub mod server;

use sotto_core::{Assumption, Caps, Hiding, SchemeEntry, SchemeId, SchemeMetadata};
use sotto_silent::{MatrixScheme, Method};

/// The method of HintlessPIR.
pub struct Hintless;

impl Method for Hintless {
    const ID: SchemeId = SchemeId("hintless/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "HintlessPIR (CRYPTO 2024)",
        paper: "https://eprint.iacr.org/2023/1733",
        hiding: &[Hiding::Encryption],
        assumptions: &[Assumption::Lwe, Assumption::RingLwe, Assumption::CircularSecurity],
        is_baseline: true,
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };
    const CAPS: Caps<MatrixScheme<Self>> = Caps::NONE.update_image().parts();
    type Literal = literal::ParamsLiteral;
    type Keys = ();
    type Prepare = ();
    type Client = client::Client;
    #[cfg(feature = "server")]
    type Server = server::Server;
}

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<MatrixScheme<Hintless>>();
