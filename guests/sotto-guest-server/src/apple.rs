//! Apple's private lookups, next to the tables of other clients: on the same listener, with the
//! same limits and threads.
//!
//! | module | contents |
//! |---|---|
//! | `config` | the section `[apple]` |
//! | `routes` | `/config`, `/key`, `/queries` and `/report` |
//! | `use_cases` | where use cases come from, and how newer ones replace live ones |
//! | `keys` | users' keys: in memory, and on disk across restarts |
//! | `lookup_job` | a request for lookups, answered step by step between the passes |
//! | `metrics` | what is counted of lookups and of users' keys |
//! | `reports` | addresses that filters on devices have blocked, if the operator collects them |
//!
//! The messages are decoded by [`sotto_apple::service`]. Users' keys are identified by a name in
//! the request, and stored under a keyed hash of it, which is in no log and no metric. Fair queuing
//! and limits do not use that name, since a client can invent any.

mod config;
mod keys;
mod lookup_job;
pub(crate) mod metrics;
mod reports;
mod routes;
mod use_cases;

pub use config::{AppleConfig, AppleKeys};
pub use use_cases::{UseCaseEpoch, UseCaseSource};

use crate::tokens::{self, Tokens};
use axum::Router;
use keys::UserKeyStore;
use metrics::{AppleMetrics, PREFIX};
use reports::ReportLog;
use serde_json::json;
use sotto_server::StartError;
use sotto_server::database::CopyTo;
use sotto_server::extension::{
    Extension, ExtensionContext, ExtensionNeeds, ExtensionReload, ExtensionSetup, Host, now,
};
use std::sync::Arc;
use std::time::Duration;
use use_cases::UseCaseSet;

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
