//! YPIR+SP (Menon and Wu, USENIX Security 2024), with the products packed by InspiRING (InsPIRe, eprint 2025/1352).
//!
//! ```
//! use sotto_core::{Client as _, Params as _, TableShape};
//! use sotto_silent::{MatrixScheme, Params};
//! use sotto_testkit::{rng::seeded, served::InProcessServer};
//! use sotto_ypir_sp::YpirSp;
//!
//! // Parameters for 1000 rows of 32 bytes, and a server of a table of that shape.
//! let params = Params::<YpirSp>::check(Params::<YpirSp>::select(&TableShape::new(1000, 32, 1))?)?;
//! let server = InProcessServer::<MatrixScheme<YpirSp>>::new(params);
//!
//! // A query tells the server nothing; its answer is read with the secret that stays here.
//! let mut client = server.client("client");
//! let (query, secret) = server.query(&mut client, 3, &mut seeded("query"));
//! let answer = server.answer(&client, &query);
//! assert_eq!(client.recover(secret, answer)?.bytes(), server.row(3));
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! The table is a matrix D of signed bytes, `l` rows by `m` columns; a record is one column. A new
//! client sends an encrypted unit vector and the keys that pack the products. The masks of answers,
//! which no query changes, it fetches once an epoch. Of a table of several buckets a query has a
//! vector for each, under one secret and with one set of keys. README.md has the symbol table, the deviations
//! from the papers, and the heuristics.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod client;
pub mod literal;
#[cfg(feature = "server")]
pub mod server;

use sotto_core::{AbortLeakage, Assumption, Caps, Hiding, SchemeEntry, SchemeId, SchemeMetadata};
use sotto_silent::masks::MaskDownload;
use sotto_silent::{MatrixScheme, Method};

/// The method of YPIR+SP.
pub struct YpirSp;

impl Method for YpirSp {
    const ID: SchemeId = SchemeId("ypir-sp/2");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "YPIR+SP (USENIX Security 2024), packed by InspiRING",
        paper: "https://eprint.iacr.org/2024/270",
        hiding: &[Hiding::Encryption],
        assumptions: &[Assumption::RingLwe, Assumption::CircularSecurity],
        client_keeps: "masks of answers for each table and epoch, the same for every client",
        abort_leakage: AbortLeakage::QueryErrors,
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };
    const CAPS: Caps<MatrixScheme<Self>> = Caps::NONE.update_image().sum().batch().parts();
    type Literal = literal::ParamsLiteral;
    type Keys = ();
    type Prepare = MaskDownload;
    type Client = client::Client;
    #[cfg(feature = "server")]
    type Server = server::Server;
}

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<MatrixScheme<YpirSp>>();
