//! FSpiral (Luo, Wang; Cryptography 9(1), 2025): a query is expanded modulo Q = q q', where keys
//! are large and their noise is small; the result is switched to q, and the table is multiplied and
//! folded there.
//!
//! ```
//! use sotto_core::{Client as _, Params as _, TableShape};
//! use sotto_cube::CubeScheme;
//! use sotto_fspiral::FSpiral;
//! use sotto_testkit::{rng::seeded, served::InProcessServer};
//!
//! // Parameters for 1000 rows of 32 bytes, and a server of a table of that shape.
//! type Params = sotto_cube::params::Params<FSpiral>;
//! let params = Params::check(Params::select(&TableShape::new(1000, 32, 1))?)?;
//! let server = InProcessServer::<CubeScheme<FSpiral>>::new(params);
//!
//! // A query tells the server nothing; its answer is read with the secret that stays here.
//! let mut client = server.client("client");
//! let (query, secret) = server.ask(&mut client, 3, &mut seeded("query"));
//! let answer = server.answer(&client, &query);
//! assert_eq!(client.recover(secret, answer)?.bytes(), server.row(3));
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! The machinery is that of [`sotto_cube`], which Spiral shares. README.md has the symbol table,
//! the parameter sets, the deviations from the paper, and figures.
//!
//! | module | contents |
//! |---|---|
//! | [`sets`] | the parameter sets: the paper's, ours, the one with the smallest queries |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod sets;

use sotto_core::{Assumption, Hiding, SchemeEntry, SchemeId, SchemeMetadata};
use sotto_cube::{CubeScheme, Family, Template};

/// The family of FSpiral.
pub struct FSpiral;

impl Family for FSpiral {
    const ID: SchemeId = SchemeId("fspiral/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "FSpiral (Cryptography 2025), small queries and answers",
        paper: "https://doi.org/10.3390/cryptography9010013",
        hiding: &[Hiding::Encryption],
        assumptions: &[Assumption::RingLwe, Assumption::CircularSecurity],
        client_keeps: "its secret key",
        server_keeps: "keys of 1 to 3 MB, 2 to 7 MB in memory",
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };

    fn templates() -> &'static [Template] {
        &sets::SETS
    }
}

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<CubeScheme<FSpiral>>();
