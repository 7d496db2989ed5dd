//! What goes wrong with disks.

use sotto_private_folder::NotPrivate;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The cache failed. Never a peer's fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// No room. What was downloaded before is kept and valid.
    #[error("no room for the cache at {}: {source}", path.display())]
    Full {
        /// The file that could not grow.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A folder that others can write in: they would choose what is believed.
    #[error("the folder {} is not private: {why}", path.display())]
    NotPrivate {
        /// The folder.
        path: PathBuf,
        /// Who can.
        why: String,
    },
    /// A file could not be read or written.
    #[error("cache file {}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What is remembered of a table cannot be read.
    #[error("what is remembered in {} is damaged: {why}", path.display())]
    Memory {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// The code of a folder that others can write in.
pub(crate) const NOT_PRIVATE: &str = "not-private";

/// What to do about it.
pub(crate) const FIX_NOT_PRIVATE: &str = "chmod go-w that folder, if it is yours (chown it, if it should be); or choose another, \
     which is then made for you alone";

/// Whether there is no room. A quota and a file size limit are a full disk to whoever meets them.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

impl CacheError {
    /// Wraps what the system said of a file.
    pub(crate) fn at(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match () {
            () if is_full(&source) => CacheError::Full { path, source },
            () if NotPrivate::is(&source) => CacheError::NotPrivate { path, why: source.to_string() },
            () => CacheError::Io { path, source },
        }
    }

    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            CacheError::Full { .. } => "cache-full",
            CacheError::NotPrivate { .. } => NOT_PRIVATE,
            CacheError::Io { .. } => "cache-io",
            CacheError::Memory { .. } => "cache-memory",
        }
    }

    /// What to do.
    pub fn fix(&self) -> &'static str {
        match self {
            CacheError::Full { .. } => {
                "free some space or choose another cache directory; the download then goes on where it stopped"
            }
            CacheError::NotPrivate { .. } => FIX_NOT_PRIVATE,
            CacheError::Io { .. } => "check that the cache directory can be written, or choose another",
            CacheError::Memory { .. } => {
                "give the table's key as a pin, and the file is made anew; \
                 without a pin forget the table (sotto forget), and the key that comes next is believed"
            }
        }
    }
}
