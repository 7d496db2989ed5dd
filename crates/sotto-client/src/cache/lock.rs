//! Two processes, one cache. The lock is the system's advisory file lock, so it ends with its process.

use super::CacheError;
use crate::files::{self, LockFile};
use crate::parallel::pause;
use std::path::Path;
use std::time::Duration;
use web_time::Instant;

/// Held until dropped, since dropping the file releases it.
#[derive(Debug)]
pub struct Lock {
    _file: LockFile,
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
        let file = files::open_lock(path).map_err(at)?;
        let start = Instant::now();
        loop {
            if files::try_lock(&file).map_err(at)? {
                return Ok(Some(Lock { _file: file }));
            }
            if start.elapsed() >= patience {
                return Ok(None);
            }
            pause(PERIOD);
        }
    }
}
