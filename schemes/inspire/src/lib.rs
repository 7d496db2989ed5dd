//! InsPIRe (Google, 2025, eprint 2025/1352) with polynomial evaluation: two dimensions, of which the second costs one RGSW
//! encryption of a monomial.
//!
//! ```
//! use sotto_core::{Client as _, Params as _, TableShape};
//! use sotto_inspire::Inspire;
//! use sotto_silent::{MatrixScheme, Params};
//! use sotto_testkit::{rng::seeded, served::InProcessServer};
//!
//! // Parameters for 1000 rows of 32 bytes, and a server of a table of that shape.
//! let params = Params::<Inspire>::check(Params::<Inspire>::select(&TableShape::new(1000, 32, 1))?)?;
//! let server = InProcessServer::<MatrixScheme<Inspire>>::new(params);
//!
//! // A query tells the server nothing; its answer is read with the secret that stays here.
//! let mut client = server.client("client");
//! let (query, secret) = server.query(&mut client, 3, &mut seeded("query"));
//! let answer = server.answer(&client, &query);
//! assert_eq!(client.recover(secret, answer)?.bytes(), server.row(3));
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! Records are in m columns, t to each. In place of a column's t polynomials, the table has the
//! polynomial that takes their values at t roots of unity: its coefficients are t times as many
//! rows. One pass multiplies all columns by an encrypted unit vector; the products are packed; and
//! the result is evaluated at the root that the client encrypted, by Horner's rule. README.md has
//! the symbol table, the deviations from the paper, and the heuristics.
//!
//! | module | contents |
//! |---|---|
//! | [`literal`] | parameters as a catalog states them, with numbers, sizes, costs and bounds, and their selection |
//! | [`selector`] | the RGSW encryption of a root of unity |
//! | [`client`] | the paper's Query and Extract |
//! | `columns` | records as columns of the matrix, columns as records, and changes of them (feature `server`) |
//! | `server` | the matrix and its weights, and the steps of an answer (feature `server`) |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod client;
#[cfg(feature = "server")]
pub mod columns;
pub mod literal;
pub mod selector;
#[cfg(feature = "server")]
pub mod server;

use sotto_core::{Assumption, Caps, Hiding, SchemeEntry, SchemeId, SchemeMetadata};
use sotto_silent::{MatrixScheme, Method};

/// The method of InsPIRe with polynomial evaluation.
pub struct Inspire;

impl Method for Inspire {
    const ID: SchemeId = SchemeId("inspire/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "InsPIRe (2025) with polynomial evaluation",
        paper: "https://eprint.iacr.org/2025/1352",
        hiding: &[Hiding::Encryption],
        assumptions: &[Assumption::RingLwe, Assumption::CircularSecurity],
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };
    const CAPS: Caps<MatrixScheme<Self>> = Caps::NONE.update_image().parts();
    type Literal = literal::ParamsLiteral;
    type Keys = ();
    type Prepare = ();
    type Client = client::Client;
    #[cfg(feature = "server")]
    type Server = server::Server;
}

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<MatrixScheme<Inspire>>();
