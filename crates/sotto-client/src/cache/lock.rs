//! Two processes, one cache. The lock is the system's advisory file lock, so it ends with its process.

use super::CacheError;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

/// Held until dropped, since dropping the file releases it.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// How often a held lock is tried again.
const PERIOD: Duration = Duration::from_millis(20);

impl Lock {
    /// Takes the lock file at `path`, trying for at most `patience`. `None` if another process kept it.
    ///
    /// # Errors
    /// [`CacheError`] if the file cannot be made.
    pub fn take(path: &Path, patience: Duration) -> Result<Option<Lock>, CacheError> {
        let at = |e| CacheError::at(path, e);
        let file = File::options().create(true).append(true).open(path).map_err(at)?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Lock { _file: file })),
                Err(TryLockError::Error(e)) => return Err(at(e)),
                Err(TryLockError::WouldBlock) if start.elapsed() >= patience => return Ok(None),
                Err(TryLockError::WouldBlock) => std::thread::sleep(PERIOD),
            }
        }
    }
}
