//! SealPIR and MulPIR: one ciphertext is expanded to the selectors of two dimensions.
//!
//! ```
//! use sotto_bfv::Bfv;
//! use sotto_core::{Client as _, Params as _, TableShape};
//! use sotto_sealpir::SealPir;
//! use sotto_testkit::{rng::seeded, served::InProcessServer};
//!
//! // Parameters for 1000 rows of 32 bytes, and a server of a table of that shape.
//! type Params = sotto_bfv::Params<SealPir>;
//! let params = Params::check(Params::select(&TableShape::new(1000, 32, 1))?)?;
//! let server = InProcessServer::<Bfv<SealPir>>::new(params);
//!
//! // A query tells the server nothing; its answer is read with the secret that stays here.
//! let mut client = server.client("client");
//! let (query, secret) = server.query(&mut client, 3, &mut seeded("query"));
//! let answer = server.answer(&client, &query);
//! assert_eq!(client.recover(secret, answer)?.bytes(), server.row(3));
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! Angel, Chen, Laine, Setty, "PIR with compressed queries and amortized query processing", S&P
//! 2018; Ali et al., "Communication-Computation Trade-offs in PIR", USENIX Security 2021.
//!
//! The machinery is that of [`sotto_bfv`], which FastPIR, VBPIR and PIRANA share. README.md has the
//! symbol table, the deviations from the papers, and figures.
//!
//! | module | contents |
//! |---|---|
//! | [`method`] | the query, the noise, and both kinds of answers |
//! | [`digits`] | converting a ciphertext to plaintexts and back: SealPIR's second dimension |
//! | `second_dimension` | the second dimension, of some columns and of all (feature `server`) |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod digits;
pub mod method;
#[cfg(feature = "server")]
mod second_dimension;

use sotto_bfv::{Bfv, Family, ParamsSet, rings};
use sotto_core::{Assumption, Hiding, SchemeEntry, SchemeId, SchemeMetadata};

/// The family of SealPIR and MulPIR.
pub struct SealPir;

impl Family for SealPir {
    const ID: SchemeId = SchemeId("sealpir/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "SealPIR (S&P 2018) and MulPIR, one expanded ciphertext",
        paper: "https://eprint.iacr.org/2017/1142",
        hiding: &[Hiding::Encryption],
        assumptions: &[Assumption::RingLwe, Assumption::CircularSecurity],
        client_keeps: "its secret key",
        server_keeps: "keys of 0.2 to 1.4 MB",
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };
    type Method = method::ExpandedSelectors;

    fn sets() -> &'static [ParamsSet] {
        &SETS
    }
}

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<Bfv<SealPir>>();

/// Every set, the default first.
pub static SETS: [ParamsSet; 3] = [
    ParamsSet {
        name: "seal",
        about: "n = 4096, t = 2^14, q of 50 bits: sums are taken to digits, and the digits are selected",
        ring: rings::COEFFICIENTS,
        tried: true,
    },
    ParamsSet {
        name: "seal-12",
        about: "the same with t = 2^12: for batches of many buckets",
        ring: rings::COEFFICIENTS_SMALL,
        tried: true,
    },
    ParamsSet {
        name: "mul",
        about: "n = 4096, t = 2^10, q of 70 bits: sums are multiplied by the second selectors (MulPIR); the smallest answers",
        ring: rings::COEFFICIENTS_PRODUCT,
        tried: true,
    },
];
