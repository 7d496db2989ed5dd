//! What must not be forgotten: keys, spent tokens, how many each user was given.
//!
//! All of it belongs to a key, and goes when the key goes. So what is spent stays bounded: by what was given, of the keys that
//! still count.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use zeroize::Zeroizing;

/// The number of a key: the first is 1, and none has a number that another had.
pub type KeySerial = u32;

/// A key as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    /// Its number.
    pub serial: KeySerial,
    /// Whose tokens it signs.
    pub tier: String,
    /// From when on it signs, in seconds since 1970.
    pub from: u64,
    /// Its bytes, of [`crate::key::IssuerKey::to_der`].
    pub der: Zeroizing<Vec<u8>>,
}

/// The ledger could not be read or written. Nothing was given and nothing was spent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the ledger of tokens: {0}")]
pub struct LedgerError(pub String);

/// Where keys, spent tokens and counts are kept. When a call comes back, what it did lasts over a restart.
pub trait Ledger: Send + Sync {
    /// All keys that are kept.
    ///
    /// # Errors
    /// [`LedgerError`].
    fn keys(&self) -> Result<Vec<StoredKey>, LedgerError>;

    /// Keeps a new key. `serial` is above that of every key there was, whether it is still kept or not.
    ///
    /// # Errors
    /// [`LedgerError`].
    fn store_key(&self, tier: &str, from: u64, der: &[u8]) -> Result<KeySerial, LedgerError>;

    /// Forgets a key, and all that belongs to it.
    ///
    /// # Errors
    /// [`LedgerError`].
    fn delete_key(&self, serial: KeySerial) -> Result<(), LedgerError>;

    /// Spends a token of a key that is kept; `false` if it was spent before.
    ///
    /// # Errors
    /// [`LedgerError`].
    fn spend_token(&self, serial: KeySerial, nonce: &[u8; 32]) -> Result<bool, LedgerError>;

    /// Counts a token for a user, whose name is a digest; `false` if `most` were counted before.
    ///
    /// # Errors
    /// [`LedgerError`].
    fn count_issued(&self, serial: KeySerial, user: &[u8; 32], most: u32) -> Result<bool, LedgerError>;
}

/// A ledger in memory, which forgets when it goes: for tests, and to try something out.
#[derive(Debug, Default)]
pub struct MemoryLedger(Mutex<LedgerState>);

#[derive(Debug, Default)]
struct LedgerState {
    last: KeySerial,
    keys: Vec<StoredKey>,
    spent: BTreeSet<(KeySerial, [u8; 32])>,
    given: BTreeMap<(KeySerial, [u8; 32]), u32>,
}

impl MemoryLedger {
    /// No panic leaves it half changed.
    fn pages(&self) -> MutexGuard<'_, LedgerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many tokens are known to be spent.
    pub fn spent(&self) -> usize {
        self.pages().spent.len()
    }
}

impl Ledger for MemoryLedger {
    fn keys(&self) -> Result<Vec<StoredKey>, LedgerError> {
        Ok(self.pages().keys.clone())
    }

    fn store_key(&self, tier: &str, from: u64, der: &[u8]) -> Result<KeySerial, LedgerError> {
        let mut pages = self.pages();
        pages.last += 1;
        let kept =
            StoredKey { serial: pages.last, tier: tier.into(), from, der: Zeroizing::new(der.to_vec()) };
        pages.keys.push(kept);
        Ok(pages.last)
    }

    fn delete_key(&self, serial: KeySerial) -> Result<(), LedgerError> {
        let mut pages = self.pages();
        pages.keys.retain(|kept| kept.serial != serial);
        pages.spent.retain(|(of, _)| *of != serial);
        pages.given.retain(|(of, _), _| *of != serial);
        Ok(())
    }

    fn spend_token(&self, serial: KeySerial, nonce: &[u8; 32]) -> Result<bool, LedgerError> {
        Ok(self.pages().spent.insert((serial, *nonce)))
    }

    fn count_issued(&self, serial: KeySerial, user: &[u8; 32], most: u32) -> Result<bool, LedgerError> {
        let mut pages = self.pages();
        let given = pages.given.entry((serial, *user)).or_default();
        let more = *given < most;
        *given += u32::from(more);
        Ok(more)
    }
}
