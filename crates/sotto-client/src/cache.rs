//! What is kept on disk between runs.
//!
//! | module | what lives there |
//! |---|---|
//! | [`slot`] | one artifact: whole, or the part downloaded so far |
//! | [`keyring`] | keys that servers know, encrypted |
//! | [`evidence`] | what others can be shown of that |
//! | `logs` | the last checkpoint of each publisher's log, and what was read of its entries |
//! | [`known`] | what is remembered of a table: the newest epoch seen, and the keys that led there |
//! | [`lock`] | two processes, one cache |
//! | [`shared_file`] | a small file that processes change in turns |
//! | [`error`] | what goes wrong with disks |
//!
//! ```text
//! DIR/artifacts/<digest>        an artifact, whole
//! DIR/artifacts/<digest>.part   its first bytes
//! DIR/artifacts/<digest>.lock   held by the process that downloads it
//! DIR/tables/<hash>.json        what is remembered of one table at one server
//! DIR/tables/<hash>.catalog     its newest catalog, as the publisher signed it
//! DIR/tables/<hash>.first       of two catalogs of one epoch the one that was seen first: evidence
//! DIR/tables/<hash>.other       and the other one
//! DIR/logs/<key>.checkpoint     the last checkpoint of a publisher's log, with the cosignatures it had
//! DIR/logs/<key>.first          of two checkpoints that contradict each other the one that was seen first: evidence
//! DIR/logs/<key>.other          and the other one
//! DIR/logs/<key>-<kind>-<name>.history   what was read of the log's entries of a table or a stack
//! DIR/keys/...                  keys that servers know
//! ```
//!
//! Nothing here is trusted when it is read back: the session checks every chunk against the signed
//! catalog, whether it came from a disk or a network.

pub mod artifact_slot;
mod checkpoints;
pub mod error;
pub mod evidence;
pub mod keyring;
pub mod known_tables;
pub mod lock;
pub mod shared_file;

pub use artifact_slot::CachedArtifact;
pub use error::CacheError;
pub use evidence::EquivocationProof;
pub use keyring::Keyring;
pub use known_tables::KnownTable;
pub use shared_file::SharedFile;

use crate::ClientError;
use crate::files;
use sotto_catalog::Hex32;
use std::path::{Path, PathBuf};

/// A cache directory.
#[derive(Debug, Clone)]
pub struct Cache {
    artifacts: PathBuf,
    tables: PathBuf,
    logs: PathBuf,
}

/// How much a cache holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheSize {
    /// Whole artifacts.
    pub artifacts: u64,
    /// Their bytes.
    pub artifact_bytes: u64,
    /// Downloads that were cut.
    pub partial: u64,
    /// Their bytes so far.
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

    /// The place of an artifact of `bytes` bytes.
    pub fn slot(&self, digest: &Hex32, bytes: u64) -> CachedArtifact {
        CachedArtifact::new(self.artifacts.join(digest.to_string()), bytes)
    }

    /// Drops an artifact, unless a table still remembers it or a process is downloading it.
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

    /// How much the cache holds.
    ///
    /// # Errors
    /// [`CacheError`] if the directory cannot be read.
    pub fn size(&self) -> Result<CacheSize, CacheError> {
        let mut size = CacheSize::default();
        for path in files::entries(&self.artifacts).map_err(|e| CacheError::at(&self.artifacts, e))? {
            // A file that another process has just finished or dropped is not an error of ours.
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

    /// What is remembered of `table` at the server `origin`.
    ///
    /// # Errors
    /// [`CacheError::LogMemoryInner`] if the file is damaged: a lost pin must not pass for a first visit.
    pub fn known(&self, origin: &str, table: &str) -> Result<Option<KnownTable>, CacheError> {
        known_tables::read(&known_tables::path(&self.tables, origin, table))
    }

    /// Forgets what is remembered of a table if it is damaged, for whoever knows its key by another way. Gives whether it was.
    ///
    /// # Errors
    /// [`CacheError`] if the file cannot be read or removed.
    pub fn forget_damaged(&self, origin: &str, table: &str) -> Result<bool, CacheError> {
        known_tables::forget_damaged(&known_tables::path(&self.tables, origin, table))
    }

    /// Goes on from what is remembered of a table to this. Gives whether it did: an epoch below the one remembered changes
    /// nothing, as another process has seen more.
    ///
    /// # Errors
    /// As [`KnownSigner::advance`](crate::session::KnownSigner::advance), and [`CacheError`] if it cannot be written; what was
    /// remembered then still is.
    pub fn remember(&self, known: &KnownTable) -> Result<bool, ClientError> {
        known_tables::write(&known_tables::path(&self.tables, &known.origin, &known.table), known)
    }

    /// Forgets a table at a server, its keys and its newest epoch: what is shown next is believed as on a first visit. Gives
    /// whether there was something. Evidence is kept.
    ///
    /// # Errors
    /// [`CacheError`] if the file cannot be removed.
    pub fn forget(&self, origin: &str, table: &str) -> Result<bool, CacheError> {
        let path = known_tables::path(&self.tables, origin, table);
        let was = files::read(&path).map_err(|e| CacheError::at(&path, e))?.is_some();
        self.drop_old(known_tables::forget(&path)?)?;
        Ok(was)
    }

    /// Drops the artifacts that a memory named and no other one names. A name that is none stands for no file.
    pub(crate) fn drop_old(&self, before: Option<KnownTable>) -> Result<(), CacheError> {
        let names = before.into_iter().flat_map(|known| known.artifacts.into_values());
        for digest in names.filter_map(|name| name.parse().ok()) {
            self.drop_unused(&digest)?;
        }
        Ok(())
    }

    /// Keeps the newest catalog of a table as it came, to be shown beside another one of its epoch.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be written.
    pub fn keep_catalog(&self, origin: &str, table: &str, signed: &[u8]) -> Result<(), CacheError> {
        replace(&known_tables::path(&self.tables, origin, table).with_extension("catalog"), signed)
    }

    /// The newest catalog of a table, as it came; nothing in it was verified again.
    pub(crate) fn catalog(&self, origin: &str, table: &str) -> Result<Option<Vec<u8>>, CacheError> {
        let path = known_tables::path(&self.tables, origin, table).with_extension("catalog");
        files::read(&path).map_err(|error| CacheError::at(&path, error))
    }

    /// Keeps another catalog of the newest epoch, and says where both are.
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

/// Keeps what was seen, which may be replaced later, and something that contradicts it. Says where both are.
fn keep_both(seen: &Path, bytes: &[u8]) -> Result<String, CacheError> {
    let (first, other) = (seen.with_extension("first"), seen.with_extension("other"));
    replace(&other, bytes)?;
    match files::read(seen).map_err(|error| CacheError::at(seen, error))? {
        Some(before) => {
            replace(&first, &before)?;
            Ok(format!("{} and {}", first.display(), other.display()))
        }
        // Of the first its digest is remembered at least.
        None => Ok(other.display().to_string()),
    }
}

/// Writes a file for its owner alone: a crash leaves the old one or this.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), CacheError> {
    files::replace(path, bytes).map_err(|error| CacheError::at(path, error))
}
