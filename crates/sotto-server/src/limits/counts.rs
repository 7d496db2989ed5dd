//! The basis of counts per client: client ids, the time, and storage for counts that outlive the
//! process.
//!
//! The clock never goes back, even across restarts. At a start it shows the time of day, and no less
//! than what an earlier run has stored; from then on it follows the system's monotonic clock, even if
//! the time of day is set.

use crate::StartError;
use crate::client::{ClientHasher, ClientId, Network, Peer};
use crate::database::DatabaseError;
use crate::metrics::ServerMetrics;
use crate::session_store::SessionStore;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The client that an amount is counted for, and the multiple of one client's rate that it has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) client: ClientId,
    pub(crate) times: u64,
}

impl From<ClientId> for Counted {
    fn from(client: ClientId) -> Self {
        Counted { client, times: 1 }
    }
}

/// Computes client ids, tells the time, and stores counts if there is a database.
#[derive(Clone)]
pub struct CountStore {
    pub(crate) hasher: ClientHasher,
    pub(crate) clock: Clock,
    pub(crate) store: Option<Arc<SessionStore>>,
    pub(crate) metrics: Arc<ServerMetrics>,
}

impl CountStore {
    /// A store without a disk, whose clock starts at a time of day.
    #[cfg(test)]
    pub(crate) fn in_memory(at: u64) -> Self {
        let (hasher, clock) = (ClientHasher::new([7; 32]), Clock::starting(at));
        CountStore { hasher, clock, store: None, metrics: Arc::default() }
    }

    /// A store with the same ids and clock, for counts that end with the process.
    pub(crate) fn without_disk(&self) -> Self {
        CountStore { store: None, ..self.clone() }
    }

    /// Whether counts outlive the process.
    pub(crate) fn has_disk(&self) -> bool {
        self.store.is_some()
    }

    /// The networks that a client is counted in, with the multiple of one client's limit that each
    /// has.
    pub(crate) fn counted(&self, peer: Peer) -> impl Iterator<Item = Counted> + '_ {
        let counted = |network: Network| Counted {
            client: self.hasher.network(network),
            times: network.clients() as u64,
        };
        peer.networks().map(counted)
    }

    /// The id of a client, which does not reveal its address.
    pub(crate) fn client(&self, peer: Peer) -> ClientId {
        self.hasher.client(peer)
    }

    /// The id of a name in a context, which does not reveal the name.
    pub fn named(&self, name: &str, matter: &[u8; 32]) -> [u8; 16] {
        self.hasher.named(name, matter)
    }

    /// The counts on disk.
    ///
    /// # Errors
    /// [`StartError::State`]: a server that cannot read its counts does not start over by itself.
    pub(crate) fn counts(&self) -> Result<Vec<(ClientId, u64)>, StartError> {
        self.store.as_ref().map_or(Ok(Vec::new()), |store| store.counts())
    }

    /// Stores counts, removes others, and stores the time. Blocks on the disk.
    pub(crate) fn count(&self, counts: &[(ClientId, u64)], expired: &[ClientId], now: u64) {
        if let Some(store) = &self.store {
            self.done(store.count(counts, expired, now));
        }
    }

    pub(crate) fn done(&self, outcome: Result<(), DatabaseError>) -> bool {
        outcome.inspect_err(|error| self.failed(error)).is_ok()
    }

    pub(crate) fn failed(&self, error: &DatabaseError) {
        self.metrics.session_store_failures.inc();
        tracing::error!(%error, "the state database failed; keys and counts stay in memory only");
    }
}

/// A monotonic clock of approximate nanoseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    began: Instant,
    at: u64,
}

impl Clock {
    /// A clock that shows `at` now.
    pub(crate) fn starting(at: u64) -> Self {
        Clock { began: Instant::now(), at }
    }

    /// The time of the clock at an instant; for an instant before its start, the time of the start.
    pub(crate) fn at(&self, now: Instant) -> u64 {
        self.at.saturating_add(nanos(now.saturating_duration_since(self.began)))
    }
}

/// The time of day.
pub(crate) fn of_day() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO)
}

/// A duration in nanoseconds; durations of more than 584 years are all the same.
pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
