//! A small file that several processes read and change, one after the other.

use super::lock::Lock;
use super::{CacheError, replace};
use crate::files;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A small file for its owner alone, changed under a lock. A crash leaves the old one or the new one.
#[derive(Debug, Clone)]
pub struct SharedFile {
    path: PathBuf,
}

impl SharedFile {
    /// The file of that name in a folder, which is made if it is not there.
    ///
    /// # Errors
    /// [`CacheError`] if the folder cannot be made.
    pub fn open(dir: &Path, name: &str) -> Result<Self, CacheError> {
        files::make_private_folder(dir).map_err(|e| CacheError::at(dir, e))?;
        Ok(SharedFile { path: dir.join(name) })
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces its bytes by what `change` makes of them, if it does. No other process changes them meanwhile.
    ///
    /// # Errors
    /// What `change` says, and [`CacheError`] if the file cannot be read or written, or another process had it for so long.
    pub fn change<T, E: From<CacheError>>(
        &self,
        patience: Duration,
        change: impl FnOnce(Option<Vec<u8>>) -> Result<(Vec<u8>, T), E>,
    ) -> Result<T, E> {
        let at = |error| CacheError::at(&self.path, error);
        let Some(_lock) = Lock::take(&self.path.with_extension("lock"), patience)? else {
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
