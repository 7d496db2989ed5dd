//! The arguments of publishing: the log that a publisher writes catalogs into, and their lifetime;
//! and the key that signs them.

use crate::connect_args::duration;
use crate::failure::{Failure, Result};
use serde_json::{Value, json};
use sotto_catalog::SigningKey;
use sotto_db::{LogUpdate, TableDir, publish_log};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of every verb that publishes.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct PublishArgs {
    /// Folder of the publisher's log, to add this catalog and later ones to: it exposes a second
    /// catalog of the same epoch. See `sotto log`
    #[arg(long, value_name = "DIR")]
    catalog_log: Option<PathBuf>,
    /// Lifetime of the catalog: 7d, 12h; 0: no limit [default: no limit; for an update, as before]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    expires: Option<Duration>,
}

impl PublishArgs {
    /// Sets a log, and nothing else.
    pub(crate) fn with_log(catalog_log: Option<PathBuf>) -> Self {
        PublishArgs { catalog_log, expires: None }
    }

    /// Whether any of the arguments was given.
    pub(crate) fn is_given(&self) -> bool {
        self.catalog_log.is_some() || self.expires.is_some()
    }

    /// The lifetime that was given, in seconds.
    pub(crate) fn given_lifetime(&self) -> Option<u64> {
        self.expires.map(|lifetime| lifetime.as_secs())
    }

    /// The lifetime of a new catalog in seconds.
    pub(crate) fn lifetime(&self) -> Option<u64> {
        self.given_lifetime().filter(|lifetime| *lifetime > 0)
    }

    /// Writes everything published in a folder into the log, if there is one.
    pub(crate) fn write(&self, dir: &Path, key: &SigningKey) -> Result<Option<LogUpdate>> {
        Ok(publish_log::publish_to_log(dir, self.catalog_log.as_deref(), key)?)
    }

    /// Writes everything published in a folder into the log, as [`Self::write`] does, with the key
    /// that signed it.
    pub(crate) fn write_with(&self, dir: &Path, key: Option<&Path>) -> Result<Option<LogUpdate>> {
        let folder = TableDir::open(dir)?;
        self.write(dir, &signing_key(&folder, key)?)
    }
}

/// What was added to a log, for a script; null without a log.
pub(crate) fn log_json(log: Option<&LogUpdate>) -> Value {
    log.map_or(Value::Null, |LogUpdate { folder, added, entries }| {
        json!({ "folder": folder, "added": added, "entries": entries })
    })
}

/// The line about what was added to a log.
pub(crate) fn log_line(LogUpdate { folder, added, entries }: &LogUpdate) -> String {
    let folder = folder.display();
    format!(
        "log: {added} added, {entries} entries in {folder}; have it cosigned (sotto log cosign {folder} ...)"
    )
}

/// The key that signs the table in `dir`.
pub(crate) fn signing_key(dir: &TableDir, path: Option<&Path>) -> Result<SigningKey> {
    dir.signing_key(path, &mut sotto_prg::system_rng()?).map_err(Failure::from)
}
