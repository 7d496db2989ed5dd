//! One-time tokens, fetched in batches ahead of their use. Each token is removed from its store
//! before it is sent.

use super::{ID, Keyring, KeyringEntry, KeyringSlot};
use crate::cache::CacheError;
use sotto_core::CryptoRng;
use std::fmt;
use std::io::ErrorKind;
use std::time::Duration;
use web_time::{SystemTime, UNIX_EPOCH};
use zeroize::Zeroizing;

/// Number of tokens in a batch. A client always requests a whole batch, so that its size reveals
/// nothing of how many were used.
pub const TOKEN_BATCH: usize = 32;

/// Number of tokens below which the next batch is due. What one call may need still comes from the
/// disk.
const LOW_TOKENS: usize = 8;

/// Maximum age of tokens: an issuer's key signs for a week, and its tokens are valid for another.
const MAX_TOKEN_AGE: Duration = Duration::from_secs(7 * 24 * 3600);

/// Pause after a refill that brought too few tokens, or none. Without it, each lookup of a user
/// without further tokens would be followed by a request to the issuer.
const REFILL_PAUSE: Duration = Duration::from_secs(3600);

/// Bytes before the tokens of an entry: the time when a refill was begun.
const HEADER: usize = 8;

/// The current batch of one user's tokens at one server, encrypted in a keyring or in memory.
///
/// All tokens of a batch are signed by one key of the issuer. A new batch replaces the earlier one
/// as a whole.
pub struct TokenStore {
    /// Slot in the keyring; `None` for tokens of this process alone.
    place: Option<(Keyring, KeyringSlot)>,
    /// The batch, if it is of this process alone.
    memory: Option<KeyringEntry>,
    token_bytes: usize,
    max_wait: Duration,
}

/// A token that was taken out of its store.
pub struct StoredToken {
    /// Bytes to send.
    pub bytes: Zeroizing<Vec<u8>>,
    batch: [u8; ID],
}

impl TokenStore {
    /// The tokens stored at `place`, of `token_bytes` bytes each. Waits at most `max_wait` for
    /// another process that fetches a batch.
    pub fn new(place: Option<(Keyring, KeyringSlot)>, token_bytes: usize, max_wait: Duration) -> Self {
        TokenStore { place, memory: None, token_bytes: token_bytes.max(1), max_wait }
    }

    /// Whether tokens are stored on disk and outlive this process.
    pub fn is_kept(&self) -> bool {
        self.place.is_some()
    }

    /// Takes a token out of the store. It is removed from the disk before this returns, so that no
    /// other or later process gets it too.
    ///
    /// # Errors
    /// [`CacheError`] if the removal cannot be written: then the token must not be sent.
    pub fn take(&mut self, rng: &mut dyn CryptoRng) -> Result<Option<StoredToken>, CacheError> {
        let size = self.token_bytes;
        self.change(rng, |batch, _| {
            let rest = batch.keys.len().checked_sub(size).filter(|rest| *rest >= HEADER)?;
            let bytes = Zeroizing::new(batch.keys.split_off(rest));
            Some(StoredToken { bytes, batch: batch.id })
        })
    }

    /// Takes a token out of the store; if there is none, fetches a batch first, unless another
    /// process is already doing so.
    ///
    /// # Errors
    /// The error of `fetch`; [`CacheError`] as for [`TokenStore::take`], or if another process
    /// fetches for too long.
    pub fn take_or_fetch<E: From<CacheError>>(
        &mut self,
        rng: &mut dyn CryptoRng,
        fetch: impl FnOnce(&mut dyn CryptoRng) -> Result<Vec<Vec<u8>>, E>,
    ) -> Result<Option<StoredToken>, E> {
        if let Some(token) = self.take(rng)? {
            return Ok(Some(token));
        }
        let _lock = match &self.place {
            None => None,
            Some((ring, slot)) => match ring.lock(slot, self.max_wait)? {
                None => return Err(CacheError::at(&ring.path(slot), ErrorKind::WouldBlock.into()).into()),
                lock => lock,
            },
        };
        if let Some(token) = self.take(rng)? {
            return Ok(Some(token));
        }
        let tokens = fetch(rng)?;
        self.replace(&tokens, rng)?;
        Ok(self.take(rng)?)
    }

    /// Replaces the batch by a newly issued one, all of whose tokens are signed by one key. An
    /// empty batch replaces nothing.
    ///
    /// # Errors
    /// [`CacheError`] if it cannot be written.
    pub fn replace(&mut self, tokens: &[Vec<u8>], rng: &mut dyn CryptoRng) -> Result<(), CacheError> {
        let mut id = [0; ID];
        rng.fill_bytes(&mut id);
        let size = self.token_bytes;
        let tokens: Vec<_> = tokens.iter().filter(|token| token.len() == size).collect();
        self.change(rng, |batch, now| {
            let begun = if tokens.len() < TOKEN_BATCH { now } else { 0 };
            let mut keys = Zeroizing::new(Vec::with_capacity(HEADER + tokens.len() * size));
            keys.extend(begun.to_le_bytes());
            tokens.iter().for_each(|token| keys.extend(token.iter()));
            *batch = KeyringEntry { id, keys, made: now, used: 0 };
            (!tokens.is_empty()).then_some(())
        })
        .map(drop)
    }

    /// Drops the batch of a token that the server no longer accepts, unless another batch has
    /// replaced it.
    ///
    /// # Errors
    /// [`CacheError`] if the removal cannot be written.
    pub fn discard(&mut self, token: &StoredToken, rng: &mut dyn CryptoRng) -> Result<(), CacheError> {
        self.change(rng, |batch, now| {
            (batch.id == token.batch).then(|| batch.keys = Zeroizing::new(now.to_le_bytes().to_vec()))
        })
        .map(drop)
    }

    /// Whether this process should fetch the next batch now: few tokens are left, and no process
    /// has tried recently. Returns `true` to one process alone, and always `false` for tokens that
    /// do not outlive this process.
    ///
    /// # Errors
    /// [`CacheError`] if the time of the refill cannot be written.
    pub fn begin_refill(&mut self, rng: &mut dyn CryptoRng) -> Result<bool, CacheError> {
        let (size, is_kept) = (self.token_bytes, self.is_kept());
        let begun = self.change(rng, |batch, now| {
            let (begun, tokens) = batch.keys.split_first_chunk_mut()?;
            let is_low = tokens.len() / size < LOW_TOKENS;
            let is_paused = u64::from_le_bytes(*begun).saturating_add(REFILL_PAUSE.as_secs()) > now;
            (is_kept && is_low && !is_paused).then(|| *begun = now.to_le_bytes())
        });
        begun.map(|begun| begun.is_some())
    }

    /// Changes the batch if `change` says so. A batch that is too old, or cannot be read, counts as
    /// empty.
    fn change<T>(
        &mut self,
        rng: &mut dyn CryptoRng,
        change: impl FnOnce(&mut KeyringEntry, u64) -> Option<T>,
    ) -> Result<Option<T>, CacheError> {
        let mut outcome = None;
        let apply = |before: Option<KeyringEntry>| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
            let is_young = |age| age < MAX_TOKEN_AGE.as_secs();
            let is_usable = |entry: &KeyringEntry| {
                now.checked_sub(entry.made).is_some_and(is_young) && entry.keys.len() >= HEADER
            };
            let empty =
                || KeyringEntry { id: [0; ID], keys: Zeroizing::new(vec![0; HEADER]), made: now, used: 0 };
            let mut batch = before.filter(is_usable).unwrap_or_else(empty);
            outcome = change(&mut batch, now);
            outcome.is_some().then_some(batch)
        };
        match &self.place {
            Some((ring, slot)) => ring.update(slot, rng, apply)?,
            None => self.memory = apply(self.memory.clone()).or_else(|| self.memory.take()),
        }
        Ok(outcome)
    }
}

/// Shows nothing of the tokens.
impl fmt::Debug for TokenStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenStore").field("is_kept", &self.is_kept()).finish_non_exhaustive()
    }
}

/// Shows nothing of the token.
impl fmt::Debug for StoredToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredToken").finish_non_exhaustive()
    }
}
