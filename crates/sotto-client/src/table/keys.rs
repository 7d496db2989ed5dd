//! Registered keys from one opening to the next: loaded from the cache, waited for, stored, and
//! ended.
//!
//! An attacker who sees what a person does with an answer learns something of it, perhaps of an
//! answer that the attacker has damaged, and so has an oracle on the keys. So keys end after a
//! fixed number of queries and a fixed time, whatever the answers were. Both are public, and
//! nothing else counts: if an error made a client change its keys, that would be the oracle.

use super::event::WaitReason;
use super::preparation::Adoption;
use super::{Driver, Table, TableEvent};
use crate::Result;
use crate::cache::Keyring;
use crate::cache::keyring::{ActiveKeys, KeyLimits, KeyringSlot};
use crate::cache::lock::Lock;
use crate::session::{RegisteredKeys, Session, SessionSetup, SetupConfig};
use sotto_catalog::TableName;

/// The keys of one table, as far as they are stored.
pub(crate) struct KeyManager {
    /// Keyring in the cache; `None` if keys are not stored.
    ring: Option<Keyring>,
    limits: KeyLimits,
    /// Number of queries that the next keys have to be good for.
    needed_queries: u64,
    /// Lock that is held while keys are registered.
    registration_lock: Option<Lock>,
    /// Keys that a setup continues with, until its session has them.
    adopted: Option<ActiveKeys>,
    /// Keys in use.
    active: Option<ActiveKeys>,
}

impl KeyManager {
    /// A manager of keys with these limits. An age of zero is for keys that are not stored.
    pub(super) fn new(ring: Option<Keyring>, limits: KeyLimits) -> Self {
        let ring = ring.filter(|_| !limits.age.is_zero());
        let age = if limits.age.is_zero() { KeyLimits::default().age } else { limits.age };
        KeyManager {
            ring,
            limits: KeyLimits { age, ..limits },
            needed_queries: 0,
            registration_lock: None,
            adopted: None,
            active: None,
        }
    }

    /// The keys in the keyring, if they have not reached their limits.
    fn load(&self, slot: &KeyringSlot) -> Result<Option<(ActiveKeys, RegisteredKeys)>> {
        let Some(ring) = &self.ring else { return Ok(None) };
        let Some(active) = ActiveKeys::load(ring, slot, self.limits, self.needed_queries)? else {
            return Ok(None);
        };
        let registered = RegisteredKeys::parse(active.keys());
        Ok(registered.map(|registered| (active, registered)))
    }

    /// Whether it is time to make the next keys, so that they are ready when these reach their
    /// limits.
    pub(super) fn are_low(&self) -> bool {
        self.active.as_ref().is_some_and(ActiveKeys::are_low)
    }

    /// Reserves queries before they are made. Returns `false` if the keys do not allow that many.
    fn reserve(&mut self, queries: u64) -> Result<bool> {
        self.needed_queries = queries;
        Ok(self.active.as_mut().map_or(Ok(true), |active| active.reserve(queries))?)
    }

    /// Lets another process register keys, since this one could not.
    pub(super) fn let_others_register(&mut self) {
        self.registration_lock = None;
    }

    /// Counts queries that are made.
    pub(super) fn count(&mut self, queries: u64) {
        if let Some(active) = &mut self.active {
            active.spend(queries);
        }
    }
}

impl Driver {
    fn keyring_slot(&self, table: &TableName) -> KeyringSlot {
        KeyringSlot::of(&self.servers.origins(), table.as_str())
    }

    /// Adds the keys that servers know to `config`.
    pub(super) fn load_known_keys(&mut self, config: &mut SetupConfig) -> Result<()> {
        let loaded = self.keys.load(&self.keyring_slot(&config.table))?;
        (self.keys.adopted, config.registered) = loaded.unzip();
        Ok(())
    }

    /// Waits until this process may register keys. Returns whether there are keys by then, and
    /// `reuse` says that they fit.
    pub(super) fn wait_for_keys(
        &mut self,
        table: &TableName,
        reuse: &mut dyn FnMut(&RegisteredKeys) -> Result<bool>,
    ) -> Result<bool> {
        let slot = self.keyring_slot(table);
        let (Some(ring), None) = (&self.keys.ring, &self.keys.registration_lock) else { return Ok(false) };
        let lock = self.wait_policy.wait_for(WaitReason::Keys, |limit| ring.lock(&slot, limit))?;
        if let Some((active, registered)) = self.keys.load(&slot)?
            && reuse(&registered)?
        {
            self.keys.adopted = Some(active);
            return Ok(true);
        }
        self.keys.registration_lock = lock;
        Ok(false)
    }

    /// Stores the keys of a session, if they can outlive it.
    pub(super) fn keep_keys(&mut self, session: &Session) -> Result<()> {
        let slot = self.keyring_slot(&session.catalog().table);
        let Driver { keys, rng, .. } = self;
        let Some(registered) = session.keys() else { return Ok(()) };
        let (bytes, rng) = (registered.to_bytes(), rng.draw()?);
        let is_same = |active: &ActiveKeys| {
            RegisteredKeys::parse(active.keys()).is_some_and(|known| known.is_same_client(&registered))
        };
        let active =
            keys.adopted.take().filter(is_same).or_else(|| keys.active.take_if(|active| is_same(active)));
        keys.active = Some(match active {
            Some(mut active) => {
                active.rename(bytes, rng)?;
                active
            }
            None => {
                let place = keys.ring.clone().map(|ring| (ring, slot));
                ActiveKeys::create(place, keys.limits, bytes, keys.needed_queries, rng)?
            }
        });
        keys.registration_lock = None;
        Ok(())
    }
}

impl Table {
    /// Replaces keys that have reached their limits by the next ones, which exist by now if they
    /// could be made in the background. No query is made under the old keys any more, even if no
    /// others can be had.
    pub(super) fn change_keys(&mut self, queries: u64) -> Result<()> {
        if self.driver.keys.reserve(queries)? {
            return Ok(());
        }
        let mut config = self.config.clone();
        // Keys that another process has made meanwhile are as good as new ones.
        self.driver.load_known_keys(&mut config)?;
        if config.registered.is_none()
            && let Adoption::Adopted = self.wait_for_next(true)?
        {
            return Ok(());
        }
        let setup = self.driver.open(SessionSetup::new(config))?;
        self.session = self.driver.take_over(setup)?;
        self.remember_table();
        self.driver.state_guard.events.notify(TableEvent::KeysRotated);
        Ok(())
    }
}
