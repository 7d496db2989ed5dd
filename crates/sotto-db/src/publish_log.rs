//! Writes published catalogs and stacks to their publisher's log.
//!
//! ```text
//! DIR/log.path   path of the log, once the folder has one
//! ```
//!
//! An entry is written after the epoch that it is about, and every run considers everything that is
//! published: what a killed run left out is written by the next one, and existing entries are not
//! written twice.

use crate::files::{bounded, whole};
use crate::{DbError, Result, StackDir, TableDir};
use sotto_catalog::SigningKey;
use sotto_tlog::appender::Appender;
use sotto_tlog::catalogs::EntryKind;
use sotto_tlog::{LogEntry, LogError};
use std::path::{Path, PathBuf};

/// Name of the file with the path of the log.
pub const LOG_PATH: &str = "log.path";

/// Largest length of a path in bytes.
const MAX_PATH_BYTES: u64 = 4096;

/// Summary of an update of a log.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogUpdate {
    /// Folder of the log.
    pub folder: PathBuf,
    /// Number of entries that were added.
    pub added: u64,
    /// Number of entries in the log.
    pub entries: u64,
}

/// Writes everything that is published in a table's or a stack's folder to its publisher's log: the
/// given one, or else the one that was used last. Returns `None` if the folder never had a log.
///
/// # Errors
/// [`DbError::Log`]; [`DbError::Io`], and [`DbError::Catalog`] for a file in the folder that cannot
/// be read.
pub fn publish_to_log(dir: &Path, log: Option<&Path>, key: &SigningKey) -> Result<Option<LogUpdate>> {
    let named = log.map(|log| std::path::absolute(log).map_err(|e| DbError::io("finding the log", log, e)));
    let Some(folder) = named.map_or_else(|| self::log_folder(dir), |named| named.map(Some))? else {
        return Ok(None);
    };
    let failed = |source: LogError| DbError::Log { folder: folder.clone(), source: Box::new(source) };
    let entries = published(dir, key)?;
    let mut appender = Appender::open(&folder, key).map_err(failed)?;
    // The log belongs to this publisher: from now on the folder has a log, even if this run fails.
    remember(dir, &folder)?;
    let mut added = 0;
    for entry in &entries {
        // An older epoch that could not be read in time is not in the log, and cannot follow a
        // later one.
        let is_newest = entries.iter().all(|other| !same_name(entry, other) || other.epoch <= entry.epoch);
        if !is_newest && appender.is_past(entry) {
            continue;
        }
        added += u64::from(appender.add(entry).map_err(failed)?);
    }
    appender.publish().map_err(failed)?;
    Ok(Some(LogUpdate { entries: appender.size(), added, folder }))
}

fn same_name(one: &LogEntry, other: &LogEntry) -> bool {
    (one.kind, &one.name) == (other.kind, &other.name)
}

/// Folder of the log that a table's or a stack's folder was written to last, if there is one.
///
/// # Errors
/// [`DbError::Io`] if the file with its path cannot be read.
pub fn log_folder(dir: &Path) -> Result<Option<PathBuf>> {
    let file = dir.join(LOG_PATH);
    if !file.is_file() {
        return Ok(None);
    }
    let text = String::from_utf8(bounded(&file, MAX_PATH_BYTES)?);
    let invalid = |_| DbError::io("reading where the log is", &file, std::io::ErrorKind::InvalidData.into());
    Ok(Some(PathBuf::from(text.map_err(invalid)?.trim_end_matches('\n'))))
}

/// Stores the path of the log beside the table.
fn remember(dir: &Path, log: &Path) -> Result<()> {
    if log_folder(dir)?.as_deref() == Some(log) {
        return Ok(());
    }
    let text = log.to_str().ok_or_else(|| {
        DbError::io("the log's path is not UTF-8", log, std::io::ErrorKind::InvalidInput.into())
    })?;
    whole(&dir.join(LOG_PATH), format!("{text}\n").as_bytes(), "writing")
}

/// Log entries of everything that this key has signed in a folder: of a stack, first the tables
/// that it names, and then the stack.
fn published(dir: &Path, key: &SigningKey) -> Result<Vec<LogEntry>> {
    let public = key.public();
    let malformed = |source: LogError| DbError::Log { folder: dir.to_owned(), source: Box::new(source) };
    if let Some(stack) = StackDir::find(dir) {
        let (signed, stack) = stack.read()?;
        if !signed.public_key().accepts(&public) {
            return Ok(Vec::new());
        }
        let tables = stack.shards.iter().map(|shard| {
            LogEntry::new(EntryKind::Catalog, shard.table.clone(), shard.epoch, shard.catalog, public)
        });
        let stack = LogEntry::stack(&stack, public).map_err(malformed)?;
        return Ok(tables.chain([stack]).collect());
    }
    let table = TableDir::open(dir)?;
    let mut entries = Vec::new();
    for epoch in table.epochs()? {
        // A damaged image is not served, and does not keep the others out of the log.
        let Ok(image) = table.open_epoch(epoch) else { continue };
        if image.signed_catalog().public_key().accepts(&public) {
            entries.push(LogEntry::catalog(image.catalog(), public).map_err(malformed)?);
        }
    }
    Ok(entries)
}
