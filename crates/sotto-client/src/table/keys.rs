//! Keys that servers know, from opening to opening: taken from the cache, waited for, kept; and their end.
//!
//! Whoever sees what a person does with an answer learns something of it, perhaps by answers that it spoilt: an oracle
//! on the keys. So keys end after so many queries and so much time, whatever came of them. Both are public, and nothing else
//! counts: an error that made a client change its keys would be the answer that is looked for.

use super::event::Wait;
use super::{Event, Line, Table};
use crate::Result;
use crate::cache::Keyring;
use crate::cache::keyring::{Entry, Hook};
use crate::cache::lock::Lock;
use crate::session::{Config, Opening, Session};
use sotto_catalog::TableName;
use sotto_prg::system_rng;
use std::time::Duration;
use web_time::{SystemTime, UNIX_EPOCH};

/// For how long keys are used, unless somebody says otherwise: all that is asked under them is one client's to the server.
pub(super) const USUAL_AGE: Duration = Duration::from_secs(60 * 60);

/// For how many queries they are used, unless somebody says otherwise.
pub(super) const USUAL_QUERIES: u64 = 256;

/// The keys of one table, as far as they are kept.
pub(crate) struct Keys {
    /// `None` if they are not kept.
    ring: Option<Keyring>,
    age: Duration,
    queries: u64,
    /// Held while keys are registered.
    turn: Option<Lock>,
    /// Those that are used.
    held: Option<Held>,
}

/// Keys that are used, and where they are kept.
struct Held {
    hook: Hook,
    entry: Entry,
    /// Queries of this process that are not on disk: all but the first, until the keys are put back.
    unsaid: u64,
    said: bool,
}

impl Keys {
    /// Keys that end at this age and after so many queries. An age of zero is for those that are not kept.
    pub(super) fn new(ring: Option<Keyring>, age: Duration, queries: u64) -> Self {
        let ring = ring.filter(|_| !age.is_zero());
        let age = if age.is_zero() { USUAL_AGE } else { age };
        Keys { ring, age, queries, turn: None, held: None }
    }

    /// What hangs there and has not come to its end.
    fn read(&self, hook: &Hook) -> Result<Option<Entry>> {
        let Some(ring) = &self.ring else { return Ok(None) };
        Ok(ring.read(hook)?.filter(|entry| self.lasts(entry, 1, (1, 1))))
    }

    /// Whether keys are good for so many queries more, by `part` in `of` of their life.
    fn lasts(&self, entry: &Entry, queries: u64, (part, of): (u32, u32)) -> bool {
        // A clock that went back tells no ages.
        let age = now().checked_sub(entry.made);
        let is_young = age.is_some_and(|age| Duration::from_secs(age) < self.age.saturating_mul(part) / of);
        let used = entry.used.saturating_add(queries);
        // A request for more than keys are good for is the only one under its keys.
        let has_left = used <= self.queries / u64::from(of) * u64::from(part) || entry.used == 0;
        is_young && has_left
    }

    /// Whether the next ones should be made, in time for when these end.
    pub(super) fn are_low(&self) -> bool {
        self.held.as_ref().is_some_and(|held| !self.lasts(&held.entry, 1, (3, 4)))
    }

    /// Whether so many queries are not to be made under these any more.
    fn are_over(&self, queries: u64) -> bool {
        self.held.as_ref().is_some_and(|held| !self.lasts(&held.entry, queries, (1, 1)))
    }

    /// Counts queries that are made.
    pub(super) fn count(&mut self, queries: u64) {
        let Some(held) = &mut self.held else { return };
        held.entry.used = held.entry.used.saturating_add(queries);
        held.unsaid = held.unsaid.saturating_add(queries);
        // Most processes make one request. Those that make more say how many when they end, as each writing takes time.
        if !std::mem::replace(&mut held.said, true) {
            self.say();
        }
    }

    /// Adds to what is on disk how often this process has used the keys. A count that cannot be written is lost, and the age
    /// still holds.
    fn say(&mut self) {
        let (Some(ring), Some(held)) = (&self.ring, &mut self.held) else { return };
        let Some(mut kept) = ring.read(&held.hook).ok().flatten() else { return };
        if held.unsaid > 0 && kept.keys.is_same_client(&held.entry.keys) {
            kept.used = kept.used.saturating_add(std::mem::take(&mut held.unsaid));
            if let Ok(mut rng) = system_rng() {
                let _ = ring.write(&held.hook, &kept, &mut rng);
            }
            // Others may have used them as well.
            held.entry.used = held.entry.used.max(kept.used);
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.say();
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
        let entry = self.keys.read(&hook)?;
        config.registered = entry.as_ref().map(|entry| entry.keys.clone());
        self.keys.held = entry.map(|entry| Held { hook, entry, unsaid: 0, said: false });
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
            && opening.reuse(&entry.keys)?
        {
            self.keys.held = Some(Held { hook, entry, unsaid: 0, said: false });
            return Ok(true);
        }
        self.keys.turn = turn;
        Ok(false)
    }

    /// Takes down the keys of a session, if they are good for more than it.
    pub(super) fn keep_keys(&mut self, session: &Session) -> Result<()> {
        let hook = self.hook(&session.catalog().table);
        let Line { keys, rng, .. } = self;
        let Some(registered) = session.keys() else { return Ok(()) };
        if let Some(held) = &mut keys.held
            && held.entry.keys.is_same_client(&registered)
        {
            let is_new = held.entry.keys != registered;
            held.entry.keys = registered;
            if let (Some(ring), true) = (&keys.ring, is_new) {
                ring.write(&hook, &held.entry, rng.draw()?)?;
                held.unsaid = 0;
            }
        } else {
            let entry = Entry { keys: registered, made: now(), used: 0 };
            if let Some(ring) = &keys.ring {
                ring.write(&hook, &entry, rng.draw()?)?;
            }
            keys.held = Some(Held { hook, entry, unsaid: 0, said: false });
        }
        keys.turn = None;
        Ok(())
    }
}

impl Table {
    /// Changes keys that have come to their end over to the next ones, which are there by now if they could be made in the
    /// background. Nothing is asked under the old ones any more, also if no others can be had.
    pub(super) fn change_keys(&mut self, queries: u64) -> Result<()> {
        if !self.line.keys.are_over(queries) {
            return Ok(());
        }
        self.line.keys.say();
        if self.wait_for_next(true)? {
            return Ok(());
        }
        let opening = self.line.open(Opening::new(self.config.clone()))?;
        self.session = self.line.take_over(opening)?;
        self.keep_in_mind();
        self.line.ledger.events.tell(Event::KeysChanged);
        Ok(())
    }
}
