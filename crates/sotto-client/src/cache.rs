//! Files that a client keeps on disk between runs.
//!
//! | module | contents |
//! |---|---|
//! | [`artifact_slot`] | one artifact: whole, or the part downloaded so far |
//! | [`keyring`] | client keys that servers know, encrypted |
//! | [`evidence`] | signed contradictions of a publisher, which convince third parties |
//! | `checkpoints` | the last checkpoint of each publisher's log, and the entries read so far |
//! | [`known_tables`] | per table: the newest epoch seen, and the keys that led to it |
//! | [`lock`] | file locks between processes, and a small file that several processes change |
//! | [`error`] | errors of the disk |
//!
//! ```text
//! DIR/artifacts/<digest>        an artifact, whole
//! DIR/artifacts/<digest>.part   its first bytes
//! DIR/artifacts/<digest>.lock   held by the process that downloads it
//! DIR/tables/<hash>.json        what is known of one table at one server
//! DIR/tables/<hash>.catalog     its newest catalog, as the publisher signed it
//! DIR/tables/<hash>.first       evidence: of two catalogs of one epoch, the one seen first
//! DIR/tables/<hash>.other       and the other one
//! DIR/logs/<key>.checkpoint     the last checkpoint of a publisher's log, with the cosignatures it had
//! DIR/logs/<key>.first          evidence: of two contradicting checkpoints, the one seen first
//! DIR/logs/<key>.other          and the other one
//! DIR/logs/<key>-<kind>-<name>.history   the log entries read of a table or a stack
//! DIR/keys/...                  keys that servers know
//! ```
//!
//! Cached bytes are not trusted: the session checks every chunk against the signed catalog, whether
//! it comes from a disk or from a network.

pub mod artifact_slot;
mod checkpoints;
pub mod evidence;
pub mod keyring;
pub mod known_tables;
pub mod lock;

pub use crate::error::cache::{self as error, CacheError};
pub use artifact_slot::CachedArtifact;
pub use evidence::EquivocationProof;
pub use keyring::Keyring;
pub(crate) use known_tables::CacheEntry;
pub use known_tables::KnownTable;
pub use lock::SharedFile;

use crate::ClientError;
use crate::files;
use sotto_catalog::Hex32;
use std::path::{Path, PathBuf};

/// A cache directory, which several processes may share.
#[derive(Debug, Clone)]
pub struct Cache {
    artifacts: PathBuf,
    tables: PathBuf,
    logs: PathBuf,
}

/// Numbers and bytes of the artifacts in a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheSize {
    /// Number of whole artifacts.
    pub artifacts: u64,
    /// Bytes of all whole artifacts.
    pub artifact_bytes: u64,
    /// Number of incomplete downloads.
    pub partial: u64,
    /// Bytes of all incomplete downloads.
    pub partial_bytes: u64,
}

impl Cache {
    /// Opens the cache at `dir`, and makes it if it is not there.
    ///
    /// # Errors
    /// [`CacheError`] if the directory cannot be made.
    pub fn open(dir: &Path) -> Result<Self, CacheError> {
        let cache =
            Cache { artifacts: dir.join("artifacts"), tables: dir.join("tables"), logs: dir.join("logs") };
        for dir in [dir, &cache.artifacts, &cache.tables, &cache.logs] {
            files::make_private_folder(dir).map_err(|e| CacheError::at(dir, e))?;
        }
        Ok(cache)
    }

    /// The file of the artifact with this digest and of `bytes` bytes.
    pub fn slot(&self, digest: &Hex32, bytes: u64) -> CachedArtifact {
        CachedArtifact::new(self.artifacts.join(digest.to_string()), bytes)
    }

    /// Removes an artifact, unless a known table still names it or a process is downloading it.
    ///
    /// # Errors
    /// [`CacheError`] if the directory cannot be read.
    pub fn drop_unused(&self, digest: &Hex32) -> Result<(), CacheError> {
        let digest = digest.to_string();
        let names = |known: &known_tables::KnownTable| known.artifacts.values().any(|held| *held == digest);
        match known_tables::all(&self.tables)? {
            Some(all) if !all.iter().any(names) => artifact_slot::remove(&self.artifacts.join(digest)),
            _ => Ok(()),
        }
    }

    /// Counts the artifacts in the cache and their bytes.
    ///
    /// # Errors
    /// [`CacheError`] if the directory cannot be read.
    pub fn size(&self) -> Result<CacheSize, CacheError> {
        let mut size = CacheSize::default();
        for path in files::entries(&self.artifacts).map_err(|e| CacheError::at(&self.artifacts, e))? {
            // Another process may have just finished or removed the file, which is no error.
            let Ok(bytes) = files::length_at(&path) else { continue };
            match path.extension().and_then(|e| e.to_str()) {
                None => {
                    size.artifacts += 1;
                    size.artifact_bytes += bytes;
                }
                Some("part") => {
                    size.partial += 1;
                    size.partial_bytes += bytes;
                }
                Some(_) => {}
            }
        }
        Ok(size)
    }

    /// Loads what the cache knows of `table` at the server `origin`.
    ///
    /// # Errors
    /// [`CacheError::Memory`] if the file is damaged, since a lost pin must not pass for a
    /// first visit.
    pub fn known(&self, origin: &str, table: &str) -> Result<Option<KnownTable>, CacheError> {
        known_tables::read(&known_tables::path(&self.tables, origin, table))
    }

    /// Forgets a table whose cache entry is damaged, for a caller that knows its key from
    /// elsewhere. Returns whether the entry was damaged.
    ///
    /// # Errors
    /// [`CacheError`] if the file cannot be read or removed.
    pub fn forget_damaged(&self, origin: &str, table: &str) -> Result<bool, CacheError> {
        known_tables::forget_damaged(&known_tables::path(&self.tables, origin, table))
    }

    /// Updates what the cache knows of a table. Returns whether it did: an epoch older than the
    /// known one changes nothing, as another process has seen a newer one.
    ///
    /// # Errors
    /// As [`KnownSigner::advance`](crate::session::KnownSigner::advance), and [`CacheError`] if the
    /// file cannot be written; the old entry is then still there.
    pub fn remember(&self, known: &KnownTable) -> Result<bool, ClientError> {
        known_tables::write(&known_tables::path(&self.tables, &known.origin, &known.table), known)
    }

    /// Forgets a table at a server, with its keys and its newest epoch: the next catalog is
    /// believed as on a first visit. Returns whether the table was known. Evidence is not removed.
    ///
    /// # Errors
    /// [`CacheError`] if the file cannot be removed.
    pub fn forget(&self, origin: &str, table: &str) -> Result<bool, CacheError> {
        let path = known_tables::path(&self.tables, origin, table);
        let was = files::read(&path).map_err(|e| CacheError::at(&path, e))?.is_some();
        self.drop_old(known_tables::forget(&path)?)?;
        Ok(was)
    }

    /// Removes the artifacts that only the replaced entry `before` named. A name that is no digest
    /// belongs to no file.
    pub(crate) fn drop_old(&self, before: Option<KnownTable>) -> Result<(), CacheError> {
        let names = before.into_iter().flat_map(|known| known.artifacts.into_values());
        for digest in names.filter_map(|name| name.parse().ok()) {
            self.drop_unused(&digest)?;
        }
        Ok(())
    }

    /// Stores the newest catalog of a table with its signature, so that it can be shown next to a
    /// conflicting one of the same epoch.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be written.
    pub fn keep_catalog(&self, origin: &str, table: &str, signed: &[u8]) -> Result<(), CacheError> {
        replace(&known_tables::path(&self.tables, origin, table).with_extension("catalog"), signed)
    }

    /// The newest catalog of a table with its signature, as stored and not verified again.
    pub(crate) fn catalog(&self, origin: &str, table: &str) -> Result<Option<Vec<u8>>, CacheError> {
        let path = known_tables::path(&self.tables, origin, table).with_extension("catalog");
        files::read(&path).map_err(|error| CacheError::at(&path, error))
    }

    /// Stores a conflicting catalog of the newest epoch, and returns the paths of both.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be written.
    pub fn keep_conflicting_catalog(
        &self,
        origin: &str,
        table: &str,
        signed: &[u8],
    ) -> Result<String, CacheError> {
        let path = known_tables::path(&self.tables, origin, table);
        keep_both(&path.with_extension("catalog"), signed)
    }
}

/// Stores two contradicting documents and returns their paths. The first one may be replaced later,
/// so it is copied.
fn keep_both(seen: &Path, bytes: &[u8]) -> Result<String, CacheError> {
    let (first, other) = (seen.with_extension("first"), seen.with_extension("other"));
    replace(&other, bytes)?;
    match files::read(seen).map_err(|error| CacheError::at(seen, error))? {
        Some(before) => {
            replace(&first, &before)?;
            Ok(format!("{} and {}", first.display(), other.display()))
        }
        // The digest of the first document is still known.
        None => Ok(other.display().to_string()),
    }
}

/// Replaces a file that only its owner can read. A crash leaves the old file or the new one.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), CacheError> {
    files::replace(path, bytes).map_err(|error| CacheError::at(path, error))
}
