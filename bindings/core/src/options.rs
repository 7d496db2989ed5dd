//! Options for opening a table: which key to trust, where to store files, how long to wait.

use crate::BindingError;
use serde::Deserialize;
use sotto_catalog::hex::ParseHexError;
use sotto_client::ClientError;
use sotto_client::table::OpenOptions;
use std::path::PathBuf;
use std::time::Duration;

/// Options for opening a table, all of which may be omitted.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject), pyo3(from_item_all))]
pub struct Options {
    /// Publisher's key, as `sotto encode` prints it.
    pub pin: Option<String>,
    /// Snapshot of the table to accept, as the digest of its catalog that `sotto inspect` prints;
    /// any other is refused.
    pub snapshot: Option<String>,
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
            cache: None,
            key_file: None,
            state: None,
            rollback_dir: None,
            in_memory: false,
            fresh_keys: false,
            require_row_proofs: false,
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
    /// [`crate::ErrorKind::Misuse`] for an invalid key, digest or duration.
    pub(crate) fn parse(self) -> Result<OpenOptions, BindingError> {
        let pin = self.pin.as_deref().map(str::parse).transpose().map_err(ClientError::from)?;
        let snapshot =
            self.snapshot.as_deref().map(str::parse).transpose().map_err(|error: ParseHexError| {
                BindingError::misuse(
                    format!("the snapshot is not a digest: {error}"),
                    "give the snapshot that `sotto inspect` prints",
                )
            })?;
        let open = OpenOptions::default();
        Ok(OpenOptions {
            pin,
            snapshot,
            cache_dir: self.cache,
            key_file: self.key_file,
            state_dir: self.state,
            anchor_dir: self.rollback_dir,
            state_in_memory: self.in_memory,
            max_keys_age: if self.fresh_keys { Duration::ZERO } else { open.max_keys_age },
            require_row_proofs: self.require_row_proofs,
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
        .map_err(|_| BindingError::misuse(format!("{what} is not a duration: {seconds}"), fix))
}
