//! The contract between schemes and everything else: the types and traits that every other crate
//! uses. It has no mathematics, no I/O, no clocks and no ambient randomness.
//!
//! ```
//! use sotto_core::{Error, Misuse, RecordIndex, Result, Wire, wire};
//!
//! /// A query in the clear: the index itself, of which tables of any size send eight bytes.
//! struct Query(RecordIndex);
//!
//! impl Wire<u64> for Query {
//!     fn size(_records: &u64) -> usize {
//!         8
//!     }
//!     fn put(&self, _records: &u64, out: &mut Vec<u8>) {
//!         out.extend(self.0.0.to_le_bytes());
//!     }
//!     fn take(records: &u64, bytes: &[u8]) -> Result<Self> {
//!         wire::exact("query", bytes, 8)?;
//!         let index = bytes.iter().rev().fold(0, |index, byte| index << 8 | u64::from(*byte));
//!         if index >= *records {
//!             return Err(Misuse::IndexPastEnd { index, len: *records }.into());
//!         }
//!         Ok(Query(RecordIndex(index)))
//!     }
//! }
//!
//! let mut bytes = Vec::new();
//! Query(RecordIndex(300)).put(&1000, &mut bytes);
//! assert_eq!(bytes.len(), Query::size(&1000));
//! assert_eq!(Query::take(&1000, &bytes)?.0, RecordIndex(300));
//! assert!(matches!(Query::take(&100, &bytes), Err(Error::Misuse(_))));
//! assert!(matches!(Query::take(&1000, &bytes[1..]), Err(Error::Peer(_))));
//! # Ok::<(), Error>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`error`] | errors by whose fault they are, without secrets |
//! | [`diagnosis`] | what an error means: kind, fault, exit code, name and fix |
//! | [`names`] | scheme ids, record indices, records, epochs, digests; facts about a scheme, for people |
//! | [`params`] | literal parameters, checked parameters, costs, security |
//! | [`per_server`] | one value per server, by type |
//! | [`wire`] | messages of a size known beforehand, and total decoders |
//! | [`artifact`] | the static, query-independent files of a table |
//! | [`scheme`] | the contract of a scheme: `Scheme`, `Prepare`, `Client`, `BatchScheme`, `SumScheme`, |
//! | | `PatchArtifact`, `StreamScheme` |
//! | [`stateful`] | clients whose queries spend their state: `Stateful`, `HintScheme` |
//! | [`server`] | the server's half (feature `server`): `Server`, `UpdateImage`, `WhiteningScheme`, |
//! | | `StreamServer`, and the sources and sinks of bytes |
//! | [`accelerator`] | what multiplies a table's matrices in place of the processor (feature `server`) |
//! | [`parts`] | tables in parts, whose partial answers are joined: `PartScheme` (feature `server`) |
//! | [`layer`] | the rows that a request needs, and their meaning: `Layer`, `Compose` |
//! | [`cooperative`] | work that the caller can pause between its pieces |
//! | [`expect`] | values that cannot be missing: asserted in debug builds |
//! | [`json`] | JSON in one form: a struct is an object, and never an array |
//! | [`work`] | the unit of work by which the costs of schemes are compared |
//! | [`erased`] | the one adaptor that turns typed messages into bytes |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

#[cfg(feature = "server")]
pub mod accelerator;
pub mod artifact;
pub mod cooperative;
pub mod diagnosis;
pub mod erased;
pub mod error;
pub mod expect;
pub mod json;
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

#[cfg(feature = "server")]
pub use accelerator::{
    AcceleratedMatrix, Accelerator, AcceleratorError, AcceleratorSlot, PassProducts, PassQuery, TableMatrix,
};
pub use artifact::{Artifact, ArtifactNeed};
pub use diagnosis::{Diagnose, Diagnosis, ErrorKind, Exit, Fault};
pub use erased::{
    AnyBatch, AnyCheckpoint, AnyClient, AnyHintClient, AnyPending, AnyPrepare, AnyState, AnyStreamClient,
    AnySum, Caps, HintServerEntry, SchemeEntry, StateEntry,
};
#[cfg(feature = "server")]
pub use erased::{
    AnyExpandedQuery, AnyHintServer, AnyJoin, AnyServer, AnySession, AnyStreamServer, PartEntry, ServerEntry,
    WhiteningEntry,
};
pub use error::{Budget, Error, Misuse, ParamsError, PeerMisbehaved, Result};
pub use expect::ExpectOrDefault;
pub use layer::{Compose, Layer, Row};
pub use names::{
    AbortLeakage, Assumption, Epoch, Hiding, ParamsDigest, Record, RecordIndex, SchemeId, SchemeMetadata,
};
pub use params::{Costs, Goal, NamedSet, Params, ParamsReport, Security, TableShape, report_details};
#[cfg(feature = "server")]
pub use parts::{PartIndex, PartScheme};
pub use per_server::{NoServers, OneServer, PerServer, TwoServers};
pub use rand_core::CryptoRng;
pub use scheme::{
    BatchScheme, Client, PatchArtifact, Prepare, Scheme, StreamScheme, SumElement, SumScheme, UnitLayout,
    check_bucket_places,
};
#[cfg(feature = "server")]
pub use server::{
    HintServer, Image, ImageSection, RecordChange, RecordSource, Section, SectionRecords, Server, Sink,
    StreamServer, UpdateImage, WhiteningScheme, WriteSlot,
};
pub use stateful::{HintScheme, PendingOf, Stateful};
pub use wire::Wire;
