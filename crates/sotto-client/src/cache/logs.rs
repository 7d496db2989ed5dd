//! The last checkpoint of each publisher's log, as it was signed: a log that is shown later goes on from it.
//!
//! It is kept by the publisher's key and not by the server, so that two servers of one publisher are held to one log.

use super::{Cache, CacheError, keep_both, lock::Lock, replace};
use sotto_catalog::{Hex32, PublicKey};
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

/// How long to wait for another process that is writing a few hundred bytes.
const PATIENCE: Duration = Duration::from_secs(5);

const EXTENSION: &str = "checkpoint";

impl Cache {
    /// What was seen of logs: whose, and the checkpoint with its signatures, of which nothing is verified.
    ///
    /// # Errors
    /// [`CacheError`] if a file cannot be read.
    pub fn logs(&self) -> Result<Vec<(PublicKey, String)>, CacheError> {
        let mut out = Vec::new();
        for entry in fs::read_dir(&self.logs).map_err(|e| CacheError::at(&self.logs, e))? {
            let path = entry.map_err(|e| CacheError::at(&self.logs, e))?.path();
            let name = path.file_stem().and_then(|name| name.to_str());
            let Some(Ok(key)) = name.map(str::parse::<Hex32>) else { continue };
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                out.push((PublicKey(key), fs::read_to_string(&path).map_err(|e| CacheError::at(&path, e))?));
            }
        }
        Ok(out)
    }

    /// Keeps the last checkpoint of a log. One that another process has kept meanwhile, of more entries, stays.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be written.
    pub fn keep_log(&self, publisher: &PublicKey, checkpoint: &str) -> Result<(), CacheError> {
        let path = self.log(publisher);
        let lock = path.with_extension("lock");
        let Some(_lock) = Lock::take(&lock, PATIENCE)? else {
            return Err(CacheError::at(&lock, ErrorKind::WouldBlock.into()));
        };
        let before = match fs::read_to_string(&path) {
            Ok(before) => Some(before),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(CacheError::at(&path, error)),
        };
        if before.is_some_and(|before| entries(&before) > entries(checkpoint)) {
            return Ok(());
        }
        replace(&path, checkpoint.as_bytes())
    }

    /// Keeps a checkpoint that contradicts the last one, and says where both are.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be written.
    pub fn keep_other_log(&self, publisher: &PublicKey, checkpoint: &str) -> Result<String, CacheError> {
        keep_both(&self.log(publisher), checkpoint.as_bytes())
    }

    fn log(&self, publisher: &PublicKey) -> PathBuf {
        self.logs.join(format!("{}.{EXTENSION}", publisher.0))
    }
}

/// How many entries a checkpoint is of, as it says itself.
fn entries(checkpoint: &str) -> u64 {
    checkpoint.lines().nth(1).and_then(|size| size.parse().ok()).unwrap_or(0)
}
