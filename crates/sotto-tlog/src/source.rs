//! Sources of a log's files.

use crate::{LogError, Result};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;

/// Reads files by their paths in the log's layout.
pub trait LogSource {
    /// Bytes of a file, or `None` if it does not exist.
    ///
    /// # Errors
    /// [`LogError::TooLarge`] if it has more than `limit` bytes, [`LogError::Storage`].
    fn file(&self, path: &str, limit: u64) -> Result<Option<Vec<u8>>>;

    /// Whether a file exists. It is not read.
    ///
    /// # Errors
    /// [`LogError::Storage`].
    fn has(&self, path: &str) -> Result<bool>;
}

/// A log in a folder, with the paths that a web server would serve.
#[derive(Clone, Debug)]
pub struct DirectorySource(pub PathBuf);

impl LogSource for DirectorySource {
    fn file(&self, path: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        let file = match File::open(self.0.join(path)) {
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            opened => opened.map_err(LogError::storage(path))?,
        };
        let mut bytes = Vec::new();
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(LogError::storage(path))?;
        if bytes.len() as u64 > limit {
            return Err(LogError::TooLarge { what: path.into(), limit });
        }
        Ok(Some(bytes))
    }

    fn has(&self, path: &str) -> Result<bool> {
        match self.0.join(path).metadata() {
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
            found => Ok(found.map_err(LogError::storage(path))?.is_file()),
        }
    }
}
