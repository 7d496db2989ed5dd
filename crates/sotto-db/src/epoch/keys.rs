//! The secret keys in a table's folder: files that are written atomically and readable only by
//! their owner.

use super::{TableDir, WriteLock};
use crate::files::TEMP_PREFIX;
use crate::{DbError, Result};
use sotto_catalog::SigningKey;
use sotto_core::CryptoRng;
use sotto_oprf::SecretKey;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// File name of the signing key, unless it is stored elsewhere.
pub const KEY: &str = "signing.key";
/// File name of the key that opens the rows of a symmetric table. The key is in no image and in no
/// catalog.
pub const OPRF_KEY: &str = "oprf.key";

impl TableDir {
    /// Reads the signing key from `path`, or from the folder; creates it if it does not exist.
    ///
    /// # Errors
    /// [`DbError::KeyExposed`] if others can read it; [`DbError::Catalog`] if it is not a key;
    /// [`DbError::Io`].
    pub fn signing_key(&self, path: Option<&Path>, rng: &mut dyn CryptoRng) -> Result<SigningKey> {
        let path = path.map_or_else(|| self.path.join(KEY), Path::to_owned);
        match read_secret(&path, "reading the signing key") {
            Err(DbError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                let key = SigningKey::generate(rng);
                write_secret(&path, &key.to_file())
                    .map_err(|e| DbError::io("writing the signing key", &path, e))?;
                Ok(key)
            }
            read => Ok(SigningKey::from_file(&read?)?),
        }
    }

    /// Path of the key that opens the rows of a symmetric table, whether it exists or not.
    pub fn oprf_key_path(&self) -> PathBuf {
        self.path.join(OPRF_KEY)
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
        match read_secret(&path, "reading the OPRF key") {
            Err(DbError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Err(DbError::NoOprfKey { path })
            }
            read => read,
        }
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
            Err(DbError::NoOprfKey { path }) if !self.is_masked()? => {
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
        let path = self.dir().oprf_key_path();
        write_secret(&path, text).map_err(|e| DbError::io("writing the OPRF key", &path, e))
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
        return Err(DbError::KeyExposed { path: path.to_owned() });
    }
    Ok(Zeroizing::new(fs::read_to_string(path).map_err(failed)?))
}

/// Writes a key file atomically: half a key would block every later run.
fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Temporary files are readable only by their owner.
    let mut temp = tempfile::Builder::new().prefix(TEMP_PREFIX).suffix(".key").tempfile_in(dir)?;
    temp.write_all(text.as_bytes())?;
    temp.as_file().sync_all()?;
    temp.persist_noclobber(path)?;
    File::open(dir)?.sync_all()
}
