//! InsPIRe (Google, 2025, eprint 2025/1352) with polynomial evaluation: two dimensions, of which the second costs one RGSW
//! encryption of a monomial.
//!
//! ```
//! use sotto_core::{Client as _, Params as _, TableShape};
//! use sotto_inspire::{Inspire, params::Params};
//! use sotto_testkit::{rng::seeded, served::InProcessServer};
//!
//! // Parameters for 1000 rows of 32 bytes, and a server of a table of that shape.
//! let params = Params::check(Params::select(&TableShape::new(1000, 32, 1))?)?;
//! let server = InProcessServer::<Inspire>::new(params);
//!
//! // A query tells the server nothing; its answer is read with the secret that stays here.
//! let mut client = server.client("client");
//! let (query, secret) = server.ask(&mut client, 3, &mut seeded("query"));
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
//! | [`literal`] | parameters as a catalog states them, with sizes and costs |
//! | [`params`] | checked parameters, and their report |
//! | [`bound`] | the noise bound: products by the selector in addition to the bound of `sotto-silent` |
//! | [`select`] | choosing columns, places and word sizes for a table |
//! | [`message`] | query and answer, and their bits on the wire |
//! | [`numbers`] | records as numbers of 15 bits |
//! | [`selector`] | the RGSW encryption of a root of unity |
//! | [`client`] | query, recover |
//! | `interpolate` | from the polynomials of a column to the one that takes their values, and back (feature `server`) |
//! | `columns` | records as columns of the matrix, and columns as records (feature `server`) |
//! | `server` | encode, open, answer (feature `server`) |
//! | `part` | tables in parts (feature `server`) |
//! | `update_image` | changing bytes, and the groups that they touch (feature `server`) |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod bound;
pub mod client;
#[cfg(feature = "server")]
pub mod columns;
#[cfg(feature = "server")]
pub mod interpolate;
pub mod literal;
pub mod message;
pub mod numbers;
pub mod params;
#[cfg(feature = "server")]
mod part;
pub mod select;
pub mod selector;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
pub mod update_image;

use sotto_core::{Assumption, Caps, Hiding, OneServer, Scheme, SchemeEntry, SchemeId, SchemeMetadata};

/// The InsPIRe scheme with polynomial evaluation.
pub struct Inspire;

impl Scheme for Inspire {
    const ID: SchemeId = SchemeId("inspire/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "InsPIRe (2025) with polynomial evaluation",
        paper: "https://eprint.iacr.org/2025/1352",
        hiding: &[Hiding::Encryption],
        assumptions: &[Assumption::RingLwe, Assumption::CircularSecurity],
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };
    type Params = params::Params;
    type Fan<T> = OneServer<T>;
    type Keys = ();
    type Query = message::Query;
    type Answer = message::Answer;
    type Prepare = client::Prepare;
    type Client = client::Client;
    #[cfg(feature = "server")]
    type Server = server::Server;
    const CAPS: Caps<Self> = Caps::NONE.update_image().parts();
}

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<Inspire>();
