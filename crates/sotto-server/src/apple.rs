//! Apple's private lookups, next to the tables of other clients: on the same listener, with the
//! same limits and threads.
//!
//! | module | contents |
//! |---|---|
//! | [`sources`] | where use cases come from: files on disk, or folders of epochs |
//! | `use_cases` | which use cases are live, and how newer ones replace them |
//! | `keys` | users' keys: in memory, and on disk across restarts |
//! | `tokens` | an issuer of tokens, and the verification of tokens in requests |
//! | `token_ledger` | which tokens were spent and issued, in a file |
//! | `fixed_time` | signatures whose time reveals nothing of their key |
//! | `lookup_job` | a request for lookups, answered step by step between the passes |
//! | `metrics` | what is counted of lookups and of users' keys |
//! | `reports` | addresses that filters on devices have blocked, if the operator collects them |
//!
//! The messages are decoded by [`sotto_apple::service`]. Users' keys are identified by a name in
//! the request, and stored under a keyed hash of it, which is in no log and no metric. Fair queuing
//! and limits do not use that name, since a client can invent any.

mod fixed_time;
pub(crate) mod keys;
pub(crate) mod lookup_job;
pub(crate) mod metrics;
pub(crate) mod reports;
pub mod sources;
mod token_ledger;
pub(crate) mod tokens;
pub(crate) mod use_cases;

pub use sources::{UseCaseEpoch, UseCaseSource};

use crate::session_store::metrics::SessionMetrics;
use crate::{ServerConfig, StartError};
use keys::UserKeyStore;
use reports::ReportLog;
use std::path::Path;
use std::sync::Arc;
use tokens::Tokens;
use use_cases::UseCaseSet;

/// State of the server for Apple's private lookups.
pub(crate) struct AppleServer {
    pub(crate) use_cases: UseCaseSet,
    pub(crate) keys: UserKeyStore,
    /// Token issuer, if requests have to bring tokens.
    pub(crate) tokens: Option<Arc<Tokens>>,
    /// Log for reports of filters.
    pub(crate) reports: Arc<ReportLog>,
}

impl AppleServer {
    /// Opens every use case, and loads the keys of an earlier run.
    ///
    /// # Errors
    /// [`StartError`].
    pub(crate) fn open(
        config: &ServerConfig,
        sources: Vec<Box<dyn UseCaseSource>>,
        metrics: SessionMetrics,
    ) -> Result<Option<Self>, StartError> {
        if sources.is_empty() {
            return Ok(None);
        }
        let apple = &config.apple;
        let use_cases = UseCaseSet::open(sources, apple.configurations_kept)?;
        let state: Option<&Path> = config.state.as_deref();
        let keys = UserKeyStore::open(&apple.keys, state, metrics)?;
        let open = |tokens| Tokens::open(tokens, state, keys.count_store()).map(Arc::new);
        let tokens = apple.tokens.as_ref().map(open).transpose()?;
        let reports = Arc::new(ReportLog::open(apple.reports.as_deref(), apple.max_report_bytes)?);
        Ok(Some(AppleServer { use_cases, keys, tokens, reports }))
    }
}
