//! Secret keys that servers know the other half of, kept from call to call: encrypted, and counted.
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
//! A process asks under keys through [`ActiveKeys`], which reserves uses in the file before they are made: so no number of
//! processes, and no crash of one, makes more of them than [`KeyLimits`] says. What the keys are is the caller's: the ring
//! keeps bytes. Tokens that are each good for one request are in the same files, as bytes too: [`TokenStore`].
//!
//! What the key file protects: whoever has the other files without it, from a backup or a copied cache, learns no keys. What
//! it does not: whoever has both can read, from recorded traffic, what was asked under these keys, and can ask under them. So
//! keys are used for a limited time, and the key file may lie elsewhere. On unix a key file that others may read is not
//! used: it is made anew, and the keys with it. Other systems have no mode bits, and the folder's own rules hold.

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
/// Most bytes of a file that is read. Most have a few hundred; coefficients of a secret, where a client keeps those, more.
const MAX_BYTES: u64 = 256 << 10;

/// How long to wait for another process that writes a few hundred bytes.
const WRITE_PATIENCE: Duration = Duration::from_secs(5);

/// A folder of keys.
#[derive(Debug, Clone)]
pub struct Keyring {
    dir: PathBuf,
    key_file: PathBuf,
}

/// Keys, when they were made, and how many of their uses are reserved.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyringEntry {
    /// Tells these keys from those that had the place before; random, and secret as they are.
    pub id: [u8; ID],
    /// What they are, in bytes of their owner's.
    pub keys: Zeroizing<Vec<u8>>,
    /// Seconds since 1970.
    pub made: u64,
    /// Queries that processes have made under them, or have reserved.
    pub used: u64,
}

/// Nothing of the keys.
impl fmt::Debug for KeyringEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("made", &self.made).field("used", &self.used).finish_non_exhaustive()
    }
}

/// The place of the keys of one table at one list of servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyringSlot(String);

impl KeyringSlot {
    /// The place of `table` at `origins`: all servers that are asked, in their order.
    pub fn of(origins: &str, table: &str) -> Self {
        KeyringSlot(known_tables::name(origins, table))
    }
}

impl Keyring {
    /// The keys of a cache at `dir`, encrypted with the key in `key_file`, or with one beside them.
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

    /// What hangs there. What cannot be read is not there: keys are only registered once more.
    ///
    /// # Errors
    /// [`CacheError::Io`] if the system fails.
    pub fn read(&self, hook: &KeyringSlot) -> Result<Option<KeyringEntry>, CacheError> {
        let Some(file) = read(&self.path(hook))? else { return Ok(None) };
        let Some(cipher) = self.cipher()? else { return Ok(None) };
        let sealed = file.strip_prefix(MAGIC).and_then(|rest| rest.split_first_chunk::<NONCE>());
        let Some((nonce, msg)) = sealed else { return Ok(None) };
        let opened = cipher.decrypt(&XNonce::from(*nonce), Payload { msg, aad: &aad(hook) });
        Ok(opened.ok().map(Zeroizing::new).and_then(|bytes| {
            let (id, rest) = bytes.split_first_chunk()?;
            let (made, rest) = rest.split_first_chunk()?;
            let (used, keys) = rest.split_first_chunk()?;
            let [made, used] = [made, used].map(|word| u64::from_le_bytes(*word));
            Some(KeyringEntry { id: *id, keys: Zeroizing::new(keys.to_vec()), made, used })
        }))
    }

    /// Hangs keys there, in the place of those before.
    ///
    /// # Errors
    /// [`CacheError`] if they cannot be written; those before are still there.
    pub fn write(
        &self,
        hook: &KeyringSlot,
        entry: &KeyringEntry,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), CacheError> {
        let path = self.path(hook);
        let cipher = match self.cipher()? {
            Some(cipher) => cipher,
            None => self.make_key(rng)?,
        };
        let mut nonce = [0; NONCE];
        rng.fill_bytes(&mut nonce);
        let words = [entry.made, entry.used].map(u64::to_le_bytes);
        let plain = Zeroizing::new([&entry.id[..], words.as_flattened(), &entry.keys].concat());
        let sealed = cipher.encrypt(&XNonce::from(nonce), Payload { msg: &plain, aad: &aad(hook) });
        let sealed = sealed.map_err(|_| CacheError::at(&path, ErrorKind::InvalidData.into()))?;
        replace(&path, &[&MAGIC[..], &nonce, &sealed].concat()).map(drop)
    }

    /// Waits until no other process registers keys for this place, for at most `patience`.
    ///
    /// # Errors
    /// [`CacheError`] if the lock file cannot be made.
    pub fn lock(&self, hook: &KeyringSlot, patience: Duration) -> Result<Option<Lock>, CacheError> {
        Lock::take(&self.path(hook).with_extension("lock"), patience)
    }

    /// Changes the entry there, while no other process does; `change` says whether it is to be written.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be written, or another process keeps the lock; it is as it was then.
    fn update(
        &self,
        hook: &KeyringSlot,
        rng: &mut dyn CryptoRng,
        change: impl FnOnce(Option<KeyringEntry>) -> Option<KeyringEntry>,
    ) -> Result<(), CacheError> {
        let path = self.path(hook).with_extension("uses");
        let Some(_lock) = Lock::take(&path, WRITE_PATIENCE)? else {
            return Err(CacheError::at(&path, ErrorKind::WouldBlock.into()));
        };
        change(self.read(hook)?).map_or(Ok(()), |entry| self.write(hook, &entry, rng))
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

    /// Makes a key file, in the place of one that cannot be used. Another process may do so at the same time: then one of the
    /// two writes keys that nobody can read, and registers them again.
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

/// The bytes of a small file; `None` if there is none, or it is too large to be one of ours.
fn read(path: &Path) -> Result<Option<Zeroizing<Vec<u8>>>, CacheError> {
    let at = |e| CacheError::at(path, e);
    let Some(file) = files::found(files::open(path)).map_err(at)? else { return Ok(None) };
    let mut bytes = Zeroizing::new(Vec::new());
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(at)?;
    Ok((bytes.len() as u64 <= MAX_BYTES).then_some(bytes))
}
