//! Apple's private lookups, next to the tables of other clients: on the same listener, with the
//! same limits and threads.
//!
//! | module | contents |
//! |---|---|
//! | this one | the section `[apple]`, and the state of a server |
//! | `routes` | `/config`, `/key`, `/queries` and `/report`: lookups step by step, reports in a file |
//! | `use_cases` | where use cases come from, and how newer ones replace live ones |
//! | `keys` | users' keys: in memory, and on disk across restarts |
//! | `metrics` | what is counted of lookups and of users' keys |
//!
//! The messages are decoded by [`sotto_apple::service`]. Users' keys are identified by a name in
//! the request, and stored under a keyed hash of it, which is in no log and no metric. Fair queuing
//! and limits do not use that name, since a client can invent any.

use crate::apple::keys::UserKeyStore;
use crate::apple::metrics::{AppleMetrics, PREFIX};
use crate::apple::routes::ReportLog;
use crate::apple::use_cases::UseCaseSet;
pub use crate::apple::use_cases::{UseCaseEpoch, UseCaseSource};
use crate::tokens::Tokens;
use crate::{TokenConfig, tokens};
use axum::Router;
use serde::Deserialize;
use serde_json::json;
use sotto_server::config::at_least_one;
use sotto_server::database::CopyTo;
use sotto_server::extension::{
    Extension, ExtensionContext, ExtensionNeeds, ExtensionReload, ExtensionSetup, Host, now,
};
use sotto_server::{SessionConfig, StartError};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

mod keys;
pub(crate) mod metrics;
mod routes;
mod use_cases;

/// Apple's private lookups with their settings, not opened yet.
pub struct AppleSetup {
    config: AppleConfig,
    sources: Option<Vec<Box<dyn UseCaseSource>>>,
}

impl AppleSetup {
    /// The use cases of a configuration.
    pub fn new(config: AppleConfig) -> Self {
        AppleSetup { config, sources: None }
    }

    /// The use cases of the given sources; those of the configuration are ignored.
    pub fn with_sources(config: AppleConfig, sources: Vec<Box<dyn UseCaseSource>>) -> Self {
        AppleSetup { config, sources: Some(sources) }
    }
}

impl ExtensionSetup for AppleSetup {
    fn check(&self) -> Result<(), String> {
        self.config.check()
    }

    fn needs(&self) -> ExtensionNeeds {
        let has_tables = !self.config.use_cases.is_empty() || self.sources.is_some();
        ExtensionNeeds { has_tables, max_stepped: self.config.max_requests, relays: Vec::new() }
    }

    fn open(
        self: Box<Self>,
        context: ExtensionContext<'_>,
    ) -> Result<Option<Arc<dyn Extension>>, StartError> {
        let ExtensionContext { config: server, copies, registry, metrics: of_server } = context;
        let metrics = Arc::new(AppleMetrics::register(registry, PREFIX));
        let AppleSetup { config, sources } = *self;
        let sources = sources.unwrap_or_else(|| use_cases::sources(&config, server.residency, copies));
        if sources.is_empty() {
            return Ok(None);
        }
        let (use_cases, state) =
            (UseCaseSet::open(sources, config.configurations_kept)?, server.state.as_deref());
        let keys = UserKeyStore::open(&config.keys, state, of_server)?;
        let open = |tokens| Tokens::open(tokens, state, keys.sessions.count_store()).map(Arc::new);
        let tokens = config.tokens.as_ref().map(open).transpose()?;
        let reports = ReportLog::open(config.reports.as_deref(), config.max_report_bytes)?;
        Ok(Some(Arc::new(Apple { use_cases, keys, tokens, reports, metrics })))
    }
}

/// State of a server for Apple's private lookups.
pub struct Apple {
    use_cases: UseCaseSet,
    keys: UserKeyStore,
    /// Token issuer, if requests have to bring tokens.
    tokens: Option<Arc<Tokens>>,
    /// Log for reports of filters.
    reports: ReportLog,
    metrics: Arc<AppleMetrics>,
}

impl Apple {
    /// The use cases by name, with the number of live configurations of each.
    pub fn use_cases(&self) -> Vec<(String, usize)> {
        self.use_cases.live().use_cases().map(|(name, all)| (name.to_owned(), all.len())).collect()
    }
}

impl Extension for Apple {
    fn routes(self: Arc<Self>, host: &Arc<Host>) -> Router {
        let issuer = self.tokens.as_ref().map(|tokens| tokens::routes::routes(tokens.clone(), host));
        routes::routes(self, host).merge(issuer.unwrap_or_default())
    }

    fn label(&self, path: &str) -> Option<&'static str> {
        routes::label(path).or_else(|| tokens::routes::label(path))
    }

    fn sweep(&self) {
        self.keys.sessions.sweep(now());
        if let Some(tokens) = &self.tokens {
            tokens.refresh();
            tokens.sweep();
        }
    }

    fn sweep_every(&self) -> Option<Duration> {
        Some(self.keys.sessions.sweep_every())
    }

    fn stores(&self) -> Vec<&dyn CopyTo> {
        let tokens = self.tokens.as_ref().and_then(|tokens| tokens.store());
        self.keys.sessions.store().into_iter().chain(tokens).collect()
    }

    fn update_gauges(&self) {
        self.metrics.update_gauges(&self.use_cases.live(), &self.keys.sessions);
    }

    fn reload(&self) -> ExtensionReload {
        let outcomes = self.use_cases.reload();
        self.tokens.iter().for_each(|tokens| tokens.refresh());
        let report = outcomes.iter().map(|outcome| {
            json!({ "use_case": outcome.use_case, "changed": outcome.changed, "refused": outcome.refused })
        });
        ExtensionReload {
            changed: outcomes.iter().any(|outcome| outcome.changed),
            failures: outcomes.iter().filter(|outcome| outcome.refused.is_some()).count() as u64,
            report: Some(("use_cases", report.collect())),
        }
    }
}

/// Tables for phones in Apple's protocol, with `POST /config`, `/key` and `/queries` next to the
/// routes of all other tables.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AppleConfig {
    /// Files of `sotto encode --apple`, or folders of their epochs, which are checked for new ones.
    pub use_cases: Vec<PathBuf>,
    /// Number of configurations of a use case before its newest one that still answer clients that
    /// know them; other clients are notified that theirs is retired (410), and request the newest.
    pub configurations_kept: usize,
    /// Whether to serve parameters below 128 bits of security.
    pub allow_insecure_params: bool,
    /// Maximum number of lookup requests that wait. A further one replaces one of the requester
    /// that has the most lookups waiting, which gets 429: an address, or a token if requests bring
    /// tokens. If no requester has more than the sender, the further one gets it.
    pub max_requests: usize,
    /// Limits on users' keys.
    pub keys: AppleKeys,
    /// Tokens that requests have to bring; without them any client may make requests.
    pub tokens: Option<TokenConfig>,
    /// File to which reports of URL filters on supervised devices are appended, a line of JSON
    /// each. Without it they are dropped.
    pub reports: Option<PathBuf>,
    /// Maximum bytes of the report file; later reports are dropped.
    pub max_report_bytes: u64,
}

/// Limits on users' keys, over all use cases. A user whose keys were evicted is asked to send them
/// again.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AppleKeys {
    /// Maximum bytes of keys in memory, ready for lookups; the least recently used of the address
    /// that has the most are evicted first, and read again from the state directory.
    pub max_bytes: u64,
    /// Maximum bytes of keys in the state directory, as users sent them, evicted in the same order.
    /// Their file is half as large again.
    pub max_stored_bytes: u64,
    /// Time in seconds after which unused keys expire.
    pub ttl_seconds: u64,
    /// Maximum number of keys of one address. 0: any number, since phones use relays, which many
    /// share.
    pub sessions_per_client: usize,
    /// Number of uploads of one address that may arrive at once, and how many more each minute
    /// allows; others get 429. 0: any number.
    pub registrations_per_minute: u32,
}

impl Default for AppleConfig {
    fn default() -> Self {
        AppleConfig {
            use_cases: Vec::new(),
            configurations_kept: 1,
            allow_insecure_params: false,
            max_requests: 128,
            keys: AppleKeys::default(),
            tokens: None,
            reports: None,
            max_report_bytes: 1 << 30,
        }
    }
}

impl Default for AppleKeys {
    fn default() -> Self {
        AppleKeys {
            max_bytes: 4 << 30,
            max_stored_bytes: 16 << 30,
            ttl_seconds: 30 * 86_400,
            sessions_per_client: 0,
            registrations_per_minute: 0,
        }
    }
}

impl AppleConfig {
    /// Checks the rules that the types do not express.
    fn check(&self) -> Result<(), String> {
        self.tokens.as_ref().map_or(Ok(()), TokenConfig::check)?;
        at_least_one(&[("apple.max_requests", self.max_requests as u64)])
    }
}

impl AppleKeys {
    /// Limits of users' keys in the form of [`SessionConfig`].
    pub(crate) fn sessions(&self) -> SessionConfig {
        let AppleKeys {
            max_bytes,
            max_stored_bytes,
            ttl_seconds,
            sessions_per_client,
            registrations_per_minute,
        } = *self;
        SessionConfig {
            max_bytes,
            max_stored_bytes,
            ttl_seconds,
            sessions_per_client,
            registrations_per_minute,
        }
    }
}
