//! Type erasure of schemes. Scheme code has its own types; everything above it uses only the types
//! of this module: parameters as canonical JSON, messages as bytes, secrets as opaque values.
//!
//! There are three kinds of downcasts in the whole system, all in this module: an [`AnyPending`] to
//! `Client::Pending`, an [`AnySession`] to `Server::Session`, and an [`AnyExpandedQuery`] to
//! `StreamServer::Prepared`. They fail with [`crate::Misuse::ForeignValue`].
//!
//! A capability that a scheme lacks is absent instead of failing: it is `None` in the entry, and
//! `None` in the client and the server.

mod caps;
mod client;
mod hint_server;
#[cfg(feature = "server")]
mod part;
#[cfg(feature = "server")]
mod server;
mod state;

#[cfg(feature = "server")]
use crate::TableShape;
use crate::{
    Artifact, CryptoRng, NamedSet, Params, ParamsDigest, ParamsError, ParamsReport, PatchArtifact, PerServer,
    Result, Scheme, SchemeId, SchemeMetadata, SumElement, UnitLayout, json,
};
pub use caps::Caps;
pub use client::{AnyBatch, AnyClient, AnyPending, AnyPrepare, AnyStreamClient, AnySum};
pub use hint_server::AnyHintClient;
#[cfg(feature = "server")]
pub use hint_server::AnyHintServer;
pub use hint_server::HintServerEntry;
#[cfg(feature = "server")]
pub use part::AnyJoin;
#[cfg(feature = "server")]
pub use part::PartEntry;
#[cfg(feature = "server")]
pub use server::AnyExpandedQuery;
#[cfg(feature = "server")]
pub use server::AnyServer;
#[cfg(feature = "server")]
pub use server::AnySession;
#[cfg(feature = "server")]
pub use server::AnyStreamServer;
#[cfg(feature = "server")]
pub use server::ServerEntry;
#[cfg(feature = "server")]
pub use server::UpdateImageFn;
#[cfg(feature = "server")]
pub use server::WhiteningEntry;
pub use state::{AnyCheckpoint, AnyState, StateEntry};

/// The registry's entry of a scheme: plain data and function pointers.
///
/// The `params` arguments are the literal's JSON as found in a catalog; each function checks it.
#[derive(Clone, Copy)]
pub struct SchemeEntry {
    /// The scheme's name on the wire, which never changes.
    pub id: SchemeId,
    /// Publication, protection and state of the scheme.
    pub metadata: SchemeMetadata,
    /// Number of servers.
    pub servers: usize,
    /// Number of servers that a query goes to: the first ones. None if tables are downloadable.
    pub query_servers: usize,
    /// The parameter sets that can be chosen by name.
    pub sets: fn() -> Vec<NamedSet>,
    /// Chooses parameters for a table, as canonical JSON. Only encoders choose; a client never
    /// does.
    #[cfg(feature = "server")]
    pub select: fn(&crate::TableShape) -> Result<Vec<u8>>,
    /// Checks parameters, and reports their guarantees and costs.
    pub report: fn(&[u8]) -> Result<ParamsReport>,
    /// Starts the preparation of a client.
    pub prepare: fn(&[u8], &mut dyn CryptoRng) -> Result<Box<dyn AnyPrepare>>,
    /// Patches a stored artifact, if the scheme can.
    pub patch: Option<PatchFn>,
    /// The units of a record, if it can be fetched unit by unit.
    pub units: Option<UnitsFn>,
    /// The number of buckets of a table, if one query can ask for a record of each.
    pub batch: Option<BucketsFn>,
    /// The elements that are added up, if one query can ask for the sum of several records.
    pub sum: Option<SumElement>,
    /// How the state of a client is loaded, if it has state that must survive.
    pub state: Option<StateEntry>,
    /// The hint server, if one of the servers makes hints.
    pub hint_server: Option<HintServerEntry>,
    /// Whether every record ends with its own inclusion proof.
    pub proven: bool,
    /// The server's half of the scheme.
    #[cfg(feature = "server")]
    pub server: ServerEntry,
}

/// `(params, artifact, held, delta)`: see [`PatchArtifact::patch`].
pub type PatchFn = fn(&[u8], Artifact, &mut [u8], &[u8]) -> Result<()>;

/// Gives the units of a record under the given parameters: see [`crate::StreamScheme`].
pub type UnitsFn = fn(&[u8]) -> Result<UnitLayout>;

/// Gives the number of buckets of a table under the given parameters: see
/// [`crate::BatchScheme::buckets`].
pub type BucketsFn = fn(&[u8]) -> Result<u64>;

impl SchemeEntry {
    /// The servers that a client has to trust, in words.
    pub fn trust(&self) -> String {
        let servers = if self.servers == 1 { "one server" } else { "two servers that do not collude" };
        let is_verified = self.metadata.is_verified || self.proven;
        format!("{servers}{}", if is_verified { ", whose answers are verified" } else { "" })
    }

    /// Whether tables are downloadable: a client downloads the table once, and a lookup sends
    /// nothing.
    pub const fn is_downloadable(&self) -> bool {
        self.query_servers == 0
    }

    /// Makes the entry of a scheme with every capability of its [`Scheme::CAPS`].
    ///
    /// # Panics
    /// If capabilities contradict each other. Entries are constants, so such a scheme does not
    /// compile.
    pub const fn of<S: Scheme>() -> Self {
        let caps = S::CAPS;
        caps.check();
        let query_servers = <S::Fan<()> as PerServer<()>>::SERVERS;
        let servers = match caps.hint_server {
            Some(entry) if entry.role >= query_servers => entry.role + 1,
            // A client that sends no queries downloads the table from a server.
            _ if query_servers == 0 => 1,
            _ => query_servers,
        };
        SchemeEntry {
            id: S::ID,
            metadata: S::METADATA,
            servers,
            query_servers,
            sets: <S::Params as Params>::sets,
            #[cfg(feature = "server")]
            select: select::<S>,
            report: report::<S>,
            prepare: client::prepare::<S>,
            patch: caps.patch,
            units: caps.units,
            batch: caps.batch,
            sum: caps.sum,
            state: caps.state,
            proven: caps.proven,
            hint_server: caps.hint_server,
            #[cfg(feature = "server")]
            server: ServerEntry::of::<S>(caps.update_image, caps.whitening, caps.parts),
        }
    }
}

/// Parses and checks a literal.
pub(crate) fn checked<S: Scheme>(params: &[u8]) -> Result<S::Params> {
    S::Params::check(literal::<S>(params)?)
}

fn literal<S: Scheme>(params: &[u8]) -> Result<<S::Params as Params>::Literal> {
    // The message may quote text from the peer, and is shown in terminals.
    let printable =
        |e: serde_json::Error| e.to_string().chars().filter(|c| !c.is_control()).take(200).collect();
    Ok(json::from_slice(params).map_err(|e| ParamsError::Field { field: "params", why: printable(e) })?)
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

/// Chooses parameters of the scheme for a table. Only encoders choose; a client never does.
#[cfg(feature = "server")]
fn select<S: Scheme>(shape: &TableShape) -> Result<Vec<u8>> {
    if let Some(set) = &shape.set {
        let names: Vec<&str> = S::Params::sets().iter().map(|set| set.name).collect();
        if !names.contains(&set.as_str()) {
            let why = match names.as_slice() {
                [] => format!("{} has no named parameter sets", S::ID),
                names => format!("{} has no set of that name; it has {}", S::ID, names.join(", ")),
            };
            return Err(ParamsError::Field { field: "set", why }.into());
        }
    }
    fits::<S>(shape)?;
    let literal = S::Params::select(shape)?;
    S::Params::check(literal.clone())?;
    canonical::<S>(&literal)
}

/// Refuses a table of buckets that the scheme does not support.
#[cfg(feature = "server")]
fn fits<S: Scheme>(shape: &TableShape) -> Result<()> {
    let why = match shape.buckets {
        0 => "expected at least one bucket".to_owned(),
        1 => return Ok(()),
        _ if S::CAPS.batch.is_none() => {
            format!("a query of {} fetches one record, not one of each bucket", S::ID)
        }
        buckets if shape.rows.is_multiple_of(buckets) => return Ok(()),
        buckets => format!("{} rows do not divide into {buckets} equal buckets", shape.rows),
    };
    Err(ParamsError::Field { field: "buckets", why }.into())
}

#[cfg(feature = "server")]
#[cfg(test)]
mod tests;
