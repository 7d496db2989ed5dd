//! Apple's private lookups, beside the tables of other clients: the same listener, limits and threads.
//!
//! | module | what lives there |
//! |---|---|
//! | [`source`] | where use cases come from |
//! | `files` | use cases from the disk |
//! | `shelf` | which of them are live, and how newer ones take their place |
//! | `keys` | users' keys: in memory, and on disk over restarts |
//! | `tokens` | who may ask: an issuer of tokens, and whoever asks for them |
//! | `ledger` | what is spent and given, in a file |
//! | `fixed_time` | signatures whose time says nothing of their key |
//! | `lookups` | a request for lookups, answered one after the other between the passes |
//! | `reports` | addresses that filters on devices have blocked, where somebody wants to know |
//!
//! What a request says is read by [`sotto_apple::service`]. Users' keys are known by a name that they give, and kept by a keyed
//! hash of it, which is in no log and no metric. Turns and places do not go by that name, which anybody can invent.

pub(crate) mod files;
mod fixed_time;
pub(crate) mod keys;
pub(crate) mod lookup_job;
pub(crate) mod reports;
pub mod source;
mod token_ledger;
pub(crate) mod tokens;
pub(crate) mod use_cases;

pub use source::{UseCaseEpoch, UseCaseSource};

use crate::metrics::Metrics;
use crate::{ServerConfig, StartError};
use keys::UserKeyStore;
use reports::ReportLog;
use std::path::Path;
use std::sync::Arc;
use tokens::Tokens;
use use_cases::UseCaseSet;

/// What serves such lookups.
pub(crate) struct AppleServer {
    pub(crate) shelf: UseCaseSet,
    pub(crate) keys: UserKeyStore,
    /// What requests have to bring, if they do.
    pub(crate) tokens: Option<Arc<Tokens>>,
    /// Where reports of filters go.
    pub(crate) reports: Arc<ReportLog>,
}

impl AppleServer {
    /// Opens every use case, and takes up the keys of an earlier run.
    ///
    /// # Errors
    /// [`StartError`].
    pub(crate) fn open(
        config: &ServerConfig,
        sources: Vec<Box<dyn UseCaseSource>>,
        metrics: &Arc<Metrics>,
    ) -> Result<Option<Self>, StartError> {
        if sources.is_empty() {
            return Ok(None);
        }
        let apple = &config.apple;
        let shelf = UseCaseSet::open(sources, apple.kept)?;
        let state: Option<&Path> = config.state.as_deref();
        let keys = UserKeyStore::open(&apple.keys, state, metrics.clone())?;
        let open = |tokens| Tokens::open(tokens, state, keys.keep()).map(Arc::new);
        let tokens = apple.tokens.as_ref().map(open).transpose()?;
        let reports = Arc::new(ReportLog::open(apple.reports.as_deref(), apple.max_report_bytes)?);
        Ok(Some(AppleServer { shelf, keys, tokens, reports }))
    }
}
