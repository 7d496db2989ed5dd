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
//! | [`scheme`] | the contract of a scheme: `Scheme`, `Prepare`, `Client`, `BatchScheme`, `SumScheme`, `PatchArtifact`,
//! `StreamScheme` |
//! | [`stateful`] | clients whose state is spent by asking: `Stateful`, `HintScheme` |
//! | [`server`] | the other half (feature `server`): `Server`, `UpdateImage`, `WhiteningScheme`, `StreamServer`, `StepServer`,
//! and where bytes come from and go to |
//! | [`partial`] | tables in parts, whose answers make the whole's: `PartScheme` (feature `server`) |
//! | [`layer`] | which rows a request needs, and what they mean: `Layer`, `Compose` |
//! | [`pieces`] | work that may be paused by whoever lends the thread |
//! | [`expect_or_default`] | what cannot be missing: asserted in debug builds |
//! | [`erased`] | the one adaptor that turns typed messages into bytes |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod artifact;
pub mod cooperative;
pub mod erased;
pub mod error;
pub mod expect;
pub mod layer;
pub mod names;
pub mod params;
#[cfg(feature = "server")]
pub mod parts;
pub mod per_server;
pub mod scheme;
#[cfg(feature = "server")]
pub mod server;
pub mod stateful;
pub mod wire;
pub mod work;

pub use artifact::{Artifact, ArtifactNeed};
pub use erased::{
    AnyBatch, AnyCheckpoint, AnyClient, AnyHintClient, AnyPending, AnyPrepare, AnyState, AnyStreamClient,
    AnySum, Caps, HintServerEntry, SchemeEntry, StateEntry,
};
#[cfg(feature = "server")]
pub use erased::{
    AnyExpandedQuery, AnyHintServer, AnyJoin, AnyServer, AnySession, AnySteps, AnyStreamServer, PartEntry,
    ServerEntry, WhiteningEntry,
};
pub use error::{Budget, Error, Misuse, ParamsError, PeerMisbehaved, Result};
pub use expect::ExpectOrDefault;
pub use layer::{Compose, Layer, Row};
pub use names::{Epoch, ParamsDigest, Record, RecordIndex, SchemeId};
pub use params::{Costs, Goal, NamedSet, Params, ParamsReport, Security, TableShape, report_details};
#[cfg(feature = "server")]
pub use parts::{PartIndex, PartScheme};
pub use per_server::{OneServer, PerServer, TwoServers};
pub use rand_core::CryptoRng;
pub use scheme::{
    BatchScheme, Client, PatchArtifact, Prepare, Scheme, StreamScheme, SumElement, SumScheme, UnitLayout,
    check_bucket_places,
};
#[cfg(feature = "server")]
pub use server::{
    HintServer, Image, ImageSection, RecordChange, RecordSource, Section, SectionRecords, Server, Sink,
    StepServer, StreamServer, UpdateImage, WhiteningScheme, WriteSlot,
};
pub use stateful::{HintScheme, PendingOf, Stateful};
pub use wire::Wire;
