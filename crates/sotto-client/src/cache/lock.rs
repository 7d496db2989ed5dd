//! File locks between processes that share a cache. The lock is the system's advisory file lock, so
//! it ends with its process.

use super::CacheError;
use crate::files::{self, LockFile};
use crate::parallel::pause;
use std::path::Path;
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
