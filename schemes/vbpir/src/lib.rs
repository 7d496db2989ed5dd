//! VBPIR (Mughees and Ren, "Vectorized Batch Private Information Retrieval", S&P 2023): a query has
//! one-hot vectors of many buckets in the slots of a ciphertext, which is rotated to all entries of
//! the first dimension and multiplied by the second.
//!
//! ```
//! use sotto_bfv::Bfv;
//! use sotto_core::{Client as _, Params as _, TableShape};
//! use sotto_testkit::{rng::seeded, served::InProcessServer};
//! use sotto_vbpir::Vbpir;
//!
//! // Parameters for 1000 rows of 32 bytes, and a server of a table of that shape.
//! type Params = sotto_bfv::Params<Vbpir>;
//! let params = Params::check(Params::select(&TableShape::new(1000, 32, 1))?)?;
//! let server = InProcessServer::<Bfv<Vbpir>>::new(params);
//!
//! // A query tells the server nothing; its answer is read with the secret that stays here.
//! let mut client = server.client("client");
//! let (query, secret) = server.query(&mut client, 3, &mut seeded("query"));
//! let answer = server.answer(&client, &query);
//! assert_eq!(client.recover(secret, answer)?.bytes(), server.row(3));
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! The machinery is that of [`sotto_bfv`], which SealPIR, FastPIR and PIRANA share. README.md has
//! the symbol table, the deviations from the paper, and figures.
//!
//! | module | contents |
//! |---|---|
//! | [`method`] | the query, the noise, and the answer |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod method;

use sotto_bfv::{Bfv, Family, ParamsSet, rings};
use sotto_core::{Assumption, Hiding, SchemeEntry, SchemeId, SchemeMetadata};

/// The family of VBPIR.
pub struct Vbpir;

impl Family for Vbpir {
    const ID: SchemeId = SchemeId("vbpir/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "VBPIR (S&P 2023), rotated selectors in slots, for batches",
        paper: "https://eprint.iacr.org/2022/1262",
        hiding: &[Hiding::Encryption],
        assumptions: &[Assumption::RingLwe, Assumption::CircularSecurity],
        client_keeps: "its secret key",
        server_keeps: "keys of 614 or 922 KB",
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };
    type Method = method::RotatedSelectors;

    fn sets() -> &'static [ParamsSet] {
        &SETS
    }
}

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<Bfv<Vbpir>>();

/// Every set, the default first.
pub static SETS: [ParamsSet; 1] = [ParamsSet {
    name: "default",
    about: "n = 8192, t = 65537, two primes of 50 bits: the paper's degree at 128 bits of security",
    ring: rings::SLOTS,
    tried: true,
}];
