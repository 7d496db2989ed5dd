//! Spiral (Menon, Wu; IEEE S&P 2022), with its variants: Stream (selectors are sent, not expanded), Pack (n² plain
//! ciphertexts are folded each on its own and packed at the end), StreamPack (both).
//!
//! ```
//! use sotto_core::{Client as _, Params as _, TableShape};
//! use sotto_cube::CubeScheme;
//! use sotto_spiral::Spiral;
//! use sotto_testkit::{rng::seeded, served::InProcessServer};
//!
//! // Parameters for 1000 rows of 32 bytes, and a server of a table of that shape.
//! type Params = sotto_cube::params::Params<Spiral>;
//! let params = Params::check(Params::select(&TableShape::new(1000, 32, 1))?)?;
//! let server = InProcessServer::<CubeScheme<Spiral>>::new(params);
//!
//! // A query tells the server nothing; its answer is read with the secret that stays here.
//! let mut client = server.client("client");
//! let (query, secret) = server.ask(&mut client, 3, &mut seeded("query"));
//! let answer = server.answer(&client, &query);
//! assert_eq!(client.recover(secret, answer)?.bytes(), server.row(3));
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! The machinery is that of [`sotto_cube`], which FSpiral shares. README.md has the symbol table,
//! the parameter sets, the deviations from the paper, and figures.
//!
//! | module | contents |
//! |---|---|
//! | [`sets`] | the parameter sets: the paper's, and ours |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod sets;

use sotto_core::{Assumption, Hiding, SchemeEntry, SchemeId, SchemeMetadata};
use sotto_cube::{CubeScheme, Family, Template};

/// The family of Spiral.
pub struct Spiral;

impl Family for Spiral {
    const ID: SchemeId = SchemeId("spiral/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "Spiral (S&P 2022) and its Stream, Pack and StreamPack variants",
        paper: "https://eprint.iacr.org/2022/368",
        hiding: &[Hiding::Encryption],
        assumptions: &[Assumption::RingLwe, Assumption::CircularSecurity],
        client_keeps: "its secret key",
        server_keeps: "keys of 1 to 3 MB, more for large answers",
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };

    fn templates() -> &'static [Template] {
        &sets::SETS
    }
}

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<CubeScheme<Spiral>>();
