//! What the cache knows of each table: the newest epoch seen, and the keys that led to it.
//!
//! This gives a first use its value: the second catalog has to be signed by the same key, or by one
//! that it named, and may not be older than the first. A checksum at the end of the file detects
//! damage as damage of a local file.

use super::{Cache, CacheError, lock::Lock, replace};
use crate::files;
use crate::session::{KnownSigner, RetiredKey, WitnessError};
use crate::{ClientError, Result};
use serde::{Deserialize, Serialize};
use sotto_catalog::{ArtifactEntry, Hex32, PublicKey};
use sotto_core::{Epoch, json};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the cache knows of one table at one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownTable {
    /// Origin of the server.
    pub origin: String,
    /// Name of the table.
    pub table: String,
    /// Key that signed the catalog, in text form.
    pub public_key: String,
    /// Newest epoch seen.
    pub epoch: Epoch,
    /// Digests of the artifacts of that epoch, by name.
    pub artifacts: BTreeMap<String, String>,
    /// Digest of the catalog of that epoch, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalog: Option<Hex32>,
    /// Keys that signed earlier epochs, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retired: Vec<RetiredKey>,
}

/// The cache's entry of one table or stack at one server, whether it is there or not.
pub(crate) struct CacheEntry<'a> {
    pub(crate) cache: &'a Cache,
    pub(crate) origin: String,
    pub(crate) name: String,
}

impl CacheEntry<'_> {
    pub(crate) fn known(&self) -> Result<Option<KnownTable>, CacheError> {
        self.cache.known(&self.origin, &self.name)
    }

    /// What earlier openings have seen. A caller that pins a key does without an entry that is
    /// damaged; `repaired` is then called.
    pub(crate) fn signer(&self, is_pinned: bool, repaired: impl FnOnce()) -> Result<Option<KnownSigner>> {
        if is_pinned && self.cache.forget_damaged(&self.origin, &self.name)? {
            repaired();
        }
        Ok(self.known()?.map(|known| known.signer()).transpose()?)
    }

    /// Stores keys, epoch and artifacts of a document that was accepted, and drops the artifacts
    /// that the earlier entry named.
    ///
    /// Another process may have stored another key meanwhile. It cannot be decided here which of the
    /// two belongs to the publisher, so the first stays.
    pub(crate) fn update(
        &self,
        seen: &KnownSigner,
        epoch: Epoch,
        artifacts: &[ArtifactEntry],
        signed: &[u8],
    ) -> Result<()> {
        // An older epoch that was requested by number or digest is not the newest one seen.
        if seen.epoch != epoch {
            return Ok(());
        }
        // Inserted one by one: collecting would sort, and sorting code is large where programs are
        // downloaded.
        let mut digests = BTreeMap::new();
        for entry in artifacts.iter().filter(|entry| entry.from_epoch.is_none()) {
            digests.insert(entry.artifact.name().to_owned(), entry.digest.to_string());
        }
        let before = self.known()?;
        if self.cache.remember(&KnownTable::new(self.origin.clone(), self.name.clone(), seen, digests))? {
            self.cache.keep_catalog(&self.origin, &self.name, signed)?;
            self.cache.drop_old(before)?;
        }
        Ok(())
    }

    /// Stores the two documents of one epoch, or the two checkpoints, that an error is about, if it
    /// is about two: together they are evidence against the signer. `shown` is the later document.
    pub(crate) fn with_evidence(&self, error: ClientError, shown: &[u8]) -> ClientError {
        let kept = match error.root() {
            ClientError::Equivocation { epoch, .. } => {
                let (kept, epoch) =
                    (self.cache.keep_conflicting_catalog(&self.origin, &self.name, shown), *epoch);
                kept.map(|kept| ClientError::Equivocation { epoch, kept: Some(kept) })
            }
            ClientError::Witness(WitnessError::Fork { publisher, size, found, .. }) => {
                let (publisher, size, found) = (publisher.clone(), *size, found.clone());
                let kept = self.cache.keep_conflicting_checkpoint(&publisher, &found);
                kept.map(|kept| WitnessError::Fork { publisher, size, found, kept: Some(kept) }.into())
            }
            _ => return error,
        };
        kept.unwrap_or_else(ClientError::from)
    }
}

/// Length of the checksum: BLAKE3 of the bytes before it, in lower case hexadecimal.
const CHECKSUM_BYTES: usize = 2 * blake3::OUT_LEN;

/// Time to wait for another process that is writing a few hundred bytes.
const PATIENCE: Duration = Duration::from_secs(5);

/// Path of the file for `table` at `origin`.
pub(super) fn path(dir: &Path, origin: &str, table: &str) -> PathBuf {
    dir.join(format!("{}.json", name(origin, table)))
}

/// File name for `table` at `origin`: a hash, since an origin is not a valid file name.
pub(super) fn name(origin: &str, table: &str) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("sotto 2026 client memory v1");
    hasher.update(&(origin.len() as u64).to_le_bytes());
    hasher.update(origin.as_bytes());
    hasher.update(table.as_bytes());
    hasher.finalize().to_hex().to_string()
}

/// Verifies the checksum at the end of a file and returns the bytes before it. Without a checksum,
/// a flipped bit could read as another catalog of the same epoch, which is what a publisher is
/// accused of.
fn checked(bytes: &[u8]) -> Option<&[u8]> {
    let (json, checksum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM_BYTES)?)?;
    (blake3::hash(json).to_hex().as_bytes() == checksum).then_some(json)
}

pub(super) fn read(path: &Path) -> Result<Option<KnownTable>, CacheError> {
    let Some(bytes) = files::read(path).map_err(|e| CacheError::at(path, e))? else { return Ok(None) };
    let damaged = |why: String| CacheError::Memory { path: path.to_owned(), why };
    let text = checked(&bytes).ok_or_else(|| damaged("checksum wrong or missing".to_owned()))?;
    let known: KnownTable = json::from_slice(text).map_err(|e| damaged(e.to_string()))?;
    match known.key() {
        Ok(_) => Ok(Some(known)),
        Err(error) => Err(damaged(error.to_string())),
    }
}

impl KnownTable {
    /// The key that signed the catalog.
    ///
    /// # Errors
    /// [`sotto_catalog::CatalogError::KeyText`] if the text is no key, which does not happen for an
    /// entry from a cache.
    pub fn key(&self) -> Result<PublicKey, sotto_catalog::CatalogError> {
        self.public_key.parse()
    }

    /// Makes an entry from what a client has seen and from the digests of its artifacts.
    pub fn new(
        origin: String,
        table: String,
        seen: &KnownSigner,
        artifacts: BTreeMap<String, String>,
    ) -> Self {
        let KnownSigner { retired, key, epoch, catalog } = seen.clone();
        KnownTable { origin, table, public_key: key.to_string(), epoch, artifacts, catalog, retired }
    }

    /// The newest catalog seen and the keys that led to it.
    ///
    /// # Errors
    /// As [`KnownTable::key`].
    pub fn signer(&self) -> Result<KnownSigner, sotto_catalog::CatalogError> {
        let (key, retired) = (self.key()?, self.retired.clone());
        Ok(KnownSigner { retired, key, epoch: self.epoch, catalog: self.catalog })
    }
}

/// Forgets a table whose entry is damaged. Returns whether it was.
pub(super) fn forget_damaged(path: &Path) -> Result<bool, CacheError> {
    match read(path) {
        Err(CacheError::Memory { .. }) => {
            files::remove(path).map(|()| true).map_err(|e| CacheError::at(path, e))
        }
        outcome => outcome.map(|_| false),
    }
}

/// The entries of all tables; `None` if one of them is damaged, since it is then unknown which
/// artifacts it named.
pub(super) fn all(dir: &Path) -> Result<Option<Vec<KnownTable>>, CacheError> {
    let mut out = Vec::new();
    for path in files::entries(dir).map_err(|e| CacheError::at(dir, e))? {
        if path.extension().is_some_and(|e| e == "json") {
            match read(&path) {
                Err(CacheError::Memory { .. }) => return Ok(None),
                known => out.extend(known?),
            }
        }
    }
    Ok(Some(out))
}

/// Forgets a table and returns its entry; `None` if the entry is missing or damaged.
pub(super) fn forget(path: &Path) -> Result<Option<KnownTable>, CacheError> {
    let _lock = lock(path)?;
    let known = match read(path) {
        Err(CacheError::Memory { .. }) => None,
        known => known?,
    };
    for path in [path.with_extension("catalog"), path.to_owned()] {
        files::remove(&path).map_err(|e| CacheError::at(&path, e))?;
    }
    Ok(known)
}

/// Updates the entry of a table. Returns whether `known` is not older than the entry.
pub(super) fn write(path: &Path, known: &KnownTable) -> Result<bool> {
    let _lock = lock(path)?;
    let mut next = known.clone();
    if let Some(old) = read(path)? {
        let mut signer = old.signer()?;
        if !signer.advance(&known.signer()?)? {
            return Ok(false);
        }
        next.retired = signer.retired;
    }
    let mut bytes = serde_json::to_vec_pretty(&next)
        .map_err(|e| CacheError::Memory { path: path.to_owned(), why: e.to_string() })?;
    bytes.push(b'\n');
    let checksum = blake3::hash(&bytes).to_hex();
    bytes.extend_from_slice(checksum.as_bytes());
    replace(path, &bytes)?;
    Ok(true)
}

fn lock(path: &Path) -> Result<Lock, CacheError> {
    let path = path.with_extension("lock");
    Lock::take(&path, PATIENCE)?.ok_or_else(|| CacheError::at(&path, ErrorKind::WouldBlock.into()))
}
