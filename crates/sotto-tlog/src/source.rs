//! Where a log's files come from.

use crate::{LogError, Result};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;

/// Files by path, as a log's layout names them.
pub trait LogSource {
    /// A file's bytes, or none if there is no such file.
    ///
    /// # Errors
    /// [`LogError::TooLarge`] if it has more than `limit` bytes, [`LogError::Storage`].
    fn file(&self, path: &str, limit: u64) -> Result<Option<Vec<u8>>>;

    /// Whether there is such a file. It is not read.
    ///
    /// # Errors
    /// [`LogError::Storage`].
    fn has(&self, path: &str) -> Result<bool>;
}

/// A log in a folder, as a web server would serve it.
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
