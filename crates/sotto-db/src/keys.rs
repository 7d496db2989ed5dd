//! The secret keys in a table's folder, and what the signing key signs: documents, with the statements
//! that say which key signs after which.

use crate::epoch::{KEY, OPRF_KEY};
use crate::files::{SECRET, bounded, if_there, parent, sync_dir, temp_in};
use crate::{DbError, Result, TableDir, WriteLock};
use sotto_catalog::signed::SignedDocument;
use sotto_catalog::succession::resolve_signer;
use sotto_catalog::{CatalogError, Document, PublicKey, SigningKey, Succession, TableName};
use sotto_core::CryptoRng;
use sotto_oprf::SecretKey;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use zeroize::Zeroizing;

/// File name of the succession statements, beside the images.
pub const SUCCESSIONS: &str = "succession.json";

/// Largest size of the statements in bytes: each is less than 20 KiB.
const MAX_SUCCESSION_BYTES: u64 = 128 << 10;

impl TableDir {
    /// Reads the signing key from `path`, or from the folder; creates it if it does not exist.
    ///
    /// # Errors
    /// [`DbError::KeyExposed`] if others can read it; [`DbError::Catalog`] if it is not a key;
    /// [`DbError::Io`].
    pub fn signing_key(&self, path: Option<&Path>, rng: &mut dyn CryptoRng) -> Result<SigningKey> {
        let path = path.map_or_else(|| self.path().join(KEY), Path::to_owned);
        if let Some(text) = if_there(read_secret(&path, "reading the signing key"))? {
            return Ok(SigningKey::from_file(&text)?);
        }
        let key = SigningKey::generate(rng);
        write_secret(&path, &key.to_file(), "writing the signing key")?;
        Ok(key)
    }

    /// Adds an ML-DSA-44 half to the signing key in a file, unless it has one. The file is replaced
    /// atomically; clients that know the Ed25519 half accept what both sign.
    ///
    /// # Errors
    /// [`DbError::Io`].
    pub fn add_ml_dsa(&self, path: &Path, key: SigningKey, rng: &mut dyn CryptoRng) -> Result<SigningKey> {
        if key.ml_dsa().is_some() {
            return Ok(key);
        }
        let key = key.with_ml_dsa(rng);
        let written = temp_in(parent(path), ".key", SECRET).and_then(|mut temp| {
            temp.write_all(key.to_file().as_bytes())?;
            temp.as_file().sync_all()?;
            temp.persist(path)?;
            sync_dir(path)
        });
        written.map_err(|e| DbError::io("writing the signing key", path, e))?;
        Ok(key)
    }

    /// Path of the key that opens the rows of a symmetric table, whether it exists or not.
    pub fn oprf_key_path(&self) -> PathBuf {
        self.path().join(OPRF_KEY)
    }

    /// Reads the key that opens the rows of a symmetric table.
    ///
    /// # Errors
    /// [`DbError::NoOprfKey`] if it does not exist; [`DbError::KeyExposed`] if others can read it;
    /// [`DbError::OprfKey`] if it is not a key; [`DbError::Io`].
    pub fn oprf_key(&self) -> Result<SecretKey> {
        let why = |why| DbError::OprfKey { path: self.oprf_key_path(), why };
        SecretKey::from_file(&self.oprf_text()?).map_err(why)
    }

    /// Text of the key file that opens the rows of a symmetric table, whichever function the key
    /// belongs to.
    ///
    /// # Errors
    /// [`DbError::NoOprfKey`] if it does not exist; [`DbError::KeyExposed`] if others can read it;
    /// [`DbError::Io`].
    pub fn oprf_text(&self) -> Result<Zeroizing<String>> {
        let path = self.oprf_key_path();
        if_there(read_secret(&path, "reading the OPRF key"))?.ok_or(DbError::NoOprfKey(path))
    }
}

impl WriteLock {
    /// Reads the key that opens the rows of a symmetric table, or creates it. All epochs in the
    /// folder are masked with one key, so no new key is made where an existing epoch needs the one
    /// that is missing.
    ///
    /// # Errors
    /// The errors of [`TableDir::oprf_key`].
    pub fn oprf_key(&self, rng: &mut dyn CryptoRng) -> Result<SecretKey> {
        match self.dir().oprf_key() {
            Err(DbError::NoOprfKey(path)) if !self.is_masked()? => {
                let why = |why| DbError::OprfKey { path: path.clone(), why };
                let key = SecretKey::generate(rng).map_err(why)?;
                self.keep_oprf_text(&key.to_file())?;
                Ok(key)
            }
            read => read,
        }
    }

    /// Writes the file of the key that opens the rows of a symmetric table, readable only by its
    /// owner. An existing file is not replaced.
    ///
    /// # Errors
    /// [`DbError::Io`].
    pub fn keep_oprf_text(&self, text: &str) -> Result<()> {
        write_secret(&self.dir().oprf_key_path(), text, "writing the OPRF key")
    }

    /// Whether the newest epoch is masked. A damaged newest epoch counts as unmasked, since it does
    /// not prevent encoding the next one.
    pub(crate) fn is_masked(&self) -> Result<bool> {
        let Some(epoch) = self.dir().latest()? else { return Ok(false) };
        let Ok(image) = self.dir().open_epoch(epoch) else { return Ok(false) };
        Ok(image.catalog().symmetric_layer()?.is_some())
    }
}

/// Reads the text of a key file, and refuses a file that others can read.
fn read_secret(path: &Path, what: &'static str) -> Result<Zeroizing<String>> {
    let failed = |e| DbError::io(what, path, e);
    let metadata = fs::metadata(path).map_err(failed)?;
    if metadata.mode() & 0o077 != 0 {
        return Err(DbError::KeyExposed(path.to_owned()));
    }
    Ok(Zeroizing::new(fs::read_to_string(path).map_err(failed)?))
}

/// Writes a key file atomically: half a key would block every later run.
fn write_secret(path: &Path, text: &str, what: &'static str) -> Result<()> {
    let written = temp_in(parent(path), ".key", SECRET).and_then(|mut temp| {
        temp.write_all(text.as_bytes())?;
        temp.as_file().sync_all()?;
        temp.persist_noclobber(path)?;
        sync_dir(path)
    });
    written.map_err(|e| DbError::io(what, path, e))
}

/// Signs a document for publication in a folder, together with the key's succession statements.
pub(crate) fn sign<D: Document>(dir: &TableDir, document: &D, key: &SigningKey) -> Result<SignedDocument<D>> {
    let all = read_successions(dir)?;
    let mut signed = SignedDocument::sign(document, key)?;
    let statements: Vec<_> = all.iter().filter_map(|one| one.verify().ok()).collect();
    let is_last = statements.last().is_some_and(|statements| {
        statements.table == *document.name() && statements.to == key.public().ed25519
    });
    if is_last {
        signed.successions = all;
    }
    Ok(signed)
}

/// Whether one key of a table named the other as its successor.
pub(crate) fn is_successor(
    dir: &TableDir,
    table: &TableName,
    from: PublicKey,
    to: PublicKey,
) -> Result<bool> {
    Ok(resolve_signer(&read_successions(dir)?, table, from, to)?.is_some())
}

/// Reads the succession statements of a folder; none if there was no rotation.
pub(crate) fn read_successions(dir: &TableDir) -> Result<Vec<Succession>> {
    let path = dir.path().join(SUCCESSIONS);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let all: Vec<Succession> =
        serde_json::from_slice(&bounded(&path, MAX_SUCCESSION_BYTES)?).map_err(|error| malformed(&error))?;
    // Clients that follow a statement which this build cannot read would be lost.
    all.iter().try_for_each(|one| one.verify().map(drop))?;
    Ok(all)
}

pub(crate) fn malformed(error: &serde_json::Error) -> DbError {
    CatalogError::Malformed { what: SUCCESSIONS, why: error.to_string() }.into()
}

/// Seconds since 1970; 0 on a clock that is before.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The time of creation of what is signed now, and its expiry after `lifetime` seconds; `None` for
/// no expiry.
pub(crate) fn validity(lifetime: Option<u64>) -> (u64, Option<u64>) {
    let created = unix_seconds();
    (created, lifetime.map(|lifetime| created.saturating_add(lifetime)))
}
