//! The table of sessions, and the order of eviction. There is no I/O and no clock: the caller
//! passes the time, and removes evicted sessions from the disk.

mod usage;

use crate::SessionConfig;
use crate::client::ClientId;
use crate::metrics::EvictionReason;
use crate::session_store::{SessionOwner, StoredSession};
use sotto_core::AnySession;
use sotto_wire::SessionId;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use usage::UsageByClient;

/// Limits on the sessions, and the time after which they expire.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionLimits {
    per_client: usize,
    memory: u64,
    disk: u64,
    ttl: u64,
}

impl SessionLimits {
    pub(super) fn of(config: &SessionConfig) -> Self {
        let per_client = match config.sessions_per_client {
            0 => usize::MAX,
            max => max,
        };
        SessionLimits {
            per_client,
            memory: config.max_bytes,
            disk: config.max_stored_bytes,
            ttl: config.ttl_seconds,
        }
    }
}

/// A session to be added.
pub(super) struct NewSession<S> {
    pub(super) owner: SessionOwner,
    pub(super) client: ClientId,
    /// Bytes of the keys on disk; 0 if they are not stored.
    pub(super) stored_bytes: u64,
    /// The client's stamp of its keys; 0 if there is none.
    pub(super) client_stamp: u64,
    pub(super) session: Arc<S>,
    pub(super) session_bytes: u64,
}

/// Where a session is.
pub enum SessionPlace<S = AnySession> {
    /// The session is in memory.
    Memory(Arc<S>),
    /// The session is on disk: read its keys, admit them, and put them into memory.
    Disk,
}

/// The sessions that were evicted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct EvictedSessions {
    /// Sessions to be removed from the disk.
    pub(super) stored: Vec<SessionId>,
    /// Reason of each eviction.
    pub(super) reasons: Vec<EvictionReason>,
}

/// Number of sessions of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionCounts {
    /// Number of all sessions.
    pub sessions: usize,
    /// Number of sessions whose keys are in memory.
    pub in_memory: usize,
}

struct Session<S> {
    owner: SessionOwner,
    client: ClientId,
    /// Position in the order of use, which only grows, and the time of last use.
    turn: u64,
    used: u64,
    /// Time of last use that is stored on disk.
    saved: u64,
    stored_bytes: u64,
    client_stamp: u64,
    admitted: Option<Arc<S>>,
    session_bytes: u64,
}

/// All sessions, with their order of use.
pub(super) struct SessionTable<S> {
    limits: SessionLimits,
    by_id: HashMap<SessionId, Session<S>>,
    /// Session ids in the order of use: the first is the least recently used.
    by_turn: BTreeMap<u64, SessionId>,
    /// Session ids in the order of use, for each client.
    by_client: HashMap<ClientId, BTreeMap<u64, SessionId>>,
    turn: u64,
    /// Usage of memory by each client.
    memory: UsageByClient,
    /// Usage of the disk by each client.
    disk: UsageByClient,
}

impl<S> SessionTable<S> {
    pub(super) fn new(limits: SessionLimits) -> Self {
        let (by_id, by_turn, by_client) = Default::default();
        let (memory, disk) = Default::default();
        SessionTable { limits, by_id, by_turn, by_client, turn: 0, memory, disk }
    }

    /// Adds a session that an earlier run has stored; to be called with the least recently used
    /// first. Limits are applied by the next [`SessionTable::expire`].
    pub(super) fn restore(&mut self, id: SessionId, entry: StoredSession) {
        let StoredSession { owner, client, used, keys_bytes, client_stamp, .. } = entry;
        let session = Session {
            owner,
            client,
            turn: 0,
            used,
            saved: used,
            stored_bytes: keys_bytes,
            client_stamp,
            admitted: None,
            session_bytes: 0,
        };
        self.add(id, session);
    }

    /// Adds a session, in place of one of that id, and evicts others until the limits hold.
    pub(super) fn insert(&mut self, id: SessionId, new: NewSession<S>, now: u64) -> EvictedSessions {
        let NewSession { owner, client, stored_bytes, client_stamp, session, session_bytes } = new;
        let (turn, used, saved, admitted) = (0, now, now, Some(session));
        let session =
            Session { owner, client, turn, used, saved, stored_bytes, client_stamp, admitted, session_bytes };
        // Removed first, so that nothing removes from the disk what was just written there.
        self.take(&id);
        let mut evicted = self.expire(now);
        self.add(id, session);
        self.enforce_limits(&id, &mut evicted);
        evicted
    }

    /// Finds a session of `owner`, which counts as used.
    pub(super) fn find(&mut self, id: &SessionId, owner: &SessionOwner, now: u64) -> Option<SessionPlace<S>> {
        self.alive(id, owner, now)?;
        // The session moves to the end of the order by being removed and added again.
        let mut session = self.take(id)?;
        session.used = now.max(session.used);
        let found = session.admitted.clone().map_or(SessionPlace::Disk, SessionPlace::Memory);
        self.add(*id, session);
        Some(found)
    }

    /// The client of a session.
    pub(super) fn client(&self, id: &SessionId) -> Option<ClientId> {
        self.by_id.get(id).map(|session| session.client)
    }

    /// The client's stamp of a session of `owner`. The session does not count as used.
    pub(super) fn client_stamp(&self, id: &SessionId, owner: &SessionOwner, now: u64) -> Option<u64> {
        self.alive(id, owner, now).map(|session| session.client_stamp)
    }

    fn alive(&self, id: &SessionId, owner: &SessionOwner, now: u64) -> Option<&Session<S>> {
        let ttl = self.limits.ttl;
        self.by_id
            .get(id)
            .filter(|session| session.owner == *owner && now.saturating_sub(session.used) <= ttl)
    }

    /// Puts a session that was admitted from stored keys into memory. A session that was evicted
    /// meanwhile stays evicted.
    pub(super) fn admitted(&mut self, id: &SessionId, admitted: Arc<S>, bytes: u64) -> EvictedSessions {
        let mut evicted = EvictedSessions::default();
        if let Some(mut session) = self.take(id) {
            session.admitted = Some(admitted);
            session.session_bytes = bytes;
            self.add(*id, session);
            self.enforce_limits(id, &mut evicted);
        }
        evicted
    }

    /// Evicts one session.
    pub(super) fn remove(&mut self, id: &SessionId, reason: EvictionReason) -> EvictedSessions {
        let mut evicted = EvictedSessions::default();
        self.evict(id, reason, &mut evicted);
        evicted
    }

    /// Evicts sessions that have expired, and those over a limit.
    pub(super) fn expire(&mut self, now: u64) -> EvictedSessions {
        let mut evicted = EvictedSessions::default();
        while let Some(id) = self.by_turn.first_key_value().map(|(_, id)| *id) {
            let expired = |session: &Session<S>| now.saturating_sub(session.used) > self.limits.ttl;
            if !self.by_id.get(&id).is_none_or(expired) {
                break;
            }
            self.evict(&id, EvictionReason::Expired, &mut evicted);
        }
        self.enforce_limits(&SessionId::NONE, &mut evicted);
        evicted
    }

    /// Stored sessions that were used since their time of use was stored, with that time.
    pub(super) fn unsaved(&self) -> Vec<(SessionId, u64)> {
        let stored =
            self.by_id.iter().filter(|(_, session)| session.stored_bytes > 0 && session.used > session.saved);
        stored.map(|(id, session)| (*id, session.used)).collect()
    }

    pub(super) fn saved(&mut self, used: &[(SessionId, u64)]) {
        for (id, at) in used {
            if let Some(session) = self.by_id.get_mut(id) {
                session.saved = session.saved.max(*at);
            }
        }
    }

    /// Bytes in memory and on disk.
    pub(super) fn bytes(&self) -> (u64, u64) {
        (self.memory.bytes(), self.disk.bytes())
    }

    /// Number of sessions, grouped by `of` their owner.
    pub(super) fn counts<K: Ord>(&self, of: impl Fn(&SessionOwner) -> K) -> BTreeMap<K, SessionCounts> {
        let mut counts = BTreeMap::<K, SessionCounts>::new();
        for session in self.by_id.values() {
            let count = counts.entry(of(&session.owner)).or_default();
            count.sessions += 1;
            count.in_memory += usize::from(session.admitted.is_some());
        }
        counts
    }

    /// Evicts sessions until the limits hold. The session `served` stays in any
    /// case: a limit below one session would otherwise serve nobody.
    fn enforce_limits(&mut self, served: &SessionId, evicted: &mut EvictedSessions) {
        if let Some(client) = self.by_id.get(served).map(|session| session.client) {
            let max = self.limits.per_client;
            while let Some(own) = self.by_client.get(&client).filter(|own| own.len() > max) {
                let Some(oldest) = own.values().find(|id| *id != served).copied() else { break };
                self.evict(&oldest, EvictionReason::Client, evicted);
            }
        }
        while self.memory.bytes() > self.limits.memory {
            let Some(id) = self.memory.first(served) else { break };
            match self.by_id.get_mut(&id) {
                Some(session) if session.stored_bytes > 0 => {
                    session.admitted = None;
                    let bytes = std::mem::take(&mut session.session_bytes);
                    self.memory.remove(session.client, session.turn, bytes);
                    evicted.reasons.push(EvictionReason::Memory);
                }
                _ => self.evict(&id, EvictionReason::Memory, evicted),
            }
        }
        while self.disk.bytes() > self.limits.disk {
            let Some(id) = self.disk.first(served) else { break };
            self.evict(&id, EvictionReason::Disk, evicted);
        }
    }

    fn evict(&mut self, id: &SessionId, reason: EvictionReason, evicted: &mut EvictedSessions) {
        let Some(session) = self.take(id) else { return };
        evicted.reasons.push(reason);
        if session.stored_bytes > 0 {
            evicted.stored.push(*id);
        }
    }

    fn add(&mut self, id: SessionId, mut session: Session<S>) {
        self.turn += 1;
        session.turn = self.turn;
        self.by_turn.insert(self.turn, id);
        self.by_client.entry(session.client).or_default().insert(self.turn, id);
        if session.admitted.is_some() {
            self.memory.add(session.client, self.turn, id, session.session_bytes);
        }
        if session.stored_bytes > 0 {
            self.disk.add(session.client, self.turn, id, session.stored_bytes);
        }
        self.by_id.insert(id, session);
    }

    fn take(&mut self, id: &SessionId) -> Option<Session<S>> {
        let session = self.by_id.remove(id)?;
        self.by_turn.remove(&session.turn);
        if let Some(own) = self.by_client.get_mut(&session.client) {
            own.remove(&session.turn);
            if own.is_empty() {
                self.by_client.remove(&session.client);
            }
        }
        self.memory.remove(session.client, session.turn, session.session_bytes);
        self.disk.remove(session.client, session.turn, session.stored_bytes);
        Some(session)
    }
}

#[cfg(test)]
mod tests;
