//! DoublePIR (Henzinger, Hong, Corrigan-Gibbs, Meiklejohn, Vaikuntanathan; USENIX Security 2023, section 5).
//!
//! ```
//! use sotto_core::{Client as _, Params as _, TableShape};
//! use sotto_doublepir::DoublePir;
//! use sotto_silent::{MatrixScheme, Params};
//! use sotto_testkit::{rng::seeded, served::InProcessServer};
//!
//! // Parameters for 1000 rows of 32 bytes, and a server of a table of that shape.
//! let params = Params::<DoublePir>::check(Params::<DoublePir>::select(&TableShape::new(1000, 32, 1))?)?;
//! let server = InProcessServer::<MatrixScheme<DoublePir>>::new(params);
//!
//! // A query tells the server nothing; its answer is read with the secret that stays here.
//! let mut client = server.client("client");
//! let (query, secret) = server.query(&mut client, 3, &mut seeded("query"));
//! let answer = server.answer(&client, &query);
//! assert_eq!(client.recover(secret, answer)?.bytes(), server.row(3));
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! SimplePIR twice: a first encrypted unit vector multiplies the table, and a second one fetches
//! the products and hint rows that belong to one record. So the only hint that a client holds is
//! that of the second table, whose size does not depend on the number of records. README.md has the
//! symbol table, the deviations from the paper, and what is revealed.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod client;
pub mod literal;
#[cfg(feature = "server")]
pub mod server;

use sotto_core::{Assumption, Caps, Hiding, SchemeEntry, SchemeId, SchemeMetadata};
use sotto_silent::lwe::hint::HintDownload;
use sotto_silent::{MatrixScheme, Method};

/// The method of DoublePIR.
pub struct DoublePir;

impl Method for DoublePir {
    const ID: SchemeId = SchemeId("doublepir/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "DoublePIR (USENIX Security 2023), ring form",
        paper: "https://eprint.iacr.org/2022/949",
        hiding: &[Hiding::Encryption],
        assumptions: &[Assumption::RingLwe],
        client_keeps: "a hint of 12 MiB for each byte of a record, whatever the size of the table",
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };
    const CAPS: Caps<MatrixScheme<Self>> = Caps::NONE.update_image().parts();
    type Literal = literal::ParamsLiteral;
    type Keys = ();
    type Prepare = HintDownload;
    type Client = client::Client;
    #[cfg(feature = "server")]
    type Server = server::Server;
}

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<MatrixScheme<DoublePir>>();
