//! The vocabulary every other crate speaks. No maths, no I/O, no clocks, no ambient randomness.
//!
//! | module | what lives there |
//! |---|---|
//! | [`error`] | whose fault it was, and never a secret |
//! | [`names`] | scheme ids, record indices, records, epochs, digests |
//! | [`params`] | literal parameters, checked parameters, costs, security |
//! | [`fan`] | one value per server, by type |
//! | [`wire`] | messages of a size known beforehand, decoded totally |
//! | [`artifact`] | the static, query-independent files of a table |
//! | [`scheme`] | the contract of a scheme: `Scheme`, `Prepare`, `Client`, `Batched`, `Summed`, `Patch`, `Streamed` |
//! | [`stateful`] | clients whose state is spent by asking: `Stateful`, `Upkeep` |
//! | [`server`] | the other half (feature `server`): `Server`, `Revise`, `Masked`, `Stream`, `Stepped`, and where bytes come from
//! and go to |
//! | [`partial`] | tables in parts, whose answers make the whole's: `Partial` (feature `server`) |
//! | [`layer`] | which rows a request needs, and what they mean: `Layer`, `Then` |
//! | [`pieces`] | work that may be paused by whoever lends the thread |
//! | [`sure`] | what cannot be missing: asserted in debug builds |
//! | [`erased`] | the one adaptor that turns typed messages into bytes |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod artifact;
pub mod erased;
pub mod error;
pub mod fan;
pub mod layer;
pub mod names;
pub mod params;
#[cfg(feature = "server")]
pub mod partial;
pub mod pieces;
pub mod scheme;
#[cfg(feature = "server")]
pub mod server;
pub mod stateful;
pub mod sure;
pub mod wire;
pub mod work;

pub use artifact::{Artifact, ArtifactNeed};
pub use erased::{
    AnyBatch, AnyCheckpoint, AnyClient, AnyPrepare, AnyState, AnySum, AnyUnits, AnyUpkeep, Caps, SchemeEntry,
    StateEntry, Ticket, UpkeepEntry,
};
#[cfg(feature = "server")]
pub use erased::{
    AnyJoin, AnyPrepared, AnyServer, AnySession, AnySteps, AnyStream, AnySupplier, MaskEntry, PartEntry,
    ServerEntry,
};
pub use error::{Budget, Error, Misuse, ParamsError, PeerMisbehaved, Result};
pub use fan::{Fan, One, Two};
pub use layer::{Layer, Row, Then};
pub use names::{Epoch, ParamsDigest, Record, RecordIndex, SchemeId};
pub use params::{Costs, Goal, NamedSet, Params, ParamsReport, Security, Shape, facts};
#[cfg(feature = "server")]
pub use partial::{Cut, Partial};
pub use rand_core::CryptoRng;
pub use scheme::{Batched, Client, Patch, Prepare, Scheme, Streamed, Summed, Unit, Units, one_of_each};
#[cfg(feature = "server")]
pub use server::{
    Change, Held, Image, Masked, Place, Revise, Rows, Section, Server, Sink, Stepped, Stored, Stream,
    Supplier,
};
pub use stateful::{PendingOf, Stateful, Upkeep};
pub use sure::Sure;
pub use wire::Wire;
