//! YPIR (Menon and Wu, USENIX Security 2024), with the second pass packed by InspiRING: InsPIRe_0 of eprint 2025/1352.
//!
//! ```
//! use sotto_core::{Client as _, Params as _, TableShape};
//! use sotto_silent::{MatrixScheme, Params};
//! use sotto_testkit::{rng::seeded, served::InProcessServer};
//! use sotto_ypir::Ypir;
//!
//! // Parameters for 1000 rows of 32 bytes, and a server of a table of that shape.
//! let params = Params::<Ypir>::check(Params::<Ypir>::select(&TableShape::new(1000, 32, 1))?)?;
//! let server = InProcessServer::<MatrixScheme<Ypir>>::new(params);
//!
//! // A query tells the server nothing; its answer is read with the secret that stays here.
//! let mut client = server.client("client");
//! let (query, secret) = server.query(&mut client, 3, &mut seeded("query"));
//! let answer = server.answer(&client, &query);
//! assert_eq!(client.recover(secret, answer)?.bytes(), server.row(3));
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! DoublePIR without any hint: a first encrypted unit vector multiplies the table, and a second one
//! fetches the products and hint rows that belong to one record. The results from the hint are
//! packed into few ring-LWE ciphertexts with keys that travel in the query. So a new client
//! registers nothing, and downloads the masks of these alone. README.md has the symbol table, the deviations from the papers,
//! and the heuristics.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod client;
pub mod literal;
#[cfg(feature = "server")]
pub mod server;

use sotto_core::{Assumption, Caps, Hiding, SchemeEntry, SchemeId, SchemeMetadata};
use sotto_silent::masks::MaskDownload;
use sotto_silent::{MatrixScheme, Method};

/// The method of YPIR.
pub struct Ypir;

impl Method for Ypir {
    const ID: SchemeId = SchemeId("ypir/2");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "YPIR (USENIX Security 2024), packed by InspiRING",
        paper: "https://eprint.iacr.org/2024/270",
        hiding: &[Hiding::Encryption],
        assumptions: &[Assumption::RingLwe, Assumption::CircularSecurity],
        client_keeps: "masks of answers for each table and epoch, the same for every client",
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };
    const CAPS: Caps<MatrixScheme<Self>> = Caps::NONE.update_image().parts();
    type Literal = literal::ParamsLiteral;
    type Keys = ();
    type Prepare = MaskDownload;
    type Client = client::Client;
    #[cfg(feature = "server")]
    type Server = server::Server;
}

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<MatrixScheme<Ypir>>();
