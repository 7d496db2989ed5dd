//! Errors of the cache.

use sotto_core::{Diagnose, Diagnosis, ErrorKind as FailureKind};
use sotto_private_folder::NotPrivate;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A failure of the cache, which is never a peer's fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The disk has no space left. What was downloaded before is kept and valid.
    #[error("no disk space for the cache at {}: {source}", path.display())]
    Full {
        /// The file that could not grow.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The folder is writable for others, who could choose what is believed.
    #[error("the folder {} is not private: {why}", path.display())]
    NotPrivate {
        /// Folder that is writable for others.
        path: PathBuf,
        /// Description of who can write in the folder.
        why: String,
    },
    /// A file could not be read or written.
    #[error("cache file {}: {source}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The cache entry of a table cannot be read.
    #[error("cache entry {} is damaged: {why}", path.display())]
    Memory {
        /// Path of the entry's file.
        path: PathBuf,
        /// Description of the fault.
        why: String,
    },
}

/// Error code for a folder that others can write in.
pub(crate) const NOT_PRIVATE: &str = "not-private";

/// Fix for a folder that others can write in.
pub(crate) const FIX_NOT_PRIVATE: &str = "make the folder yours and remove write access for others (chown, chmod \
     go-w), or choose a new folder, which is created for you alone";

/// Whether the disk is full. An exceeded quota or file size limit counts as full.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

impl CacheError {
    /// Wraps an error of the operating system about a file.
    pub(crate) fn at(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match () {
            () if is_full(&source) => CacheError::Full { path, source },
            () if NotPrivate::is(&source) => CacheError::NotPrivate { path, why: source.to_string() },
            () => CacheError::Io { path, source },
        }
    }
}

impl Diagnose for CacheError {
    fn diagnosis(&self) -> Diagnosis<'_> {
        let (code, fix) = match self {
            CacheError::Full { .. } => (
                "cache-full",
                "free some space or choose another cache directory; the download continues where it stopped",
            ),
            CacheError::NotPrivate { .. } => (NOT_PRIVATE, FIX_NOT_PRIVATE),
            CacheError::Io { .. } => {
                ("cache-io", "check that the cache directory can be written, or choose another")
            }
            CacheError::Memory { .. } => (
                "cache-memory",
                "pin the table's key, and the file is written again; or forget the table (sotto forget), and the \
                 next key seen is trusted",
            ),
        };
        FailureKind::Storage.diagnosis(code, fix)
    }
}
