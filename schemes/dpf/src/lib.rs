//! Two-server PIR by distributed point functions (Boyle, Gilboa, Ishai; "Function Secret Sharing: Improvements and
//! Extensions", CCS 2016).
//!
//! ```
//! use sotto_core::{Client as _, Params as _, Prepare as _, RecordIndex, Server as _, TwoServers};
//! use sotto_dpf::Dpf;
//! use sotto_dpf::client::Client;
//! use sotto_dpf::literal::ParamsLiteral;
//! use sotto_dpf::params::Params;
//! use sotto_dpf::server::Server;
//! use sotto_testkit::memory::{MemoryRows, MemorySink};
//! use sotto_testkit::rng::seeded;
//! use std::sync::Arc;
//!
//! // Both servers have the table.
//! let params = Params::check(ParamsLiteral { records: 1000, record_bytes: 8, path: 0 })?;
//! let rows = MemoryRows::new(8, (0..1000u64).flat_map(u64::to_le_bytes).collect());
//! let sink = MemorySink::new();
//! <Server as sotto_core::Server<Dpf>>::encode(&params, &rows, &sink)?;
//! let server: Server = Server::open(&params, Arc::new(sink.into_image()))?;
//!
//! // Each is sent one key, and neither learns the index from its own.
//! let rng = &mut seeded("client");
//! let mut client: Client = Client::begin(&params, rng)?.finish()?;
//! let (TwoServers(first, second), secret) = client.query(RecordIndex(42), rng)?;
//! let answers = TwoServers(server.answer(&(), first)?, server.answer(&(), second)?);
//! assert_eq!(client.recover(secret, answers)?.bytes(), 42u64.to_le_bytes());
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! A client requests record i of N. It makes two short keys, one for each of two servers that do
//! not collude. Either key alone looks random; each grows, by a tree of pseudo-random seeds, into
//! one bit for every record, and the two strings of bits differ at i alone. A server answers with
//! the exclusive or of the records whose bit is set, and the exclusive or of both answers is the
//! record. Nothing is prepared, stored or downloaded. README.md has the symbol table and the
//! deviations from the paper.
//!
//! | module | contents |
//! |---|---|
//! | [`literal`] | parameters as a catalog states them, with sizes and costs |
//! | [`params`] | checked parameters, and their report |
//! | [`select`] | choosing the number of rows of a record |
//! | [`message`] | key and answer, and their bytes on the wire |
//! | [`generator`] | from a seed to two seeds and two bits, and from a leaf's seed to its 512 bits |
//! | [`client`] | making two keys, adding two answers |
//! | `tree` | growing a key (feature `server`) |
//! | `server` | open, answer (feature `server`) |
//! | `encode` | the table in bit slices, and changes of it (feature `server`) |
#![forbid(unsafe_code)]

pub mod client;
#[cfg(feature = "server")]
pub mod encode;
pub mod generator;
pub mod literal;
pub mod message;
pub mod params;
pub mod select;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
pub mod tree;

use sotto_core::{
    AbortLeakage, Assumption, Caps, Hiding, Scheme, SchemeEntry, SchemeId, SchemeMetadata, TwoServers,
};

/// The DPF scheme; `PROVEN` where every record ends with the path that proves it.
pub struct Dpf<const PROVEN: bool = false>;

impl<const PROVEN: bool> Scheme for Dpf<PROVEN> {
    const ID: SchemeId = SchemeId(if PROVEN { "dpf/2" } else { "dpf/1" });
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: match PROVEN {
            true => "authenticated DPF-PIR, two servers (CCS 2016, USENIX Security 2023)",
            false => "DPF-PIR, two servers (CCS 2016)",
        },
        paper: "https://eprint.iacr.org/2018/707",
        hiding: &[Hiding::Splitting],
        assumptions: &[Assumption::Aes],
        abort_leakage: AbortLeakage::Nothing,
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };
    type Params = params::Params;
    type Fan<T> = TwoServers<T>;
    type Keys = ();
    type Query = message::Query;
    type Answer = message::Answer;
    type Prepare = client::Client<PROVEN>;
    type Client = client::Client<PROVEN>;
    #[cfg(feature = "server")]
    type Server = server::Server<PROVEN>;
    const CAPS: Caps<Self> = match PROVEN {
        true => Caps::NONE.update_image().parts().proven(),
        false => Caps::NONE.update_image().parts(),
    };
}

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<Dpf>();

/// The registry entry of the scheme with a path in every record: authenticated private information
/// retrieval, if the table's tree is the same for all clients (Colombo, Nikitin, Corrigan-Gibbs,
/// Wu, Ford; USENIX Security 2023).
pub static AUTHENTICATED: SchemeEntry = SchemeEntry::of::<Dpf<true>>();
