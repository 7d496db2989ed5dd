//! Extensions: protocols that a server answers besides its own, on the same listeners, with the
//! same threads, memory and limits.
//!
//! An [`ExtensionSetup`] has the settings of a protocol; opening it gives an [`Extension`], whose
//! routes use the server by its [`Host`]. The server's own modules name no protocol: the caller that
//! starts a server chooses them, with [`Server::start_watched`](crate::Server::start_watched).

pub use crate::body::BodyReader;
pub use crate::client::{Peer, Requester};
pub use crate::database;
pub use crate::host::{Host, HttpResult, Nested, holding, octets, response};
pub use crate::http_error::{ForeignError, HttpError};
pub use crate::limits::counts::CountStore;
pub use crate::limits::rate::{Rate, RateLimit};
pub use crate::limits::slots::{BodyMemory, Permit};
pub use crate::low_priority::LowPriorityPool;
pub use crate::metrics::{MediumLabel, ServerMetrics, gauge_value};
pub use crate::scheduler::{StepOutcome, StepWork};
pub use crate::session_store::SessionOwner;
pub use crate::sessions::{Registration, SessionCounts, SessionPlace, Sessions, now};

use crate::database::CopyTo;
use crate::{ServerConfig, StartError};
use axum::Router;
use prometheus_client::registry::Registry;
use sotto_db::CopyBudget;
use std::any::Any;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// The settings of a protocol.
pub trait ExtensionSetup: Send {
    /// Checks the rules that the types of the settings do not express.
    ///
    /// # Errors
    /// A message for a person.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// What the protocol needs of the server's limits.
    fn needs(&self) -> ExtensionNeeds {
        ExtensionNeeds::default()
    }

    /// Registers the protocol's metrics, and opens what it serves; `None` if that is nothing.
    ///
    /// # Errors
    /// [`StartError`].
    fn open(self: Box<Self>, context: ExtensionContext<'_>)
    -> Result<Option<Arc<dyn Extension>>, StartError>;
}

/// What a protocol needs of a server's limits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtensionNeeds {
    /// Whether it serves tables of its own, so that a server needs no others.
    pub has_tables: bool,
    /// Maximum number of requests in steps that wait.
    pub max_stepped: usize,
    /// Addresses that `connections_per_client` does not apply to, since many clients use them.
    pub relays: Vec<IpAddr>,
}

/// What a protocol is opened with.
pub struct ExtensionContext<'a> {
    /// Configuration of the server.
    pub config: &'a ServerConfig,
    /// Memory for copies of tables, shared by all of them.
    pub copies: &'a Arc<CopyBudget>,
    /// Registry of metrics, to which those of the protocol are added.
    pub registry: &'a mut Registry,
    /// Metrics of the server, which count evictions of all sessions.
    pub metrics: Arc<ServerMetrics>,
}

/// A protocol that is served. Its routes may keep the [`Host`].
pub trait Extension: Any + Send + Sync {
    /// The routes next to the server's own.
    fn routes(self: Arc<Self>, _host: &Arc<Host>) -> Router {
        Router::new()
    }

    /// The name of a route in the metrics, if it is one of these.
    fn label(&self, _path: &str) -> Option<&'static str> {
        None
    }

    /// All routes, with others in front of them or around them.
    fn around(self: Arc<Self>, _host: &Arc<Host>, routes: Router) -> Router {
        routes
    }

    /// Drops what has expired, and renews what is due. Blocks on the disk.
    fn sweep(&self) {}

    /// Maximum interval between two calls of [`Self::sweep`].
    fn sweep_every(&self) -> Option<Duration> {
        None
    }

    /// The databases in the state folder.
    fn stores(&self) -> Vec<&dyn CopyTo> {
        Vec::new()
    }

    /// Sets gauges to the current values.
    fn update_gauges(&self) {}

    /// Checks for new epochs of its tables, and for changed files. Blocks on files.
    fn reload(&self) -> ExtensionReload {
        ExtensionReload::default()
    }
}

/// Result of a check for new epochs.
#[derive(Debug, Clone, Default)]
pub struct ExtensionReload {
    /// Whether anything has changed.
    pub changed: bool,
    /// Number of tables of which a newer epoch was refused.
    pub failures: u64,
    /// Entry of the report to the operator: its key and its value.
    pub report: Option<(&'static str, serde_json::Value)>,
}
