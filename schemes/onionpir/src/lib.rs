//! OnionPIR (Mughees, Chen, Ren; CCS 2021), in the structure of its second version (eprint 2025/1142): one packed BFV
//! ciphertext that expands to everything, a large first dimension, and a tree of choices by external products.
//!
//! ```
//! use sotto_core::{Client as _, Params as _, TableShape};
//! use sotto_cube::CubeScheme;
//! use sotto_onionpir::OnionPir;
//! use sotto_testkit::{rng::seeded, served::InProcessServer};
//!
//! // Parameters for 1000 rows of 32 bytes, and a server of a table of that shape.
//! type Params = sotto_cube::params::Params<OnionPir>;
//! let params = Params::check(Params::select(&TableShape::new(1000, 32, 1))?)?;
//! let server = InProcessServer::<CubeScheme<OnionPir>>::new(params);
//!
//! // A query tells the server nothing; its answer is read with the secret that stays here.
//! let mut client = server.client("client");
//! let (query, secret) = server.ask(&mut client, 3, &mut seeded("query"));
//! let answer = server.answer(&client, &query);
//! assert_eq!(client.recover(secret, answer)?.bytes(), server.row(3));
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! The machinery is that of [`sotto_cube`], which Spiral and FSpiral share. README.md has the
//! symbol table, the parameter sets, the deviations from the paper, the published sets that are
//! refused, and figures.
//!
//! | module | contents |
//! |---|---|
//! | [`sets`] | the parameter sets |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod sets;

use sotto_core::{Assumption, Hiding, SchemeEntry, SchemeId, SchemeMetadata};
use sotto_cube::{CubeScheme, Family, Template};

/// The family of OnionPIR.
pub struct OnionPir;

impl Family for OnionPir {
    const ID: SchemeId = SchemeId("onionpir/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "OnionPIR (CCS 2021) in the structure of its version 2 (2025)",
        paper: "https://eprint.iacr.org/2021/1081",
        hiding: &[Hiding::Encryption],
        assumptions: &[Assumption::RingLwe, Assumption::CircularSecurity],
        client_keeps: "its secret key",
        server_keeps: "keys of 0.7 to 1.9 MB, 2 to 5 MB in memory",
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };

    fn templates() -> &'static [Template] {
        &sets::SETS
    }
}

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<CubeScheme<OnionPir>>();
