//! File locks between processes that share a cache, and a small file that they change under one. The
//! lock is the system's advisory file lock, so it ends with its process.

use super::{CacheError, replace};
use crate::files::{self, LockFile};
use crate::parallel::pause;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;
use web_time::Instant;

/// A lock file that is held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: LockFile,
}

/// Interval between two attempts to take a held lock.
const PERIOD: Duration = Duration::from_millis(20);

impl Lock {
    /// Takes the lock file at `path`, and tries for at most `max_wait`. Returns `None` if another
    /// process still holds it.
    ///
    /// # Errors
    /// [`CacheError`] if the file cannot be made.
    pub fn take(path: &Path, max_wait: Duration) -> Result<Option<Lock>, CacheError> {
        let at = |e| CacheError::at(path, e);
        let file = files::open_lock(path).map_err(at)?;
        let start = Instant::now();
        loop {
            if files::try_lock(&file).map_err(at)? {
                return Ok(Some(Lock { _file: file }));
            }
            if start.elapsed() >= max_wait {
                return Ok(None);
            }
            pause(PERIOD);
        }
    }
}

/// A small file of its owner alone, changed under a lock. A crash leaves the old contents or the
/// new.
#[derive(Debug, Clone)]
pub struct SharedFile {
    path: PathBuf,
}

impl SharedFile {
    /// Opens the file `name` in a folder, and makes the folder if it does not exist.
    ///
    /// # Errors
    /// [`CacheError`] if the folder cannot be made.
    pub fn open(dir: &Path, name: &str) -> Result<Self, CacheError> {
        files::make_private_folder(dir).map_err(|e| CacheError::at(dir, e))?;
        Ok(SharedFile { path: dir.join(name) })
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the contents of the file by what `change` returns, if anything. No other process
    /// changes the file meanwhile.
    ///
    /// # Errors
    /// The error of `change`; [`CacheError`] if the file cannot be read or written, or another
    /// process holds the lock for too long.
    pub fn change<T, E: From<CacheError>>(
        &self,
        max_wait: Duration,
        change: impl FnOnce(Option<Vec<u8>>) -> Result<(Vec<u8>, T), E>,
    ) -> Result<T, E> {
        let at = |error| CacheError::at(&self.path, error);
        let Some(_lock) = Lock::take(&self.path.with_extension("lock"), max_wait)? else {
            return Err(at(ErrorKind::WouldBlock.into()).into());
        };
        let before = files::read(&self.path).map_err(at)?;
        let (after, outcome) = change(before.clone())?;
        if before.as_ref() != Some(&after) {
            replace(&self.path, &after)?;
        }
        Ok(outcome)
    }
}
