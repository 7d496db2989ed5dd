//! Options for opening a table: which key to trust, where to store files, how long to wait.

use crate::BindingError;
use serde::Deserialize;
use sotto_catalog::AnchorError;
use sotto_catalog::hex::ParseHexError;
use sotto_client::ClientError;
#[cfg(feature = "witness")]
use sotto_client::session::witness::DEFAULT_MAX_AGE;
use sotto_client::table::OpenOptions;
#[cfg(feature = "witness")]
use sotto_tlog::Policy;
use std::path::PathBuf;
#[cfg(feature = "witness")]
use std::sync::Arc;
use std::time::Duration;

/// Options for opening a table, all of which may be omitted.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject), pyo3(from_item_all))]
pub struct Options {
    /// Publisher's key, as `sotto encode` prints it; `sotto-pq:...` demands an ML-DSA-44 signature
    /// too.
    pub pin: Option<String>,
    /// Snapshot of the table to accept, as the digest of its catalog that `sotto inspect` prints;
    /// any other is refused.
    pub snapshot: Option<String>,
    /// State of another system that the table has to be made from, such as a block of a chain, as
    /// `sotto encode --anchor` names it; any other is refused.
    pub anchor: Option<String>,
    /// Text of a trust policy (C2SP tlog-policy): only what is in a log of it, with the cosignatures
    /// of its quorum, is accepted.
    #[cfg(feature = "witness")]
    pub policy: Option<String>,
    /// Maximum age of cosignatures in seconds, for which a server could keep showing an old table.
    #[cfg(feature = "witness")]
    pub witness_age: f64,
    /// Folder for hints, registered keys, and what was seen of tables.
    pub cache: Option<PathBuf>,
    /// File with the key that encrypts stored keys, if it is not in the cache.
    pub key_file: Option<PathBuf>,
    /// Folder for the durable states of clients whose hints are used up.
    pub state: Option<PathBuf>,
    /// Folder for rollback counters, which expose an old copy of a state.
    pub rollback_dir: Option<PathBuf>,
    /// Whether a durable state may be in memory alone.
    pub in_memory: bool,
    /// Whether to register keys for this opening alone.
    pub fresh_keys: bool,
    /// Whether to refuse a table without row proofs.
    pub require_row_proofs: bool,
    /// Whether to refuse a table whose answers are not authenticated.
    pub require_authenticated_answers: bool,
    /// Maximum wait in seconds for a busy server, or for another process that has the state open.
    pub max_wait: f64,
    /// Maximum duration of one request in seconds.
    #[cfg(feature = "http")]
    pub timeout: f64,
    /// File with the roots to trust instead of the web's.
    #[cfg(feature = "http")]
    pub trust_root: Option<PathBuf>,
    /// Whether several servers may be reached without TLS.
    #[cfg(feature = "http")]
    pub insecure_plaintext: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            pin: None,
            snapshot: None,
            anchor: None,
            #[cfg(feature = "witness")]
            policy: None,
            #[cfg(feature = "witness")]
            witness_age: DEFAULT_MAX_AGE.as_secs_f64(),
            cache: None,
            key_file: None,
            state: None,
            rollback_dir: None,
            in_memory: false,
            fresh_keys: false,
            require_row_proofs: false,
            require_authenticated_answers: false,
            max_wait: 120.0,
            #[cfg(feature = "http")]
            timeout: 60.0,
            #[cfg(feature = "http")]
            trust_root: None,
            #[cfg(feature = "http")]
            insecure_plaintext: false,
        }
    }
}

impl Options {
    /// The options of the client.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Misuse`] for an invalid key, digest, policy or duration.
    pub(crate) fn parse(self) -> Result<OpenOptions, BindingError> {
        let pin = self.pin.as_deref().map(str::parse).transpose().map_err(ClientError::from)?;
        let snapshot =
            self.snapshot.as_deref().map(str::parse).transpose().map_err(|error: ParseHexError| {
                BindingError::misuse(
                    format!("the snapshot is not a digest: {error}"),
                    "give the snapshot that `sotto inspect` prints",
                )
            })?;
        let anchor = self.anchor.as_deref().map(str::parse).transpose().map_err(|error: AnchorError| {
            BindingError::misuse(error.to_string(), "give the anchor that the publisher names")
        })?;
        #[cfg(feature = "witness")]
        let policy = self.policy.map(|text| Policy::parse(text.as_bytes())).transpose().map_err(|error| {
            let fix = "write it as c2sp.org/tlog-policy says: log, witness, group and quorum lines";
            BindingError::misuse(error.to_string(), fix)
        })?;
        let open = OpenOptions::default();
        Ok(OpenOptions {
            pin,
            snapshot,
            anchor,
            #[cfg(feature = "witness")]
            policy: policy.map(Arc::new),
            #[cfg(feature = "witness")]
            witness_age: seconds("witness_age", self.witness_age)?,
            cache_dir: self.cache,
            key_file: self.key_file,
            state_dir: self.state,
            rollback_dir: self.rollback_dir,
            state_in_memory: self.in_memory,
            max_keys_age: if self.fresh_keys { Duration::ZERO } else { open.max_keys_age },
            require_row_proofs: self.require_row_proofs,
            require_authenticated_answers: self.require_authenticated_answers,
            max_wait: seconds("max_wait", self.max_wait)?,
            #[cfg(feature = "http")]
            timeout: seconds("timeout", self.timeout)?,
            #[cfg(feature = "http")]
            trust_root: self.trust_root,
            #[cfg(feature = "http")]
            insecure_plaintext: self.insecure_plaintext,
            ..open
        })
    }
}

fn seconds(what: &str, seconds: f64) -> Result<Duration, BindingError> {
    let fix = "give a number of seconds, such as 60";
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| BindingError::misuse(format!("{what} is not a duration: {seconds:.3}"), fix))
}
