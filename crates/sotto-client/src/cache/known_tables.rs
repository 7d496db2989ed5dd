//! What is remembered of a table: the newest epoch seen, and the keys that led there.
//!
//! This is what makes a first use worth something: the second catalog has to be signed by the same key, or by one that it named,
//! and may not be older than the first. A checksum ends the file, so that damage is told as damage of a local file.

use super::{CacheError, lock::Lock, replace};
use crate::Result;
use crate::files;
use crate::session::{KnownSigner, RetiredKey};
use serde::{Deserialize, Serialize};
use sotto_catalog::{Hex32, PublicKey};
use sotto_core::Epoch;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is remembered of one table at one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownTable {
    /// The server.
    pub origin: String,
    /// The table.
    pub table: String,
    /// The key that signed its catalog, in text form.
    pub public_key: String,
    /// The newest epoch seen.
    pub epoch: Epoch,
    /// Digests of that epoch's artifacts, by name.
    pub artifacts: BTreeMap<String, String>,
    /// The digest of that epoch's catalog, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalog: Option<Hex32>,
    /// Keys that signed before, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retired: Vec<RetiredKey>,
}

/// BLAKE3 of what stands before it, in small hex digits.
const CHECKSUM_BYTES: usize = 2 * blake3::OUT_LEN;

/// How long to wait for another process that is writing a few hundred bytes.
const PATIENCE: Duration = Duration::from_secs(5);

/// The file for `table` at `origin`.
pub(super) fn path(dir: &Path, origin: &str, table: &str) -> PathBuf {
    dir.join(format!("{}.json", name(origin, table)))
}

/// What a file for `table` at `origin` is named: a hash, since an origin is not a file name.
pub(super) fn name(origin: &str, table: &str) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("sotto 2026 client memory v1");
    hasher.update(&(origin.len() as u64).to_le_bytes());
    hasher.update(origin.as_bytes());
    hasher.update(table.as_bytes());
    hasher.finalize().to_hex().to_string()
}

/// The bytes that the checksum at their end is of. Without it a flipped bit could read as another catalog of the same epoch,
/// which is what a publisher is accused of.
fn checked(bytes: &[u8]) -> Option<&[u8]> {
    let (json, checksum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM_BYTES)?)?;
    (blake3::hash(json).to_hex().as_bytes() == checksum).then_some(json)
}

pub(super) fn read(path: &Path) -> Result<Option<KnownTable>, CacheError> {
    let Some(bytes) = files::read(path).map_err(|e| CacheError::at(path, e))? else { return Ok(None) };
    let damaged = |why: String| CacheError::Memory { path: path.to_owned(), why };
    let json = checked(&bytes).ok_or_else(|| damaged("its checksum is wrong or missing".to_owned()))?;
    let known: KnownTable = serde_json::from_slice(json).map_err(|e| damaged(e.to_string()))?;
    match known.key() {
        Ok(_) => Ok(Some(known)),
        Err(error) => Err(damaged(error.to_string())),
    }
}

impl KnownTable {
    /// The key that signed its catalog.
    ///
    /// # Errors
    /// [`sotto_catalog::CatalogError::KeyText`] for what is no key; never for what a cache gives.
    pub fn key(&self) -> Result<PublicKey, sotto_catalog::CatalogError> {
        self.public_key.parse()
    }

    /// What was seen, with those artifacts.
    pub fn new(
        origin: String,
        table: String,
        seen: &KnownSigner,
        artifacts: BTreeMap<String, String>,
    ) -> Self {
        let KnownSigner { retired, key, epoch, catalog } = seen.clone();
        KnownTable { origin, table, public_key: key.to_string(), epoch, artifacts, catalog, retired }
    }

    /// What was seen.
    ///
    /// # Errors
    /// As [`KnownTable::key`].
    pub fn signer(&self) -> Result<KnownSigner, sotto_catalog::CatalogError> {
        let (key, retired) = (self.key()?, self.retired.clone());
        Ok(KnownSigner { retired, key, epoch: self.epoch, catalog: self.catalog })
    }
}

/// Forgets a table whose memory is damaged. Gives whether it was.
pub(super) fn forget_damaged(path: &Path) -> Result<bool, CacheError> {
    match read(path) {
        Err(CacheError::Memory { .. }) => {
            files::remove(path).map(|()| true).map_err(|e| CacheError::at(path, e))
        }
        outcome => outcome.map(|_| false),
    }
}

/// Every table's memory; `None` if one of them is damaged, and nobody knows what it named.
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

/// Forgets a table. Gives what was remembered; nothing where that is damaged.
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

/// Goes on from what is remembered to this. Gives whether it was not older.
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
