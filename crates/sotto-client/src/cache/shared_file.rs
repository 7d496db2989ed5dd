//! A small file that several processes read and change under a lock.

use super::lock::Lock;
use super::{CacheError, replace};
use crate::files;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
