//! FastPIR: a query is a one-hot vector in slots, in as many ciphertexts as that takes.
//!
//! ```
//! use sotto_bfv::Bfv;
//! use sotto_core::{Client as _, Params as _, TableShape};
//! use sotto_fastpir::FastPir;
//! use sotto_testkit::{rng::seeded, served::InProcessServer};
//!
//! // Parameters for 1000 rows of 32 bytes, and a server of a table of that shape.
//! type Params = sotto_bfv::Params<FastPir>;
//! let params = Params::check(Params::select(&TableShape::new(1000, 32, 1))?)?;
//! let server = InProcessServer::<Bfv<FastPir>>::new(params);
//!
//! // A query tells the server nothing; its answer is read with the secret that stays here.
//! let mut client = server.client("client");
//! let (query, secret) = server.query(&mut client, 3, &mut seeded("query"));
//! let answer = server.answer(&client, &query);
//! assert_eq!(client.recover(secret, answer)?.bytes(), server.row(3));
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! The sums of the table's columns are rotated into one answer (Ahmad, Yang, Agrawal, El Abbadi,
//! Gupta, "Addra: Metadata-private voice communication over fully untrusted infrastructure", OSDI
//! 2021).
//!
//! The machinery is that of [`sotto_bfv`], which SealPIR, VBPIR and PIRANA share. README.md has the
//! symbol table, the deviations from the paper, and figures.
//!
//! | module | contents |
//! |---|---|
//! | [`method`] | the query, the noise, and the answer |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod method;

use sotto_bfv::{Bfv, Family, ParamsSet, rings};
use sotto_core::{Assumption, Hiding, SchemeEntry, SchemeId, SchemeMetadata};

/// The family of FastPIR.
pub struct FastPir;

impl Family for FastPir {
    const ID: SchemeId = SchemeId("fastpir/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "FastPIR of Addra (OSDI 2021), a one-hot vector in slots",
        paper: "https://eprint.iacr.org/2021/044",
        hiding: &[Hiding::Encryption],
        assumptions: &[Assumption::RingLwe, Assumption::CircularSecurity],
        client_keeps: "its secret key",
        server_keeps: "a key of 51 KB",
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };
    type Method = method::OneHot;

    fn sets() -> &'static [ParamsSet] {
        &SETS
    }
}

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<Bfv<FastPir>>();

/// Every set, the default first.
pub static SETS: [ParamsSet; 1] = [ParamsSet {
    name: "default",
    about: "n = 4096, t = 65537, q of 50 bits: the paper's ring at 128 bits of security",
    ring: rings::SLOTS_SMALL,
    tried: true,
}];
