//! Keys that a process makes queries under: every use is recorded on disk before it happens.

use super::{ID, Keyring, KeyringEntry, KeyringSlot};
use crate::cache::CacheError;
use sotto_core::CryptoRng;
use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;
use web_time::{SystemTime, UNIX_EPOCH};
use zeroize::Zeroizing;

/// Default maximum age of keys. A server can link all queries made under the same keys to one
/// client.
pub const DEFAULT_KEY_AGE: Duration = Duration::from_secs(60 * 60);

/// Default maximum number of queries under one set of keys.
pub const DEFAULT_KEY_QUERIES: u64 = 256;

/// Divisor of the maximum number of uses that gives the size of one reservation: a crashed process
/// loses at most that many.
const STEPS: u64 = 16;

/// The whole lifetime of keys, as a fraction.
const WHOLE: (u32, u32) = (1, 1);

/// Maximum age of keys, and maximum number of queries under them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyLimits {
    /// Maximum age since the keys were made.
    pub age: Duration,
    /// Maximum number of queries, by all processes together.
    pub queries: u64,
}

impl Default for KeyLimits {
    fn default() -> Self {
        KeyLimits { age: DEFAULT_KEY_AGE, queries: DEFAULT_KEY_QUERIES }
    }
}

impl KeyLimits {
    /// Whether `queries` more uses fit into the fraction `part / of` of the keys' lifetime.
    fn allow(&self, made: u64, used: u64, queries: u64, (part, of): (u32, u32)) -> bool {
        // After the clock was set back, ages are unknown.
        let age = now().checked_sub(made);
        let is_young = age.is_some_and(|age| Duration::from_secs(age) < self.age.saturating_mul(part) / of);
        let most = self.queries / u64::from(of) * u64::from(part);
        // A request for more queries than the limit is allowed if it is the only one under its
        // keys.
        is_young && (used.saturating_add(queries) <= most || used == 0)
    }

    /// The number of uses to reserve for a request of `queries` queries.
    fn step(&self, used: u64, queries: u64) -> u64 {
        queries.max((self.queries / STEPS).min(self.queries.saturating_sub(used)))
    }
}

/// Keys that this process makes queries under, and the uses it has reserved. Dropping it releases
/// the reserved uses that were not made.
pub struct ActiveKeys {
    /// Slot in the keyring; `None` for keys of this process alone.
    place: Option<(Keyring, KeyringSlot)>,
    limits: KeyLimits,
    entry: KeyringEntry,
    /// Uses that are reserved and not made yet.
    reserved: u64,
}

impl ActiveKeys {
    /// Stores new keys in place of earlier ones, and reserves at least `uses` uses.
    ///
    /// # Errors
    /// [`CacheError`] if the keys cannot be stored.
    pub fn create(
        place: Option<(Keyring, KeyringSlot)>,
        limits: KeyLimits,
        keys: Zeroizing<Vec<u8>>,
        uses: u64,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self, CacheError> {
        let mut id = [0; ID];
        rng.fill_bytes(&mut id);
        let reserved = limits.step(0, uses);
        let entry = KeyringEntry { id, keys, made: now(), used: reserved };
        if let Some((ring, slot)) = &place {
            ring.update(slot, rng, |_| Some(entry.clone()))?;
        }
        Ok(ActiveKeys { place, limits, entry, reserved })
    }

    /// Loads keys from the keyring, if `queries` more uses can be reserved; with 0, if at least one
    /// more use is possible.
    ///
    /// # Errors
    /// [`CacheError`] if the files cannot be read or written.
    pub fn load(
        ring: &Keyring,
        slot: &KeyringSlot,
        limits: KeyLimits,
        uses: u64,
    ) -> Result<Option<Self>, CacheError> {
        let lasts = |entry: &KeyringEntry| limits.allow(entry.made, entry.used, 1, WHOLE);
        let Some(entry) = ring.read(slot)?.filter(lasts) else { return Ok(None) };
        let mut active = ActiveKeys { place: Some((ring.clone(), slot.clone())), limits, entry, reserved: 0 };
        Ok(active.reserve(uses)?.then_some(active))
    }

    /// The bytes of the keys, in a format of their owner.
    pub fn keys(&self) -> &[u8] {
        &self.entry.keys
    }

    /// Reserves uses without making them. Returns `false` if the keys have reached their limits, or
    /// other keys are in their slot: then no more queries may be made under them.
    ///
    /// # Errors
    /// [`CacheError`] if the reservation cannot be written: then no query may be made.
    pub fn reserve(&mut self, uses: u64) -> Result<bool, CacheError> {
        let (limits, made) = (self.limits, self.entry.made);
        let missing = uses.saturating_sub(self.reserved);
        if missing == 0 {
            return Ok(limits.allow(made, 0, 0, WHOLE));
        }
        let take = |used| limits.allow(made, used, missing, WHOLE).then(|| limits.step(used, missing));
        let (mut used, mut more) = (self.entry.used, None);
        match &self.place {
            None => more = take(used),
            Some((ring, slot)) => ring.update(slot, &mut randomness(&ring.dir)?, |kept| {
                let kept = kept.filter(|kept| kept.id == self.entry.id)?;
                (used, more) = (kept.used, take(kept.used));
                Some(KeyringEntry { used: used.saturating_add(more?), ..kept })
            })?,
        }
        let taken = more.unwrap_or(0);
        self.entry.used = used.saturating_add(taken);
        self.reserved = self.reserved.saturating_add(taken);
        Ok(more.is_some())
    }

    /// Counts uses that were reserved before by [`Self::reserve`] and are made now.
    pub fn spend(&mut self, uses: u64) {
        self.reserved = self.reserved.saturating_sub(uses);
    }

    /// Whether it is time to make the next keys, so that they are ready when these reach their
    /// limits.
    pub fn are_low(&self) -> bool {
        let used = self.entry.used.saturating_sub(self.reserved);
        !self.limits.allow(self.entry.made, used, 1, (3, 4))
    }

    /// Writes new bytes for the same keys, after a server has given them another name. Their count
    /// of uses continues.
    ///
    /// # Errors
    /// [`CacheError`] if they cannot be written.
    pub fn rename(&mut self, keys: Zeroizing<Vec<u8>>, rng: &mut dyn CryptoRng) -> Result<(), CacheError> {
        if self.entry.keys == keys {
            return Ok(());
        }
        self.entry.keys = keys;
        let Some((ring, slot)) = &self.place else { return Ok(()) };
        let entry = &self.entry;
        ring.update(slot, rng, |kept| {
            let kept = kept.filter(|kept| kept.id == entry.id)?;
            Some(KeyringEntry { keys: entry.keys.clone(), ..kept })
        })
    }

    /// Releases the uses that were reserved and not made.
    fn release(&mut self) {
        let unused = std::mem::take(&mut self.reserved);
        let Some((ring, slot)) = self.place.as_ref().filter(|_| unused > 0) else { return };
        let Ok(mut rng) = randomness(&ring.dir) else { return };
        // Uses that cannot be released are lost.
        let _ = ring.update(slot, &mut rng, |kept| {
            let kept = kept.filter(|kept| kept.id == self.entry.id)?;
            Some(KeyringEntry { used: kept.used.saturating_sub(unused), ..kept })
        });
    }
}

impl Drop for ActiveKeys {
    fn drop(&mut self) {
        self.release();
    }
}

/// Shows nothing of the keys.
impl fmt::Debug for ActiveKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActiveKeys").field("entry", &self.entry).field("reserved", &self.reserved).finish()
    }
}

fn randomness(dir: &Path) -> Result<impl CryptoRng, CacheError> {
    sotto_prg::system_rng().map_err(|_| CacheError::at(dir, io::Error::other("no randomness for a nonce")))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
