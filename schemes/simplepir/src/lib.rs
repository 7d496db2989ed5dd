//! SimplePIR (Henzinger, Hong, Corrigan-Gibbs, Meiklejohn, Vaikuntanathan; USENIX Security 2023).
//!
//! The table is a matrix D of signed bytes, `l` rows by `m` columns; a record is one column. A client
//! holds the hint H = D A for a public matrix A, sends a Regev encryption of a unit vector, gets back
//! D times it, subtracts H s and rounds: the whole column. A is made of ring blocks, so that H and the
//! encryptions cost number-theoretic transforms and not dense products. The lattice, encryptions and hints are those of
//! [`sotto_silent::lwe`]. README.md has the symbol table, the deviations from the paper, and what an update gives away.
//!
//! | module | what lives there |
//! |---|---|
//! | [`params`] | the literal, its check, its report |
//! | [`select`] | choosing a matrix shape and word sizes for a table |
//! | [`message`] | query and answer, and their bits on the wire |
//! | [`client`] | prepare, query, recover |
//! | [`delta`] | the bytes that move a hint to the next epoch |
//! | [`update`] | applying them |
//! | `server` | encode, open, answer (feature `server`) |
//! | `part` | tables in parts (feature `server`) |
//! | `update_image` | changed bytes, in matrix and hint (feature `server`) |
//! | [`verified`] | `verisimplepir/1`: answers that are verified against the very table |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod client;
pub mod delta;
pub mod message;
pub mod params;
#[cfg(feature = "server")]
mod part;
pub mod select;
#[cfg(feature = "server")]
pub mod server;
pub mod update;
#[cfg(feature = "server")]
pub mod update_image;
pub mod verisimplepir;

pub use verisimplepir::VERIFIED;

use sotto_core::{Caps, OneServer, Scheme, SchemeEntry, SchemeId};

/// The scheme.
pub struct SimplePir;

impl Scheme for SimplePir {
    const ID: SchemeId = SchemeId("simplepir/1");
    const TITLE: &'static str = "SimplePIR (USENIX Security 2023), ring form";
    type Params = params::Params;
    type Fan<T> = OneServer<T>;
    type Keys = ();
    type Query = message::Query;
    type Answer = message::Answer;
    type Prepare = client::Prepare;
    type Client = client::Client;
    #[cfg(feature = "server")]
    type Server = server::Server;
    const CAPS: Caps<Self> = Caps::NONE.patch().update_image().sum().parts();
}

/// What the registry knows of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<SimplePir>();
