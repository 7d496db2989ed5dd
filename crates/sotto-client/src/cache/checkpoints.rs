//! The last signed checkpoint of each publisher's log. A log that is shown later must extend it.
//!
//! Checkpoints are stored by the publisher's key and not by the server, so that two servers of one
//! publisher must show one log. The entries read so far, for each table and stack, are stored next
//! to them.

use super::{Cache, CacheError, keep_both, lock::Lock, replace};
use crate::files;
use crate::session::{LogMemory, WitnessError};
use crate::{ClientError, Result};
use sotto_catalog::{Hex32, PublicKey};
use sotto_tlog::LogHistory;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time to wait for another process that is writing a few hundred bytes.
const PATIENCE: Duration = Duration::from_secs(5);

const EXTENSION: &str = "checkpoint";

const HISTORY: &str = "history";

impl Cache {
    /// Loads what the cache has of logs.
    pub(crate) fn load_logs(&self, logs: &LogMemory) -> Result<()> {
        // A build without witnesses looks into no log, and has none of the code below.
        if cfg!(not(feature = "witness")) {
            return Ok(());
        }
        for (publisher, checkpoint) in self.logs()? {
            logs.recall(publisher, checkpoint);
        }
        let histories = self.log_histories().map_err(|error| match error {
            CacheError::Memory { .. } => WitnessError::Kept(error.to_string()).into(),
            error => ClientError::from(error),
        });
        histories?.into_iter().for_each(|history| logs.recall_history(history));
        Ok(())
    }

    /// Stores what is new of logs.
    pub(crate) fn store_logs(&self, logs: &LogMemory) -> Result<()> {
        if cfg!(not(feature = "witness")) {
            return Ok(());
        }
        let fresh = logs.take_fresh();
        fresh.iter().try_for_each(|(publisher, checkpoint)| self.keep_log(publisher, checkpoint))?;
        Ok(logs.take_fresh_histories().iter().try_for_each(|history| self.keep_log_history(history))?)
    }

    /// The last checkpoint of each publisher's log, with its signatures, none of which is verified.
    ///
    /// # Errors
    /// [`CacheError`] if a file cannot be read.
    pub fn logs(&self) -> Result<Vec<(PublicKey, String)>, CacheError> {
        let mut out = Vec::new();
        for path in files::entries(&self.logs).map_err(|e| CacheError::at(&self.logs, e))? {
            let name = path.file_stem().and_then(|name| name.to_str());
            let Some(Ok(key)) = name.map(str::parse::<Hex32>) else { continue };
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                let checkpoint = text(&path).map_err(|e| CacheError::at(&path, e))?;
                // A file that was removed meanwhile counts as missing.
                out.extend(checkpoint.map(|checkpoint| (PublicKey::of_ed25519(key), checkpoint)));
            }
        }
        Ok(out)
    }

    /// Stores the last checkpoint of a log, unless another process has stored one of more entries.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be written.
    pub fn keep_log(&self, publisher: &PublicKey, checkpoint: &str) -> Result<(), CacheError> {
        let path = self.log(publisher);
        let lock = path.with_extension("lock");
        let Some(_lock) = Lock::take(&lock, PATIENCE)? else {
            return Err(CacheError::at(&lock, ErrorKind::WouldBlock.into()));
        };
        let before = text(&path).map_err(|error| CacheError::at(&path, error))?;
        if before.is_some_and(|before| entries(&before) > entries(checkpoint)) {
            return Ok(());
        }
        replace(&path, checkpoint.as_bytes())
    }

    /// Stores a checkpoint that contradicts the last one, and returns the paths of both.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be written.
    pub fn keep_conflicting_checkpoint(
        &self,
        publisher: &PublicKey,
        checkpoint: &str,
    ) -> Result<String, CacheError> {
        keep_both(&self.log(publisher), checkpoint.as_bytes())
    }

    /// The log entries read so far, for each table and each stack.
    ///
    /// # Errors
    /// [`CacheError`] if a file cannot be read, or is no history of one name.
    pub fn log_histories(&self) -> Result<Vec<LogHistory>, CacheError> {
        let mut out = Vec::new();
        for path in files::entries(&self.logs).map_err(|e| CacheError::at(&self.logs, e))? {
            if path.extension().is_some_and(|extension| extension == HISTORY) {
                out.extend(history(&path)?);
            }
        }
        Ok(out)
    }

    /// Stores the log entries read for one name, unless another process has read more.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be written.
    pub fn keep_log_history(&self, read: &LogHistory) -> Result<(), CacheError> {
        let Some((kind, name)) = read.only() else { return Ok(()) };
        let file = format!("{}-{}-{name}.{HISTORY}", read.publisher().ed25519, kind.name());
        let path = self.logs.join(file);
        let lock = path.with_extension("history-lock");
        let Some(_lock) = Lock::take(&lock, PATIENCE)? else {
            return Err(CacheError::at(&lock, ErrorKind::WouldBlock.into()));
        };
        match history(&path)? {
            Some(before) if before.size() > read.size() => Ok(()),
            _ => replace(&path, read.to_string().as_bytes()),
        }
    }

    fn log(&self, publisher: &PublicKey) -> PathBuf {
        self.logs.join(format!("{}.{EXTENSION}", publisher.ed25519))
    }
}

/// Parses a file of log entries; `None` if the file does not exist.
fn history(path: &Path) -> Result<Option<LogHistory>, CacheError> {
    let bytes = files::read(path).map_err(|e| CacheError::at(path, e))?;
    let damaged = |e: sotto_tlog::LogError| CacheError::Memory { path: path.to_owned(), why: e.to_string() };
    bytes.map(|bytes| LogHistory::parse(&bytes).map_err(damaged)).transpose()
}

/// Reads a text file; `None` if it does not exist.
fn text(path: &Path) -> io::Result<Option<String>> {
    let text = files::read(path)?.map(String::from_utf8).transpose();
    text.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// The number of entries that a checkpoint claims.
fn entries(checkpoint: &str) -> u64 {
    checkpoint.lines().nth(1).and_then(|size| size.parse().ok()).unwrap_or(0)
}
