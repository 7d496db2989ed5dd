//! The arguments of publishing: the log that a publisher writes catalogs into, and their lifetime.

use super::connect_args::duration;
use super::encode;
use crate::exit_mapping;
use crate::failure::Result;
use crate::screen::Screen;
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
    pub(super) fn into(catalog_log: Option<PathBuf>) -> Self {
        PublishArgs { catalog_log, expires: None }
    }

    /// Whether any of the arguments was given.
    pub(super) fn is_asked(&self) -> bool {
        self.catalog_log.is_some() || self.expires.is_some()
    }

    /// The lifetime that was given, in seconds.
    pub(super) fn asked(&self) -> Option<u64> {
        self.expires.map(|lifetime| lifetime.as_secs())
    }

    /// The lifetime of a new catalog in seconds.
    pub(super) fn lifetime(&self) -> Option<u64> {
        self.asked().filter(|lifetime| *lifetime > 0)
    }

    /// Writes everything published in a folder into the log, if there is one. Returns the report as
    /// JSON.
    pub(super) fn write(&self, dir: &Path, key: &SigningKey, screen: Screen) -> Result<Value> {
        match publish_log::publish_to_log(dir, self.catalog_log.as_deref(), key).map_err(exit_mapping::db)? {
            None => Ok(Value::Null),
            Some(log) => {
                screen.say(said(&log))?;
                Ok(told(&log))
            }
        }
    }

    /// Writes everything published in a folder into the log, as [`Self::write`] does, with the key
    /// that signed it.
    pub(super) fn write_with(&self, dir: &Path, key: Option<&Path>, screen: Screen) -> Result<Value> {
        let folder = TableDir::open(dir).map_err(exit_mapping::db)?;
        self.write(dir, &encode::signing_key(&folder, key)?, screen)
    }
}

fn said(log: &LogUpdate) -> String {
    let LogUpdate { folder, added, entries } = log;
    let folder = folder.display();
    format!(
        "log: {added} added, {entries} entries in {folder}; have it cosigned (sotto log cosign {folder} ...)"
    )
}

fn told(log: &LogUpdate) -> Value {
    json!({ "folder": log.folder, "added": log.added, "entries": log.entries })
}
