//! Secret client keys whose public half servers hold, stored between calls: encrypted, with a count
//! of their uses.
//!
//! ```text
//! DIR/keys/<hash>.keys   sotto-keys/3 | nonce (24 B) | XChaCha20-Poly1305 of:
//!                        id (16 B) | when made (8 B) | uses reserved (8 B) | the keys
//! DIR/keys/<hash>.lock   held by the process that registers keys
//! DIR/keys/<hash>.uses   held while the file beside it is changed
//! DIR/keys/key           the key file: 32 random bytes for its owner alone, here or wherever the caller says
//! ```
//!
//! The hash names the servers and the table, and is authenticated with the magic, so that no file passes for another one.
//! `spec/keys.md` draws it.
//!
//! A process makes queries under keys through [`ActiveKeys`], which reserves uses in the file
//! before they happen. So neither several processes nor a crash can exceed the limits of
//! [`KeyLimits`]. The keyring treats keys as opaque bytes. One-time tokens are stored in the same
//! files, also as bytes: see [`TokenStore`].
//!
//! The key file protects against anyone who has the other files without it, from a backup or a
//! copied cache: they learn no keys. It does not protect against anyone who has both: they can
//! read, from recorded traffic, what was queried under these keys, and can make queries under them.
//! So keys are used for a limited time, and the key file may be in another folder. On Unix, a key
//! file that others may read is not used: a new one is made, and new keys with it. Other systems
//! have no mode bits, and the access rules of the folder apply.

mod active;
mod tokens;

pub use active::{ActiveKeys, DEFAULT_KEY_AGE, DEFAULT_KEY_QUERIES, KeyLimits};
pub use tokens::{StoredToken, TOKEN_BATCH, TokenStore};

use super::lock::Lock;
use super::{CacheError, known_tables, replace};
use crate::files;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use sotto_core::CryptoRng;
use std::fmt;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;
use zeroize::Zeroizing;

const MAGIC: &[u8; 16] = b"sotto-keys/3\0\0\0\0";
const NONCE: usize = 24;
const KEY: usize = 32;
const ID: usize = 16;
/// Upper bound on the bytes of a file that is read. Most have a few hundred; files with
/// coefficients of a secret have more.
const MAX_BYTES: u64 = 256 << 10;

/// Time to wait for another process that writes a few hundred bytes.
const MAX_WRITE_WAIT: Duration = Duration::from_secs(5);

/// A folder of encrypted client keys.
#[derive(Debug, Clone)]
pub struct Keyring {
    dir: PathBuf,
    key_file: PathBuf,
}

/// Client keys, the time when they were made, and the number of their reserved uses.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyringEntry {
    /// Random identifier, which tells these keys from earlier ones in the same slot; as secret as
    /// the keys.
    pub id: [u8; ID],
    /// Bytes of the keys, in a format of their owner.
    pub keys: Zeroizing<Vec<u8>>,
    /// Time when the keys were made, in seconds since 1970.
    pub made: u64,
    /// Queries made under the keys, or reserved by processes.
    pub used: u64,
}

/// Shows nothing of the keys.
impl fmt::Debug for KeyringEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("made", &self.made).field("used", &self.used).finish_non_exhaustive()
    }
}

/// Names the keys of one table at one list of servers within a [`Keyring`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyringSlot(String);

impl KeyringSlot {
    /// The slot for `table` at `origins`, which names all query servers in the order of their
    /// roles.
    pub fn of(origins: &str, table: &str) -> Self {
        KeyringSlot(known_tables::name(origins, table))
    }
}

impl Keyring {
    /// Opens the keyring of a cache at `dir`, encrypted with the key in `key_file`, or with one in
    /// the same folder.
    ///
    /// # Errors
    /// [`CacheError`] if a folder cannot be made.
    pub fn open(dir: &Path, key_file: Option<&Path>) -> Result<Self, CacheError> {
        let (cache, dir) = (dir, dir.join("keys"));
        let key_file = key_file.map_or_else(|| dir.join("key"), Path::to_owned);
        for dir in [cache, &dir] {
            files::make_private_folder(dir).map_err(|e| CacheError::at(dir, e))?;
        }
        if let Some(dir) = key_file.parent() {
            files::make_folder(dir).map_err(|e| CacheError::at(dir, e))?;
        }
        Ok(Keyring { dir, key_file })
    }

    /// Reads the entry of a slot. An unreadable entry counts as missing: keys are then registered
    /// again.
    ///
    /// # Errors
    /// [`CacheError::Io`] if the system fails.
    pub fn read(&self, slot: &KeyringSlot) -> Result<Option<KeyringEntry>, CacheError> {
        let Some(file) = read(&self.path(slot))? else { return Ok(None) };
        let Some(cipher) = self.cipher()? else { return Ok(None) };
        let sealed = file.strip_prefix(MAGIC).and_then(|rest| rest.split_first_chunk::<NONCE>());
        let Some((nonce, msg)) = sealed else { return Ok(None) };
        let opened = cipher.decrypt(&XNonce::from(*nonce), Payload { msg, aad: &aad(slot) });
        Ok(opened.ok().map(Zeroizing::new).and_then(|bytes| {
            let (id, rest) = bytes.split_first_chunk()?;
            let (made, rest) = rest.split_first_chunk()?;
            let (used, keys) = rest.split_first_chunk()?;
            let [made, used] = [made, used].map(|word| u64::from_le_bytes(*word));
            Some(KeyringEntry { id: *id, keys: Zeroizing::new(keys.to_vec()), made, used })
        }))
    }

    /// Writes keys into a slot and replaces earlier ones.
    ///
    /// # Errors
    /// [`CacheError`] if they cannot be written; the earlier keys are then still there.
    pub fn write(
        &self,
        slot: &KeyringSlot,
        entry: &KeyringEntry,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), CacheError> {
        let path = self.path(slot);
        let cipher = match self.cipher()? {
            Some(cipher) => cipher,
            None => self.make_key(rng)?,
        };
        let mut nonce = [0; NONCE];
        rng.fill_bytes(&mut nonce);
        let words = [entry.made, entry.used].map(u64::to_le_bytes);
        let plain = Zeroizing::new([&entry.id[..], words.as_flattened(), &entry.keys].concat());
        let sealed = cipher.encrypt(&XNonce::from(nonce), Payload { msg: &plain, aad: &aad(slot) });
        let sealed = sealed.map_err(|_| CacheError::at(&path, ErrorKind::InvalidData.into()))?;
        replace(&path, &[&MAGIC[..], &nonce, &sealed].concat()).map(drop)
    }

    /// Takes the lock for registering keys for a slot, and waits at most `max_wait` for another
    /// process.
    ///
    /// # Errors
    /// [`CacheError`] if the lock file cannot be made.
    pub fn lock(&self, slot: &KeyringSlot, max_wait: Duration) -> Result<Option<Lock>, CacheError> {
        Lock::take(&self.path(slot).with_extension("lock"), max_wait)
    }

    /// Changes the entry of a slot under its lock; `change` returns whether the entry is to be
    /// written.
    ///
    /// # Errors
    /// [`CacheError`] if the entry cannot be written, or another process holds the lock; the entry
    /// is then unchanged.
    fn update(
        &self,
        slot: &KeyringSlot,
        rng: &mut dyn CryptoRng,
        change: impl FnOnce(Option<KeyringEntry>) -> Option<KeyringEntry>,
    ) -> Result<(), CacheError> {
        let path = self.path(slot).with_extension("uses");
        let Some(_lock) = Lock::take(&path, MAX_WRITE_WAIT)? else {
            return Err(CacheError::at(&path, ErrorKind::WouldBlock.into()));
        };
        change(self.read(slot)?).map_or(Ok(()), |entry| self.write(slot, &entry, rng))
    }

    fn path(&self, KeyringSlot(name): &KeyringSlot) -> PathBuf {
        self.dir.join(format!("{name}.keys"))
    }

    fn cipher(&self) -> Result<Option<XChaCha20Poly1305>, CacheError> {
        let at = |e| CacheError::at(&self.key_file, e);
        if files::found(files::is_private(&self.key_file)).map_err(at)? != Some(true) {
            return Ok(None);
        }
        let key =
            read(&self.key_file)?.and_then(|key| Some(Zeroizing::new(<[u8; KEY]>::try_from(&**key).ok()?)));
        Ok(key.map(|key| XChaCha20Poly1305::new(&Key::from(*key))))
    }

    /// Makes a key file, or replaces one that cannot be used. If two processes do so at the same
    /// time, one of them writes keys that cannot be read back, and registers keys again.
    fn make_key(&self, rng: &mut dyn CryptoRng) -> Result<XChaCha20Poly1305, CacheError> {
        let mut key = Zeroizing::new([0; KEY]);
        rng.fill_bytes(key.as_mut());
        replace(&self.key_file, key.as_ref())?;
        Ok(XChaCha20Poly1305::new(&Key::from(*key)))
    }
}

fn aad(KeyringSlot(name): &KeyringSlot) -> Vec<u8> {
    [&MAGIC[..], name.as_bytes()].concat()
}

/// Reads a small file; `None` if it does not exist, or is too large for a file of the keyring.
fn read(path: &Path) -> Result<Option<Zeroizing<Vec<u8>>>, CacheError> {
    let at = |e| CacheError::at(path, e);
    let Some(file) = files::found(files::open(path)).map_err(at)? else { return Ok(None) };
    let mut bytes = Zeroizing::new(Vec::new());
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(at)?;
    Ok((bytes.len() as u64 <= MAX_BYTES).then_some(bytes))
}
