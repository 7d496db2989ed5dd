//! The one erasure. Scheme code has its own types; everything above meets only what is here: parameters
//! as canonical JSON, messages as bytes, secrets as opaque tickets.
//!
//! There are three downcasts in the whole system, all below: a [`Ticket`] back to `Client::Pending`, an
//! [`AnySession`] back to `Server::Session`, and an [`AnyPrepared`] back to `Stream::Prepared`. Their failure is
//! [`crate::Misuse::Foreign`].
//!
//! A capability that a scheme lacks is absent, not failing: `None` in the entry, and `None` where a client or a
//! server is asked for it.

mod client;
#[cfg(feature = "server")]
mod server;
mod state;
#[cfg(feature = "server")]
mod steps;
#[cfg(feature = "server")]
mod stream;
mod units;
mod upkeep;

pub use client::{AnyClient, AnyPrepare, Ticket};
#[cfg(feature = "server")]
pub use server::{AnyServer, AnySession, ServerEntry};
pub use state::{AnyCheckpoint, AnyState, StateEntry};
#[cfg(feature = "server")]
pub use steps::AnySteps;
#[cfg(feature = "server")]
pub use stream::{AnyPrepared, AnyStream};
pub use units::AnyUnits;
#[cfg(feature = "server")]
pub use upkeep::AnySupplier;
pub use upkeep::{AnyUpkeep, UpkeepEntry};

use crate::{
    Artifact, CryptoRng, Fan, NamedSet, Params, ParamsDigest, ParamsError, ParamsReport, Patch, Result,
    Scheme, SchemeId, Shape, Stateful, Streamed, Units,
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
    pub queried: usize,
    /// The parameter sets that can be asked for by name.
    pub sets: fn() -> Vec<NamedSet>,
    /// Chooses parameters for a table; gives canonical JSON.
    pub select: fn(&Shape) -> Result<Vec<u8>>,
    /// Checks parameters and says what they promise and cost.
    pub report: fn(&[u8]) -> Result<ParamsReport>,
    /// Starts a client.
    pub prepare: fn(&[u8], &mut dyn CryptoRng) -> Result<Box<dyn AnyPrepare>>,
    /// Patches a held artifact, where the scheme can.
    pub patch: Option<PatchFn>,
    /// What a record consists of, where it can be fetched piece by piece.
    pub units: Option<fn(&[u8]) -> Result<Units>>,
    /// How a client's state is read back, where it has one that must survive.
    pub state: Option<StateEntry>,
    /// Which server makes hints, where one does.
    pub upkeep: Option<UpkeepEntry>,
    /// The server's half.
    #[cfg(feature = "server")]
    pub server: ServerEntry,
}

/// `(params, artifact, held, delta)`: see [`Patch::patch`].
pub type PatchFn = fn(&[u8], Artifact, &mut [u8], &[u8]) -> Result<()>;

impl SchemeEntry {
    /// The entry of a scheme, for builds without servers.
    #[cfg(not(feature = "server"))]
    pub const fn new<S: Scheme>() -> Self {
        SchemeEntry {
            id: S::ID,
            title: S::TITLE,
            servers: <S::Fan<()> as Fan<()>>::SERVERS,
            queried: <S::Fan<()> as Fan<()>>::SERVERS,
            sets: <S::Params as Params>::sets,
            select: select::<S>,
            report: report::<S>,
            prepare: client::prepare::<S>,
            patch: None,
            units: None,
            state: None,
            upkeep: None,
        }
    }

    /// The entry of a scheme.
    #[cfg(feature = "server")]
    pub const fn new<S: crate::Serve>() -> Self {
        SchemeEntry {
            id: S::ID,
            title: S::TITLE,
            servers: <S::Fan<()> as Fan<()>>::SERVERS,
            queried: <S::Fan<()> as Fan<()>>::SERVERS,
            sets: <S::Params as Params>::sets,
            select: select::<S>,
            report: report::<S>,
            prepare: client::prepare::<S>,
            patch: None,
            units: None,
            state: None,
            upkeep: None,
            server: ServerEntry::new::<S>(),
        }
    }

    /// Adds the [`Patch`] capability.
    pub const fn with_patch<S: Patch>(mut self) -> Self {
        self.patch = Some(patch::<S>);
        self
    }

    /// Adds the [`Streamed`] capability, for builds without servers.
    #[cfg(not(feature = "server"))]
    pub const fn with_stream<S: Streamed>(self) -> Self {
        self.with_units::<S>()
    }

    /// Adds the [`Streamed`] and [`crate::Stream`] capability.
    #[cfg(feature = "server")]
    pub const fn with_stream<S: crate::Stream>(mut self) -> Self {
        self.server = self.server.with_stream::<S>();
        self.with_units::<S>()
    }

    const fn with_units<S: Streamed>(mut self) -> Self {
        self.units = Some(units::of::<S>);
        self.prepare = units::prepare::<S>;
        self
    }

    /// Adds the [`Stateful`] capability.
    pub const fn with_state<S: Stateful>(mut self) -> Self {
        self.state = Some(StateEntry::new::<S>());
        self.prepare = state::prepare::<S>;
        self
    }

    /// Adds the [`Stateful`] and [`crate::Upkeep`] capabilities, for builds without servers.
    #[cfg(not(feature = "server"))]
    pub const fn with_upkeep<S: crate::Upkeep>(self) -> Self {
        self.with_orders::<S>()
    }

    /// Adds the [`Stateful`], [`crate::Upkeep`] and [`crate::Supplier`] capabilities.
    #[cfg(feature = "server")]
    pub const fn with_upkeep<S: crate::Supplier>(mut self) -> Self {
        self.server = self.server.with_upkeep::<S>();
        self.with_orders::<S>()
    }

    const fn with_orders<S: crate::Upkeep>(mut self) -> Self {
        self.state = Some(upkeep::state_entry::<S>());
        self.upkeep = Some(UpkeepEntry::new::<S>());
        self.prepare = upkeep::prepare::<S>;
        if self.servers <= S::HELPER {
            self.servers = S::HELPER + 1;
        }
        self
    }

    /// Adds the [`crate::Stepped`] capability.
    #[cfg(feature = "server")]
    pub const fn with_steps<S: crate::Stepped>(mut self) -> Self {
        self.server = self.server.with_steps::<S>();
        self
    }

    /// Adds the [`crate::Revise`] capability.
    #[cfg(feature = "server")]
    pub const fn with_revise<S: crate::Revise>(mut self) -> Self {
        self.server = self.server.with_revise::<S>();
        self
    }
}

/// Parses and checks a literal.
pub(crate) fn checked<S: Scheme>(params: &[u8]) -> Result<S::Params> {
    // The message may quote text from the peer, and ends up in terminals.
    let printable =
        |e: serde_json::Error| e.to_string().chars().filter(|c| !c.is_control()).take(200).collect();
    let literal = serde_json::from_slice(params)
        .map_err(|e| ParamsError::Field { field: "params", why: printable(e) })?;
    S::Params::check(literal)
}

fn canonical<S: Scheme>(literal: &<S::Params as Params>::Literal) -> Result<Vec<u8>> {
    serde_json::to_vec(literal).map_err(|e| ParamsError::Field { field: "params", why: e.to_string() }.into())
}

fn select<S: Scheme>(shape: &Shape) -> Result<Vec<u8>> {
    if let Some(wanted) = &shape.set {
        let names: Vec<&str> = S::Params::sets().iter().map(|set| set.name).collect();
        if !names.contains(&wanted.as_str()) {
            let why = match names.as_slice() {
                [] => format!("{} has no named parameter sets", S::ID),
                names => format!("{} has no set of that name; it has {}", S::ID, names.join(", ")),
            };
            return Err(ParamsError::Field { field: "set", why }.into());
        }
    }
    let literal = S::Params::select(shape)?;
    S::Params::check(literal.clone())?;
    canonical::<S>(&literal)
}

fn report<S: Scheme>(params: &[u8]) -> Result<ParamsReport> {
    let params = checked::<S>(params)?;
    let mut report = params.report();
    report.digest = ParamsDigest::of(S::ID, &canonical::<S>(params.literal())?);
    Ok(report)
}

fn patch<S: Patch>(params: &[u8], artifact: Artifact, held: &mut [u8], delta: &[u8]) -> Result<()> {
    S::patch(&checked::<S>(params)?, artifact, held, delta)
}
