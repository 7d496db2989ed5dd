//! What counts of clients go by: what a client is called, what time it is, and where a count outlives the process.

use super::client::{ClientHasher, ClientId, Network, Peer};
use super::store::SessionStore;
use crate::StartError;
use crate::clock::Clock;
use crate::database::DatabaseError;
use crate::metrics::Metrics;
use crate::rate_limiter::Counted;
use std::sync::Arc;

/// Names clients, tells the time, and writes counts down where there is a place for them.
#[derive(Clone)]
pub(crate) struct CountStore {
    pub(super) hasher: ClientHasher,
    pub(crate) clock: Clock,
    pub(super) store: Option<Arc<SessionStore>>,
    pub(super) metrics: Arc<Metrics>,
}

impl CountStore {
    /// One without a disk, and with a time of day.
    #[cfg(test)]
    pub(crate) fn in_memory(at: u64) -> Self {
        let (hasher, clock) = (ClientHasher::new([7; 32]), Clock::starting(at));
        CountStore { hasher, clock, store: None, metrics: Arc::new(Metrics::new()) }
    }

    /// The same, for counts that end with the process.
    pub(crate) fn without_disk(&self) -> Self {
        CountStore { store: None, ..self.clone() }
    }

    /// Whether counts outlive the process.
    pub(crate) fn has_disk(&self) -> bool {
        self.store.is_some()
    }

    /// What the networks are called that a client is counted in, and how many clients' worth each may have.
    pub(crate) fn counted(&self, peer: Peer) -> impl Iterator<Item = Counted> + '_ {
        let counted = |network: Network| Counted {
            client: self.hasher.network(network),
            times: network.clients() as u64,
        };
        peer.networks().map(counted)
    }

    /// What a client is called: nothing that its address could be told from.
    pub(crate) fn client(&self, peer: Peer) -> ClientId {
        self.hasher.client(peer)
    }

    /// What somebody who gives a name is called in some matter: nothing that the name could be told from.
    pub(crate) fn named(&self, name: &str, matter: &[u8; 32]) -> [u8; 16] {
        self.hasher.named(name, matter)
    }

    /// The counts on disk.
    ///
    /// # Errors
    /// [`StartError::QueueState`]: a server that has lost count does not begin anew by itself.
    pub(crate) fn counts(&self) -> Result<Vec<(ClientId, u64)>, StartError> {
        self.store.as_ref().map_or(Ok(Vec::new()), |store| store.counts())
    }

    /// Writes counts down, removes others, and writes down what time it is. Blocks on the disk.
    pub(crate) fn count(&self, counts: &[(ClientId, u64)], gone: &[ClientId], now: u64) {
        if let Some(store) = &self.store {
            self.done(store.count(counts, gone, now));
        }
    }

    pub(super) fn done(&self, outcome: Result<(), DatabaseError>) -> bool {
        outcome.inspect_err(|error| self.failed(error)).is_ok()
    }

    pub(super) fn failed(&self, error: &DatabaseError) {
        self.metrics.store_failures.inc();
        tracing::error!(%error, "the store of what outlives a restart failed; keys and counts go on in memory");
    }
}
