//! Clients' keys, held for a while: a bounded, least-recently-used registry of sessions.
//!
//! A session id is 16 random bytes, so an id that was not given out cannot be guessed. A lost session
//! costs its client one more upload of keys and nothing else; that is why there is no disk behind this.

use crate::SessionConfig;
use rand_core::Rng;
use sotto_core::AnySession;
use sotto_prg::NoEntropy;
use sotto_wire::SessionId;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many sessions are held, and for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionLimits {
    most: usize,
    ttl: Duration,
}

impl SessionLimits {
    /// Limits for keys of `keys_bytes` each; at least one session is held.
    pub(crate) fn new(config: &SessionConfig, keys_bytes: u64) -> Self {
        let most = config.max_bytes.checked_div(keys_bytes).unwrap_or(0).max(1);
        SessionLimits {
            most: usize::try_from(most).unwrap_or(usize::MAX),
            ttl: Duration::from_secs(config.ttl_seconds),
        }
    }
}

/// The sessions of one live epoch. They go with it: keys are admitted by one open table.
pub(crate) struct Sessions {
    limits: SessionLimits,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    by_id: HashMap<SessionId, Entry>,
    /// Ids by when they were last used; `next` only grows, so the first is the least recently used.
    by_use: BTreeMap<u64, SessionId>,
    next: u64,
}

struct Entry {
    session: Arc<AnySession>,
    used: u64,
    at: Instant,
}

impl Sessions {
    pub(crate) fn new(limits: SessionLimits) -> Self {
        Sessions { limits, held: Mutex::default() }
    }

    /// Takes a session in, evicting expired ones and then the least recently used.
    ///
    /// # Errors
    /// [`NoEntropy`].
    pub(crate) fn insert(&self, session: AnySession, now: Instant) -> Result<SessionId, NoEntropy> {
        let mut id = SessionId::NONE;
        sotto_prg::system_rng()?.fill_bytes(&mut id.0);
        let mut held = self.held();
        while held.by_use.first_key_value().is_some_and(|(_, oldest)| {
            held.by_id.len() >= self.limits.most || held.expired(oldest, now, self.limits.ttl)
        }) {
            if let Some((_, oldest)) = held.by_use.pop_first() {
                held.by_id.remove(&oldest);
            }
        }
        let used = held.tick(id);
        held.by_id.insert(id, Entry { session: Arc::new(session), used, at: now });
        Ok(id)
    }

    /// The session of this id, if it is still held; it counts as used.
    pub(crate) fn get(&self, id: &SessionId, now: Instant) -> Option<Arc<AnySession>> {
        let mut held = self.held();
        let used = held.by_id.get(id)?.used;
        held.by_use.remove(&used);
        if held.expired(id, now, self.limits.ttl) {
            held.by_id.remove(id);
            return None;
        }
        let used = held.tick(*id);
        let entry = held.by_id.get_mut(id)?;
        entry.used = used;
        entry.at = now;
        Some(entry.session.clone())
    }

    /// How many are held.
    pub(crate) fn len(&self) -> usize {
        self.held().by_id.len()
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn tick(&mut self, id: SessionId) -> u64 {
        self.next += 1;
        self.by_use.insert(self.next, id);
        self.next
    }

    fn expired(&self, id: &SessionId, now: Instant, ttl: Duration) -> bool {
        self.by_id.get(id).is_none_or(|entry| now.saturating_duration_since(entry.at) > ttl)
    }
}

#[cfg(test)]
mod tests;
