//! Trivial PIR (Chor, Goldreich, Kushilevitz, Sudan; FOCS 1995): the client downloads the table
//! once, and a lookup sends nothing.
//!
//! ```
//! use sotto_core::{RecordIndex, TableShape};
//! use sotto_testkit::memory::{MemoryRows, MemorySink};
//! use sotto_trivial::ENTRY;
//!
//! // The publisher encodes a thousand rows of 64 bytes; the hint of clients is the table itself.
//! let params = (ENTRY.select)(&TableShape::new(1000, 64, 1))?;
//! let rows = MemoryRows::new(64, (0..64_000u32).map(|i| (i / 64) as u8).collect());
//! let sink = MemorySink::new();
//! (ENTRY.server.encode)(&params, &rows, &sink)?;
//! let image = sink.into_image();
//!
//! // A client downloads it, and there is no server that it could ask.
//! let rng = &mut sotto_testkit::rng::seeded("client");
//! let mut prepare = (ENTRY.prepare)(&params, rng)?;
//! for need in prepare.needs() {
//!     prepare.absorb(need.artifact, image.artifact(need.artifact).ok_or("no such artifact")?)?;
//! }
//! let mut client = prepare.finish()?;
//! let (queries, secret) = client.query(RecordIndex(42), rng)?;
//! assert!(queries.is_empty());
//! assert_eq!(client.recover(secret, &[])?.bytes(), [42; 64]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It is what every other scheme is compared with, and the best one for tables of a few megabytes
//! and for clients that ask very often. Tables of this scheme are *downloadable*: they have the
//! catalog, the epochs, the cache and the updates of other tables.
//!
//! | module | contents |
//! |---|---|
//! | [`params`] | the number of records and their width |
//! | [`client`] | the download, reading a record of it, and applying a delta |
//! | `server` | encoding and updating the table (feature `server`) |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod client;
pub mod params;
#[cfg(feature = "server")]
pub mod server;

use sotto_core::{AbortLeakage, Caps, Hiding, NoServers, Scheme, SchemeEntry, SchemeId, SchemeMetadata};

/// Trivial PIR, whose clients download the table.
pub struct TrivialPir;

impl Scheme for TrivialPir {
    const ID: SchemeId = SchemeId("trivial/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "trivial PIR (FOCS 1995), a download of the whole table",
        paper: "https://doi.org/10.1109/SFCS.1995.492461",
        hiding: &[Hiding::Download],
        client_keeps: "the table, the same for every client",
        is_verified: true,
        abort_leakage: AbortLeakage::Nothing,
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };
    type Params = params::Params;
    type Fan<T> = NoServers<T>;
    type Keys = ();
    type Query = ();
    type Answer = ();
    type Prepare = client::Prepare;
    type Client = client::Client;
    #[cfg(feature = "server")]
    type Server = server::Server;
    const CAPS: Caps<Self> = Caps::NONE.patch().update_image();
}

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<TrivialPir>();
