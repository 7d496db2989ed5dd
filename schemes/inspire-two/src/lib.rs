//! InsPIRe^(2) (Google, 2025, eprint 2025/1352): short records for clients that were never seen before.
//!
//! Records lie in a grid of columns and blocks. A first encrypted unit vector picks a column, and the products with it are packed
//! into a small ciphertext for each block; a second one picks the block's ciphertext, whose packed copy comes back. README.md has
//! the symbol table, the deviations from the paper, and what is heuristic.
//!
//! | module | what lives there |
//! |---|---|
//! | [`params`] | the literal, its check, its report |
//! | [`sizes`] | how large everything is, by the literal |
//! | [`select`] | choosing a grid and word sizes for a table |
//! | [`message`] | query and answer, and their bits on the wire |
//! | [`client`] | query, recover |
//! | `server` | open, answer: the first layer (feature `server`) |
//! | `second` | the second layer of an answer (feature `server`) |
//! | `share`, `part` | tables in parts (feature `server`) |
//! | `encode` | both layers are written, and written anew where bytes changed (feature `server`) |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod client;
#[cfg(feature = "server")]
pub mod encode;
pub mod message;
pub mod params;
#[cfg(feature = "server")]
mod part;
#[cfg(feature = "server")]
mod part_contents;
#[cfg(feature = "server")]
mod second_layer;
pub mod select;
#[cfg(feature = "server")]
pub mod server;
pub mod sizes;

use sotto_core::{Caps, OneServer, Scheme, SchemeEntry, SchemeId};

/// The scheme.
pub struct InspireTwo;

impl Scheme for InspireTwo {
    const ID: SchemeId = SchemeId("inspire-two/1");
    const TITLE: &'static str = "InsPIRe^(2) (2025): short records by two packed passes";
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

/// What the registry knows of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<InspireTwo>();
