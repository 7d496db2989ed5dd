//! Catalogs and stacks in their publisher's log, once they are published.
//!
//! ```text
//! DIR/log.path   where the log is, once the folder has one
//! ```
//!
//! An entry is written after what it is about, and every run looks for all that is published: what a run that was killed left out
//! is in the log after the next one, and what is there already is not written twice.

use crate::stack::{bounded, whole};
use crate::{DbError, Result, StackDir, TableDir};
use sotto_catalog::SigningKey;
use sotto_tlog::appender::Appender;
use sotto_tlog::catalogs::EntryKind;
use sotto_tlog::{LogEntry, LogError};
use std::path::{Path, PathBuf};

/// Where it is said where the log is.
pub const LOG_PATH: &str = "log.path";

/// Most bytes of a path.
const MAX_PATH_BYTES: u64 = 4096;

/// What became of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogUpdate {
    /// Its folder.
    pub folder: PathBuf,
    /// Entries that were added.
    pub added: u64,
    /// Entries there are.
    pub entries: u64,
}

/// Writes all that is published in a table's or a stack's folder into its publisher's log: the one that is named, or else the one
/// that was named the last time. `None` if none ever was.
///
/// # Errors
/// [`DbError::Log`]; [`DbError::Io`], and [`DbError::Catalog`] for what cannot be read in the folder.
pub fn publish_to_log(dir: &Path, log: Option<&Path>, key: &SigningKey) -> Result<Option<LogUpdate>> {
    let named = log.map(|log| std::path::absolute(log).map_err(|e| DbError::io("finding the log", log, e)));
    let Some(folder) = named.map_or_else(|| self::log_folder(dir), |named| named.map(Some))? else {
        return Ok(None);
    };
    let failed = |source: LogError| DbError::Log { folder: folder.clone(), source: Box::new(source) };
    let entries = published(dir, key)?;
    let mut appender = Appender::open(&folder, key).map_err(failed)?;
    // It is this publisher's: from now on the folder has a log, whatever comes of this run.
    remember(dir, &folder)?;
    let mut added = 0;
    for entry in &entries {
        // An older epoch that nobody could read when its turn was is not in the log, and cannot come after a later one.
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

/// Where the log is that a table's or a stack's folder was written into the last time, if there is one.
///
/// # Errors
/// [`DbError::Io`] if what says so cannot be read.
pub fn log_folder(dir: &Path) -> Result<Option<PathBuf>> {
    let file = dir.join(LOG_PATH);
    if !file.is_file() {
        return Ok(None);
    }
    let text = String::from_utf8(bounded(&file, MAX_PATH_BYTES)?);
    let invalid = |_| DbError::io("reading where the log is", &file, std::io::ErrorKind::InvalidData.into());
    Ok(Some(PathBuf::from(text.map_err(invalid)?.trim_end_matches('\n'))))
}

/// Keeps where the log is beside the table.
fn remember(dir: &Path, log: &Path) -> Result<()> {
    if log_folder(dir)?.as_deref() == Some(log) {
        return Ok(());
    }
    let text = log.to_str().ok_or_else(|| {
        DbError::io("the log's path is not UTF-8", log, std::io::ErrorKind::InvalidInput.into())
    })?;
    whole(&dir.join(LOG_PATH), format!("{text}\n").as_bytes())
}

/// The entries of what this key has signed in a folder: of a stack all tables that it names, and then the stack.
fn published(dir: &Path, key: &SigningKey) -> Result<Vec<LogEntry>> {
    let public = key.public();
    let malformed = |source: LogError| DbError::Log { folder: dir.to_owned(), source: Box::new(source) };
    if let Some(stack) = StackDir::find(dir) {
        let (signed, stack) = stack.read()?;
        if signed.public_key() != public {
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
        // What is damaged is not served, and does not keep the others out of the log.
        let Ok(image) = table.open_epoch(epoch) else { continue };
        if image.signed_catalog().public_key() == public {
            entries.push(LogEntry::catalog(image.catalog(), public).map_err(malformed)?);
        }
    }
    Ok(entries)
}
