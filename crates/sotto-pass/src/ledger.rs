//! What must not be forgotten: keys, spent tokens, how many each user was given.
//!
//! All of it belongs to a key, and goes when the key goes. So what is spent stays bounded: by what was given, of the keys that
//! still count.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use zeroize::Zeroizing;

/// The number of a key: the first is 1, and none has a number that another had.
pub type Serial = u32;

/// A key as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its number.
    pub serial: Serial,
    /// Whose tokens it signs.
    pub tier: String,
    /// From when on it signs, in seconds since 1970.
    pub from: u64,
    /// Its bytes, of [`crate::key::Key::to_der`].
    pub der: Zeroizing<Vec<u8>>,
}

/// The ledger could not be read or written. Nothing was given and nothing was spent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the ledger of tokens: {0}")]
pub struct Broken(pub String);

/// Where keys, spent tokens and counts are kept. When a call comes back, what it did lasts over a restart.
pub trait Ledger: Send + Sync {
    /// All keys that are kept.
    ///
    /// # Errors
    /// [`Broken`].
    fn keys(&self) -> Result<Vec<Kept>, Broken>;

    /// Keeps a new key. `serial` is above that of every key there was, whether it is still kept or not.
    ///
    /// # Errors
    /// [`Broken`].
    fn keep(&self, tier: &str, from: u64, der: &[u8]) -> Result<Serial, Broken>;

    /// Forgets a key, and all that belongs to it.
    ///
    /// # Errors
    /// [`Broken`].
    fn forget(&self, serial: Serial) -> Result<(), Broken>;

    /// Spends a token of a key that is kept; `false` if it was spent before.
    ///
    /// # Errors
    /// [`Broken`].
    fn spend(&self, serial: Serial, nonce: &[u8; 32]) -> Result<bool, Broken>;

    /// Counts a token for a user, whose name is a digest; `false` if `most` were counted before.
    ///
    /// # Errors
    /// [`Broken`].
    fn give(&self, serial: Serial, user: &[u8; 32], most: u32) -> Result<bool, Broken>;
}

/// A ledger in memory, which forgets when it goes: for tests, and to try something out.
#[derive(Debug, Default)]
pub struct Memory(Mutex<Pages>);

#[derive(Debug, Default)]
struct Pages {
    last: Serial,
    keys: Vec<Kept>,
    spent: BTreeSet<(Serial, [u8; 32])>,
    given: BTreeMap<(Serial, [u8; 32]), u32>,
}

impl Memory {
    /// No panic leaves it half changed.
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many tokens are known to be spent.
    pub fn spent(&self) -> usize {
        self.pages().spent.len()
    }
}

impl Ledger for Memory {
    fn keys(&self) -> Result<Vec<Kept>, Broken> {
        Ok(self.pages().keys.clone())
    }

    fn keep(&self, tier: &str, from: u64, der: &[u8]) -> Result<Serial, Broken> {
        let mut pages = self.pages();
        pages.last += 1;
        let kept = Kept { serial: pages.last, tier: tier.into(), from, der: Zeroizing::new(der.to_vec()) };
        pages.keys.push(kept);
        Ok(pages.last)
    }

    fn forget(&self, serial: Serial) -> Result<(), Broken> {
        let mut pages = self.pages();
        pages.keys.retain(|kept| kept.serial != serial);
        pages.spent.retain(|(of, _)| *of != serial);
        pages.given.retain(|(of, _), _| *of != serial);
        Ok(())
    }

    fn spend(&self, serial: Serial, nonce: &[u8; 32]) -> Result<bool, Broken> {
        Ok(self.pages().spent.insert((serial, *nonce)))
    }

    fn give(&self, serial: Serial, user: &[u8; 32], most: u32) -> Result<bool, Broken> {
        let mut pages = self.pages();
        let given = pages.given.entry((serial, *user)).or_default();
        let more = *given < most;
        *given += u32::from(more);
        Ok(more)
    }
}
