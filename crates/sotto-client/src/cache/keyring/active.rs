//! Keys that a process asks under: every use of them is on disk before it is made.

use super::{ID, Keyring, KeyringEntry, KeyringSlot};
use crate::cache::CacheError;
use sotto_core::CryptoRng;
use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;
use web_time::{SystemTime, UNIX_EPOCH};
use zeroize::Zeroizing;

/// For how long keys are used, unless a caller says otherwise: all that is asked under them is one client's to the server.
pub const DEFAULT_KEY_AGE: Duration = Duration::from_secs(60 * 60);

/// For how many queries keys are used, unless a caller says otherwise.
pub const DEFAULT_KEY_QUERIES: u64 = 256;

/// Uses are reserved by this part of all, so that few are lost with a process that crashes.
const STEPS: u64 = 16;

/// All of the life of keys.
const WHOLE: (u32, u32) = (1, 1);

/// For how long keys are used, and for how many queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyLimits {
    /// From when they were made.
    pub age: Duration,
    /// By all processes together.
    pub queries: u64,
}

impl Default for KeyLimits {
    fn default() -> Self {
        KeyLimits { age: DEFAULT_KEY_AGE, queries: DEFAULT_KEY_QUERIES }
    }
}

impl KeyLimits {
    /// Whether keys are good for so many queries more, by `part` in `of` of their life.
    fn allow(&self, made: u64, used: u64, queries: u64, (part, of): (u32, u32)) -> bool {
        // A clock that went back tells no ages.
        let age = now().checked_sub(made);
        let is_young = age.is_some_and(|age| Duration::from_secs(age) < self.age.saturating_mul(part) / of);
        let most = self.queries / u64::from(of) * u64::from(part);
        // A request for more than keys are good for is the only one under its keys.
        is_young && (used.saturating_add(queries) <= most || used == 0)
    }

    /// How many uses are reserved for whoever needs so many.
    fn step(&self, used: u64, queries: u64) -> u64 {
        queries.max((self.queries / STEPS).min(self.queries.saturating_sub(used)))
    }
}

/// Keys that this process asks under, and the uses of them that it has reserved. Those that it has not made are given back
/// when it is dropped.
pub struct ActiveKeys {
    /// Where they are kept; `None` for keys of this process alone.
    place: Option<(Keyring, KeyringSlot)>,
    limits: KeyLimits,
    entry: KeyringEntry,
    /// Reserved, and not made yet.
    reserved: u64,
}

impl ActiveKeys {
    /// Keys that were just made, in the place of those before; so many uses of them are reserved.
    ///
    /// # Errors
    /// [`CacheError`] if they cannot be kept.
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
        if let Some((ring, hook)) = &place {
            ring.update(hook, rng, |_| Some(entry.clone()))?;
        }
        Ok(ActiveKeys { place, limits, entry, reserved })
    }

    /// The keys of the keyring, if `queries` more can be reserved under them; for 0 one more has to be possible.
    ///
    /// # Errors
    /// [`CacheError`] if the files cannot be read or written.
    pub fn load(
        ring: &Keyring,
        hook: &KeyringSlot,
        limits: KeyLimits,
        uses: u64,
    ) -> Result<Option<Self>, CacheError> {
        let lasts = |entry: &KeyringEntry| limits.allow(entry.made, entry.used, 1, WHOLE);
        let Some(entry) = ring.read(hook)?.filter(lasts) else { return Ok(None) };
        let mut active = ActiveKeys { place: Some((ring.clone(), hook.clone())), limits, entry, reserved: 0 };
        Ok(active.reserve(uses)?.then_some(active))
    }

    /// What they are, in bytes of their owner's.
    pub fn keys(&self) -> &[u8] {
        &self.entry.keys
    }

    /// Makes sure that so many uses are reserved, without making them. `false` if the keys have come to their end, or
    /// others are in their place: then nothing may be asked under them any more.
    ///
    /// # Errors
    /// [`CacheError`] if that cannot be written down: nothing may be asked then.
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
            Some((ring, hook)) => ring.update(hook, &mut randomness(&ring.dir)?, |kept| {
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

    /// Counts uses that are made. Reserved they were before ([`Self::reserve`]).
    pub fn spend(&mut self, uses: u64) {
        self.reserved = self.reserved.saturating_sub(uses);
    }

    /// Whether the next ones should be made, in time for when these end.
    pub fn are_low(&self) -> bool {
        let used = self.entry.used.saturating_sub(self.reserved);
        !self.limits.allow(self.entry.made, used, 1, (3, 4))
    }

    /// Writes them down in other words: a server calls them otherwise. Their count goes on.
    ///
    /// # Errors
    /// [`CacheError`] if they cannot be written.
    pub fn rename(&mut self, keys: Zeroizing<Vec<u8>>, rng: &mut dyn CryptoRng) -> Result<(), CacheError> {
        if self.entry.keys == keys {
            return Ok(());
        }
        self.entry.keys = keys;
        let Some((ring, hook)) = &self.place else { return Ok(()) };
        let entry = &self.entry;
        ring.update(hook, rng, |kept| {
            let kept = kept.filter(|kept| kept.id == entry.id)?;
            Some(KeyringEntry { keys: entry.keys.clone(), ..kept })
        })
    }

    /// Gives back what was reserved and not made.
    fn release(&mut self) {
        let unused = std::mem::take(&mut self.reserved);
        let Some((ring, hook)) = self.place.as_ref().filter(|_| unused > 0) else { return };
        let Ok(mut rng) = randomness(&ring.dir) else { return };
        // Uses that cannot be given back are lost.
        let _ = ring.update(hook, &mut rng, |kept| {
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

/// Nothing of the keys.
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
