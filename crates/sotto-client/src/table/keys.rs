//! Keys that servers know, from opening to opening: taken from the cache, waited for, kept.

use super::Line;
use super::event::Wait;
use crate::Result;
use crate::cache::Keyring;
use crate::cache::keyring::{Entry, Hook};
use crate::cache::lock::Lock;
use crate::session::{Config, Opening, Session};
use sotto_catalog::TableName;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// For how long keys are used, unless somebody says otherwise: all that is asked under them is one client's to the server.
pub(super) const USUAL_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// The keys of one table, as far as they are kept.
pub(crate) struct Keys {
    /// `None` if they are not.
    ring: Option<Keyring>,
    age: Duration,
    /// Held while keys are registered.
    turn: Option<Lock>,
    /// What hangs there, as far as this process knows.
    entry: Option<Entry>,
}

impl Keys {
    pub(super) fn new(ring: Option<Keyring>, age: Duration) -> Self {
        Keys { ring: ring.filter(|_| !age.is_zero()), age, turn: None, entry: None }
    }

    /// What hangs there and is not too old.
    fn read(&mut self, hook: &Hook) -> Result<Option<&Entry>> {
        let Some(ring) = &self.ring else { return Ok(None) };
        let now = now();
        // A clock that went back tells no ages.
        let is_young = |entry: &Entry| {
            now.checked_sub(entry.made).is_some_and(|age| Duration::from_secs(age) < self.age)
        };
        self.entry = ring.read(hook)?.filter(is_young);
        Ok(self.entry.as_ref())
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

impl Line {
    fn hook(&self, table: &TableName) -> Hook {
        Hook::of(&self.servers.origins(), table.as_str())
    }

    /// Adds to `config` the keys that servers know.
    pub(super) fn recollect_keys(&mut self, config: &mut Config) -> Result<()> {
        let hook = self.hook(&config.table);
        config.registered = self.keys.read(&hook)?.map(|entry| entry.keys.clone());
        Ok(())
    }

    /// Registers an opening's keys with the next server, or takes those that another process has registered meanwhile.
    pub(super) fn register_first(&mut self, opening: &mut Opening) -> Result<()> {
        if self.wait_for_keys(opening)? {
            return Ok(());
        }
        let registered = self.step(opening);
        if registered.is_err() {
            self.keys.turn = None;
        }
        registered
    }

    /// Waits until it is this process's turn to register keys. Gives whether there are some by then, and an opening went on
    /// with them.
    fn wait_for_keys(&mut self, opening: &mut Opening) -> Result<bool> {
        let hook = self.hook(&opening.config().table);
        let (Some(ring), None) = (&self.keys.ring, &self.keys.turn) else { return Ok(false) };
        let turn = self.patience.turn(Wait::Keys, |limit| ring.lock(&hook, limit))?;
        if let Some(entry) = self.keys.read(&hook)?
            && opening.reuse(&entry.keys.clone())?
        {
            return Ok(true);
        }
        self.keys.entry = None;
        self.keys.turn = turn;
        Ok(false)
    }

    /// Keeps the keys of a session, if they are good for more than it.
    pub(super) fn keep_keys(&mut self, session: &Session) -> Result<()> {
        let hook = self.hook(&session.catalog().table);
        let Line { keys, rng, .. } = self;
        let Some(ring) = &keys.ring else { return Ok(()) };
        let Some(registered) = session.keys() else { return Ok(()) };
        let before = keys.entry.as_ref().filter(|entry| entry.keys.is_same_client(&registered));
        let made = before.map_or_else(now, |entry| entry.made);
        let entry = Entry { keys: registered, made };
        if keys.entry.as_ref() != Some(&entry) {
            ring.write(&hook, &entry, rng)?;
            keys.entry = Some(entry);
        }
        keys.turn = None;
        Ok(())
    }
}
