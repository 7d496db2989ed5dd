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
//! let (query, secret) = server.query(&mut client, 3, &mut seeded("query"));
//! let answer = server.answer(&client, &query);
//! assert_eq!(client.recover(secret, answer)?.bytes(), server.row(3));
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! The machinery is that of [`sotto_cube`], which Spiral and FSpiral share. README.md has the
//! symbol table, the parameter sets, the deviations from the paper, the published sets that are
//! refused, and figures.
//!
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use sotto_core::{Assumption, Hiding, SchemeEntry, SchemeId, SchemeMetadata};
use sotto_cube::literal::{GadgetTriple, TableForm, Upload, WhenTried};
use sotto_cube::{CubeScheme, Family, Template, rings};

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
        &SETS
    }
}

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<CubeScheme<OnionPir>>();

/// A set of OnionPIR's shape: N = 2048 and one prime without a switch of moduli; one gadget, `key`,
/// for all keys of expansion, and one for the external products of the tree.
///
/// 41 bits of a query's word are sent. The truncation error stays far below the noise of the first
/// key switch, and every later round doubles both.
const fn onion(name: &'static str, about: &'static str, p_log2: u8, key: GadgetTriple) -> Template {
    Template {
        name,
        about,
        tried: WhenTried::Always,
        ring: rings::SMALL,
        upload: Upload::Expanded,
        form: TableForm::Plain,
        n: 1,
        p_log2,
        nu2: 0..=13,
        expand: key,
        expand_right: key,
        convert: [4, 10, 10],
        fold: [3, 8, 26],
        pack: [0, 0, 0],
        sent_bits: [41, 48, 50],
    }
}

/// Every set, the default first.
pub static SETS: [Template; 2] = [
    onion("default", "N = 2048, q of 50 bits, p = 2^11: one polynomial holds 2,816 B", 11, [15, 3, 5]),
    onion("few-keys", "the same with p = 2^9, 2,304 B, and under half the keys", 9, [6, 7, 8]),
];
