//! The one erasure. Scheme code has its own types; everything above meets only what is here: parameters
//! as canonical JSON, messages as bytes, secrets as opaque tickets.
//!
//! There are three kinds of downcasts in the whole system, all below: a [`AnyPending`] back to `Client::Pending`, an
//! [`AnySession`] back to `Server::Session`, and an [`AnyExpandedQuery`] back to `StreamServer::Prepared`. Their failure is
//! [`crate::Misuse::ForeignValue`].
//!
//! A capability that a scheme lacks is absent, not failing: `None` in the entry, and `None` where a client or a
//! server is asked for it.

mod batch;
mod caps;
mod client;
mod hint_server;
#[cfg(feature = "server")]
mod part;
#[cfg(feature = "server")]
mod select;
#[cfg(feature = "server")]
mod server;
mod state;
#[cfg(feature = "server")]
mod steps;
mod stream_client;
#[cfg(feature = "server")]
mod stream_server;
mod sum;
#[cfg(feature = "server")]
#[cfg(test)]
mod tests;
#[cfg(feature = "server")]
mod whitening;

pub use batch::AnyBatch;
pub use caps::Caps;
pub use client::{AnyClient, AnyPending, AnyPrepare};
#[cfg(feature = "server")]
pub use hint_server::AnyHintServer;
pub use hint_server::{AnyHintClient, HintServerEntry};
#[cfg(feature = "server")]
pub use part::{AnyJoin, PartEntry};
#[cfg(feature = "server")]
pub use server::{AnyServer, AnySession, ServerEntry, UpdateImageFn};
pub use state::{AnyCheckpoint, AnyState, StateEntry};
#[cfg(feature = "server")]
pub use steps::AnySteps;
pub use stream_client::AnyStreamClient;
#[cfg(feature = "server")]
pub use stream_server::{AnyExpandedQuery, AnyStreamServer};
pub use sum::AnySum;
#[cfg(feature = "server")]
pub use whitening::WhiteningEntry;

use crate::{
    Artifact, CryptoRng, NamedSet, Params, ParamsDigest, ParamsError, ParamsReport, PatchArtifact, PerServer,
    Result, Scheme, SchemeId, SumElement, UnitLayout,
};

/// Everything the registry knows of a scheme: plain data and function pointers.
///
/// `params` arguments are the literal's JSON as found in a catalog; each function checks it.
#[derive(Clone, Copy)]
pub struct SchemeEntry {
    /// Stable on the wire.
    pub id: SchemeId,
    /// Name and paper, one line.
    pub title: &'static str,
    /// How many servers there are.
    pub servers: usize,
    /// How many of them a query goes to: the first so many.
    pub query_servers: usize,
    /// The parameter sets that can be asked for by name.
    pub sets: fn() -> Vec<NamedSet>,
    /// Chooses parameters for a table; gives canonical JSON. Encoders choose, and a client never does.
    #[cfg(feature = "server")]
    pub select: fn(&crate::TableShape) -> Result<Vec<u8>>,
    /// Checks parameters and says what they promise and cost.
    pub report: fn(&[u8]) -> Result<ParamsReport>,
    /// Starts a client.
    pub prepare: fn(&[u8], &mut dyn CryptoRng) -> Result<Box<dyn AnyPrepare>>,
    /// Patches a held artifact, where the scheme can.
    pub patch: Option<PatchFn>,
    /// What a record consists of, where it can be fetched piece by piece.
    pub units: Option<UnitsFn>,
    /// How many buckets a table has, where one query asks for a record of each.
    pub batch: Option<BucketsFn>,
    /// What is added up, where one query may ask for the sum of several records.
    pub sum: Option<SumElement>,
    /// How a client's state is read back, where it has one that must survive.
    pub state: Option<StateEntry>,
    /// Which server makes hints, where one does.
    pub upkeep: Option<HintServerEntry>,
    /// Whether every record ends with the path that proves it.
    pub proven: bool,
    /// The server's half.
    #[cfg(feature = "server")]
    pub server: ServerEntry,
}

/// `(params, artifact, held, delta)`: see [`PatchArtifact::patch`].
pub type PatchFn = fn(&[u8], Artifact, &mut [u8], &[u8]) -> Result<()>;

/// What a record consists of, under these parameters: see [`crate::StreamScheme`].
pub type UnitsFn = fn(&[u8]) -> Result<UnitLayout>;

/// How many buckets a table has, under these parameters: see [`crate::BatchScheme::buckets`].
pub type BucketsFn = fn(&[u8]) -> Result<u64>;

impl SchemeEntry {
    /// The entry of a scheme, with every capability of its [`Scheme::CAPS`].
    ///
    /// # Panics
    /// If capabilities contradict each other. Entries are constants, so that such a scheme does not compile.
    pub const fn of<S: Scheme>() -> Self {
        let caps = S::CAPS;
        caps.check();
        let queried = <S::Fan<()> as PerServer<()>>::SERVERS;
        let servers = match caps.upkeep {
            Some(upkeep) if upkeep.helper >= queried => upkeep.helper + 1,
            _ => queried,
        };
        SchemeEntry {
            id: S::ID,
            title: S::TITLE,
            servers,
            query_servers: queried,
            sets: <S::Params as Params>::sets,
            #[cfg(feature = "server")]
            select: select::of::<S>,
            report: report::<S>,
            prepare: client::prepare::<S>,
            patch: caps.patch,
            units: caps.units,
            batch: caps.batch,
            sum: caps.sum,
            state: caps.state,
            proven: caps.proven,
            upkeep: caps.upkeep,
            #[cfg(feature = "server")]
            server: ServerEntry::of::<S>(caps.revise, caps.mask, caps.parts),
        }
    }
}

/// Parses and checks a literal.
pub(crate) fn checked<S: Scheme>(params: &[u8]) -> Result<S::Params> {
    S::Params::check(literal::<S>(params)?)
}

fn literal<S: Scheme>(params: &[u8]) -> Result<<S::Params as Params>::Literal> {
    // The message may quote text from the peer, and ends up in terminals.
    let printable =
        |e: serde_json::Error| e.to_string().chars().filter(|c| !c.is_control()).take(200).collect();
    Ok(serde_json::from_slice(params)
        .map_err(|e| ParamsError::Field { field: "params", why: printable(e) })?)
}

fn canonical<S: Scheme>(literal: &<S::Params as Params>::Literal) -> Result<Vec<u8>> {
    serde_json::to_vec(literal).map_err(|e| ParamsError::Field { field: "params", why: e.to_string() }.into())
}

fn report<S: Scheme>(params: &[u8]) -> Result<ParamsReport> {
    let params = checked::<S>(params)?;
    let mut report = params.report();
    report.digest = ParamsDigest::of(S::ID, &canonical::<S>(params.literal())?);
    Ok(report)
}

fn patch<S: PatchArtifact>(params: &[u8], artifact: Artifact, held: &mut [u8], delta: &[u8]) -> Result<()> {
    S::patch(&checked::<S>(params)?, artifact, held, delta)
}
