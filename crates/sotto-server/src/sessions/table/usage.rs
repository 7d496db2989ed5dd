//! Usage of a limited resource by client, and the order of eviction: the least recently used
//! session of the client that has the most. The search takes no longer if there are many sessions.

use crate::client::ClientId;
use sotto_wire::SessionId;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Usage of all clients.
#[derive(Debug, Default)]
pub(super) struct UsageByClient {
    bytes: u64,
    by_client: HashMap<ClientId, ClientUsage>,
    /// Clients by their bytes, the one with the most last; among equals, the one whose first
    /// session was least recently used.
    order: BTreeSet<Rank>,
}

type Rank = (u64, Reverse<u64>, ClientId);

/// Usage of one client.
#[derive(Debug, Default)]
struct ClientUsage {
    bytes: u64,
    /// Sessions in the order of use, the least recently used first.
    by_turn: BTreeMap<u64, SessionId>,
}

impl ClientUsage {
    fn rank(&self, client: ClientId) -> Option<Rank> {
        self.by_turn.keys().next().map(|turn| (self.bytes, Reverse(*turn), client))
    }
}

impl UsageByClient {
    /// Bytes of all sessions.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a session at a position in the order of use that no other has.
    pub(super) fn add(&mut self, client: ClientId, turn: u64, id: SessionId, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.change(client, |share| {
            share.bytes = share.bytes.saturating_add(bytes);
            share.by_turn.insert(turn, id);
        });
    }

    /// Removes a session, if there is one at this position.
    pub(super) fn remove(&mut self, client: ClientId, turn: u64, bytes: u64) {
        let mut was_there = false;
        self.change(client, |share| {
            was_there = share.by_turn.remove(&turn).is_some();
            share.bytes = share.bytes.saturating_sub(if was_there { bytes } else { 0 });
        });
        self.bytes = self.bytes.saturating_sub(if was_there { bytes } else { 0 });
    }

    /// Changes a client's usage, and its rank among all.
    fn change(&mut self, client: ClientId, change: impl FnOnce(&mut ClientUsage)) {
        let share = self.by_client.entry(client).or_default();
        if let Some(rank) = share.rank(client) {
            self.order.remove(&rank);
        }
        change(share);
        match share.rank(client) {
            Some(rank) => drop(self.order.insert(rank)),
            None => drop(self.by_client.remove(&client)),
        }
    }

    /// The session to evict first, other than `kept`.
    pub(super) fn first(&self, kept: &SessionId) -> Option<SessionId> {
        let of = |client| self.by_client.get(client)?.by_turn.values().find(|id| *id != kept).copied();
        self.order.iter().rev().find_map(|(.., client)| of(client))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> SessionId {
        SessionId([number; 16])
    }

    #[test]
    fn the_first_is_as_if_all_were_looked_through() {
        let mut shares = UsageByClient::default();
        // (client, position, bytes) of all sessions.
        let mut all: Vec<(u8, u64, u64)> = Vec::new();
        let mut state = 1u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for turn in 0..250 {
            let (client, bytes) = (random(5) as u8, random(3) * 10);
            shares.add(ClientId([client; 16]), turn, id(turn as u8), bytes);
            all.push((client, turn, bytes));
            if random(3) == 0 {
                let (client, turn, bytes) = all.remove(random(all.len() as u64) as usize);
                shares.remove(ClientId([client; 16]), turn, bytes);
                shares.remove(ClientId([client; 16]), turn, bytes);
            }
            let sum = |of: u8| all.iter().filter(|one| one.0 == of).map(|one| one.2).sum::<u64>();
            assert_eq!(shares.bytes(), all.iter().map(|one| one.2).sum::<u64>());
            let first = |of: u8| all.iter().filter(|one| one.0 == of).map(|one| one.1).min();
            let most = (0..5).filter_map(|of| Some((sum(of), Reverse(first(of)?)))).max();
            let expected = most.map(|(_, Reverse(turn))| id(turn as u8));
            assert_eq!(shares.first(&SessionId::NONE), expected);
            // The session `kept` is never evicted.
            let Some(kept) = expected else { continue };
            assert!(shares.first(&kept).is_some() == (all.len() > 1) && shares.first(&kept) != Some(kept));
        }
    }
}
