//! Keys of an issuer over time: which one signs, which ones are still accepted, and when another is
//! made.
//!
//! ```text
//! announced | signs ............ | accepted . |        of one key
//!             from          + every      + after
//!           | announced | signs ............ | accepted  of its successor
//! ```
//!
//! A successor is in the directory before it signs, so that caches contain it by then.

use crate::key::IssuerKey;
use crate::ledger::{KeySerial, Ledger, LedgerError};
use rand_core::CryptoRng;
use std::sync::Arc;

/// Times for which keys are used, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RotationSchedule {
    /// Seconds for which a key signs.
    pub every: u64,
    /// Seconds for which tokens of a key are accepted after it stopped signing.
    pub after: u64,
    /// Seconds for which a key is announced before it signs.
    pub before: u64,
}

impl Default for RotationSchedule {
    /// Keys sign for a week, are accepted for another week, and are announced a day before.
    fn default() -> Self {
        const DAY: u64 = 24 * 3600;
        RotationSchedule { every: 7 * DAY, after: 7 * DAY, before: DAY }
    }
}

/// Largest number of tiers: with three keys each, their ids must differ in the last byte.
pub const MAX_TIERS: usize = 64;

/// A key with its tier and the time from which it signs.
#[derive(Debug)]
pub struct ScheduledKey {
    /// Serial number of the key.
    pub serial: KeySerial,
    /// Tier whose tokens it signs.
    pub tier: String,
    /// Time from which on it signs, in seconds since 1970.
    pub from: u64,
    /// Secret key of the issuer.
    pub key: IssuerKey,
}

/// All keys that are announced, sign, or are still accepted.
#[derive(Debug, Clone, Default)]
pub struct IssuerKeys {
    rotation: RotationSchedule,
    keys: Vec<Arc<ScheduledKey>>,
}

impl IssuerKeys {
    /// Reads the keys of a ledger. Damaged keys are an error, since tokens under them may exist.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn open(rotation: RotationSchedule, ledger: &dyn Ledger) -> Result<Self, LedgerError> {
        let mut keys = Vec::new();
        for kept in ledger.keys()? {
            let key = IssuerKey::from_der(&kept.der)
                .ok_or_else(|| LedgerError(format!("key {} is damaged", kept.serial)))?;
            keys.push(Arc::new(ScheduledKey { serial: kept.serial, tier: kept.tier, from: kept.from, key }));
        }
        Ok(IssuerKeys { rotation, keys })
    }

    /// Whether [`IssuerKeys::turned`] would change the keys for these tiers.
    pub fn is_due(&self, tiers: &[String], now: u64) -> bool {
        self.keys.iter().any(|timed| self.is_over(timed, now))
            || tiers.iter().any(|tier| self.next(tier, now).is_some())
    }

    /// Rotates the keys: adds a successor wherever one is due, and removes keys whose time is over,
    /// which the ledger deletes. Generating a key takes some tenths of a second.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn turned(
        &self,
        tiers: &[String],
        now: u64,
        ledger: &dyn Ledger,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self, LedgerError> {
        let mut ring = IssuerKeys { rotation: self.rotation, keys: Vec::new() };
        for timed in &self.keys {
            match self.is_over(timed, now) {
                true => ledger.delete_key(timed.serial)?,
                false => ring.keys.push(timed.clone()),
            }
        }
        for tier in tiers.iter().take(MAX_TIERS) {
            let Some(from) = ring.next(tier, now) else { continue };
            let key = ring.another(rng)?;
            let der = key.to_der().ok_or_else(|| LedgerError("a new key cannot be encoded".into()))?;
            let serial = ledger.store_key(tier, from, &der)?;
            ring.keys.push(Arc::new(ScheduledKey { serial, tier: tier.clone(), from, key }));
        }
        Ok(ring)
    }

    /// Generates a key whose id differs from those of the others in the last byte.
    fn another(&self, rng: &mut dyn CryptoRng) -> Result<IssuerKey, LedgerError> {
        loop {
            let key = IssuerKey::generate(rng).ok_or_else(|| LedgerError("no key can be made".into()))?;
            if self.short(key.public().short()).is_none() {
                return Ok(key);
            }
        }
    }

    /// Time from which on the next key of a tier must sign; `None` if it is not due yet.
    ///
    /// A clock that goes back makes no keys: the newest key continues to sign.
    fn next(&self, tier: &str, now: u64) -> Option<u64> {
        let Some(newest) = self.of(tier).map(|timed| timed.from).max() else { return Some(now) };
        let end = newest.saturating_add(self.rotation.every);
        (now >= end.saturating_sub(self.rotation.before)).then_some(end.max(now))
    }

    fn is_over(&self, timed: &ScheduledKey, now: u64) -> bool {
        now >= timed.from.saturating_add(self.rotation.every).saturating_add(self.rotation.after)
    }

    fn of(&self, tier: &str) -> impl Iterator<Item = &Arc<ScheduledKey>> {
        self.keys.iter().filter(move |timed| timed.tier == tier)
    }

    /// The key that signs tokens of a tier: the newest whose time has come, or else the oldest.
    pub fn signing(&self, tier: &str, now: u64) -> Option<&Arc<ScheduledKey>> {
        let come = self.of(tier).filter(|timed| timed.from <= now).max_by_key(|timed| timed.from);
        come.or_else(|| self.of(tier).min_by_key(|timed| timed.from))
    }

    /// Whether a key currently signs the tokens of its tier.
    pub fn is_signing(&self, timed: &ScheduledKey, now: u64) -> bool {
        self.signing(&timed.tier, now).is_some_and(|signing| signing.serial == timed.serial)
    }

    /// The key whose id ends with this byte.
    pub fn short(&self, short: u8) -> Option<&Arc<ScheduledKey>> {
        self.keys.iter().find(|timed| timed.key.public().short() == short)
    }

    /// The key with this id.
    pub fn by_id(&self, id: &[u8; 32]) -> Option<&Arc<ScheduledKey>> {
        self.keys.iter().find(|timed| timed.key.public().id() == id)
    }

    /// All keys, with their tiers and times.
    pub fn keys(&self) -> impl Iterator<Item = &ScheduledKey> {
        self.keys.iter().map(|timed| &**timed)
    }
}
