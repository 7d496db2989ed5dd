//! Durable data of an issuer: keys, spent tokens, and how many tokens each user was given.
//!
//! All of it belongs to a key, and is deleted with the key. So the number of spent tokens is
//! bounded by the number of tokens issued under the keys that are still accepted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use zeroize::Zeroizing;

/// Serial number of a key: the first is 1, and numbers are never reused.
pub type KeySerial = u32;

/// A key as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    /// Serial number of the key.
    pub serial: KeySerial,
    /// Tier whose tokens it signs.
    pub tier: String,
    /// Time from which on it signs, in seconds since 1970.
    pub from: u64,
    /// Bytes of the key, from [`crate::key::IssuerKey::to_der`].
    pub der: Zeroizing<Vec<u8>>,
}

/// The ledger cannot be read or written. Nothing was issued and nothing was spent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("token ledger: {0}")]
pub struct LedgerError(pub String);

/// Storage of keys, spent tokens and counts. When a call returns, its effect is durable.
pub trait Ledger: Send + Sync {
    /// All stored keys.
    ///
    /// # Errors
    /// [`LedgerError`].
    fn keys(&self) -> Result<Vec<StoredKey>, LedgerError>;

    /// Stores a new key. Its serial number is above those of all earlier keys, whether they are
    /// still stored or not.
    ///
    /// # Errors
    /// [`LedgerError`].
    fn store_key(&self, tier: &str, from: u64, der: &[u8]) -> Result<KeySerial, LedgerError>;

    /// Deletes a key, and everything that belongs to it.
    ///
    /// # Errors
    /// [`LedgerError`].
    fn delete_key(&self, serial: KeySerial) -> Result<(), LedgerError>;

    /// Spends a token of a stored key; `false` if it was spent before.
    ///
    /// # Errors
    /// [`LedgerError`].
    fn spend_token(&self, serial: KeySerial, nonce: &[u8; 32]) -> Result<bool, LedgerError>;

    /// Counts a token for a user, whose name is a digest; `false` if `most` tokens were counted
    /// before.
    ///
    /// # Errors
    /// [`LedgerError`].
    fn count_issued(&self, serial: KeySerial, user: &[u8; 32], most: u32) -> Result<bool, LedgerError>;
}

/// A ledger in memory that is not durable, for tests and experiments.
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
    /// Locks the state. A poisoned lock is fine: no panic leaves the state half changed.
    fn pages(&self) -> MutexGuard<'_, LedgerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of spent tokens in the ledger.
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
