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
    wanted: u64,
    /// Lock that is held while keys are registered.
    turn: Option<Lock>,
    /// Keys that a setup continues with, until its session has them.
    adopted: Option<ActiveKeys>,
    /// Keys in use.
    held: Option<ActiveKeys>,
}

impl KeyManager {
    /// A manager of keys with these limits. An age of zero is for keys that are not stored.
    pub(super) fn new(ring: Option<Keyring>, limits: KeyLimits) -> Self {
        let ring = ring.filter(|_| !limits.age.is_zero());
        let age = if limits.age.is_zero() { KeyLimits::default().age } else { limits.age };
        KeyManager {
            ring,
            limits: KeyLimits { age, ..limits },
            wanted: 0,
            turn: None,
            adopted: None,
            held: None,
        }
    }

    /// The keys in the keyring, if they have not reached their limits.
    fn load(&self, hook: &KeyringSlot) -> Result<Option<(ActiveKeys, RegisteredKeys)>> {
        let Some(ring) = &self.ring else { return Ok(None) };
        let Some(active) = ActiveKeys::load(ring, hook, self.limits, self.wanted)? else { return Ok(None) };
        let registered = RegisteredKeys::parse(active.keys());
        Ok(registered.map(|registered| (active, registered)))
    }

    /// Whether it is time to make the next keys, so that they are ready when these reach their
    /// limits.
    pub(super) fn are_low(&self) -> bool {
        self.held.as_ref().is_some_and(ActiveKeys::are_low)
    }

    /// Reserves queries before they are made. Returns `false` if the keys do not allow that many.
    fn reserve(&mut self, queries: u64) -> Result<bool> {
        self.wanted = queries;
        Ok(self.held.as_mut().map_or(Ok(true), |held| held.reserve(queries))?)
    }

    /// Counts queries that are made.
    pub(super) fn count(&mut self, queries: u64) {
        if let Some(held) = &mut self.held {
            held.spend(queries);
        }
    }
}

impl Driver {
    fn hook(&self, table: &TableName) -> KeyringSlot {
        KeyringSlot::of(&self.servers.origins(), table.as_str())
    }

    /// Adds the keys that servers know to `config`.
    pub(super) fn recollect_keys(&mut self, config: &mut SetupConfig) -> Result<()> {
        let loaded = self.keys.load(&self.hook(&config.table))?;
        (self.keys.adopted, config.registered) = loaded.unzip();
        Ok(())
    }

    /// Registers a setup's keys with the next server, or uses those that another process has
    /// registered meanwhile.
    pub(super) fn register_first(&mut self, opening: &mut SessionSetup) -> Result<()> {
        if self.wait_for_keys(opening)? {
            return Ok(());
        }
        let registered = self.step(opening);
        if registered.is_err() {
            self.keys.turn = None;
        }
        registered
    }

    /// Waits until this process may register keys. Returns whether there are keys by then, and a
    /// setup continues with them.
    fn wait_for_keys(&mut self, opening: &mut SessionSetup) -> Result<bool> {
        let hook = self.hook(&opening.config().table);
        let (Some(ring), None) = (&self.keys.ring, &self.keys.turn) else { return Ok(false) };
        let turn = self.patience.turn(WaitReason::Keys, |limit| ring.lock(&hook, limit))?;
        if let Some((active, registered)) = self.keys.load(&hook)?
            && opening.reuse(&registered)?
        {
            self.keys.adopted = Some(active);
            return Ok(true);
        }
        self.keys.turn = turn;
        Ok(false)
    }

    /// Stores the keys of a session, if they can outlive it.
    pub(super) fn keep_keys(&mut self, session: &Session) -> Result<()> {
        let hook = self.hook(&session.catalog().table);
        let Driver { keys, rng, .. } = self;
        let Some(registered) = session.keys() else { return Ok(()) };
        let (bytes, rng) = (registered.to_bytes(), rng.draw()?);
        let is_same = |active: &ActiveKeys| {
            RegisteredKeys::parse(active.keys()).is_some_and(|known| known.is_same_client(&registered))
        };
        let held = keys.adopted.take().filter(is_same).or_else(|| keys.held.take_if(|held| is_same(held)));
        keys.held = Some(match held {
            Some(mut held) => {
                held.rename(bytes, rng)?;
                held
            }
            None => {
                let place = keys.ring.clone().map(|ring| (ring, hook));
                ActiveKeys::create(place, keys.limits, bytes, keys.wanted, rng)?
            }
        });
        keys.turn = None;
        Ok(())
    }
}

impl Table {
    /// Replaces keys that have reached their limits by the next ones, which exist by now if they
    /// could be made in the background. No query is made under the old keys any more, even if no
    /// others can be had.
    pub(super) fn change_keys(&mut self, queries: u64) -> Result<()> {
        if self.line.keys.reserve(queries)? {
            return Ok(());
        }
        let mut config = self.config.clone();
        // Keys that another process has made meanwhile are as good as new ones.
        self.line.recollect_keys(&mut config)?;
        if config.registered.is_none()
            && let Adoption::Adopted = self.wait_for_next(true)?
        {
            return Ok(());
        }
        let opening = self.line.open(SessionSetup::new(config))?;
        self.session = self.line.take_over(opening)?;
        self.remember_table();
        self.line.ledger.events.tell(TableEvent::KeysRotated);
        Ok(())
    }
}
