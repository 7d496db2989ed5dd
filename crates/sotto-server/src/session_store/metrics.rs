//! What is counted of sessions: how many there are, their bytes, and evictions.

use crate::metrics::{ByTable, EvictionLabel, MediumLabel, register};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Why a session was evicted from memory or from the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EvictionReason {
    /// The session was unused for too long.
    Expired,
    /// The session's client has registered others since.
    Client,
    /// Memory was short. With a store, the keys are loaded again when they are needed.
    Memory,
    /// The space on disk was short.
    Disk,
    /// The session's stored keys are damaged.
    Damaged,
}

impl EvictionReason {
    pub(crate) const ALL: [Self; 5] = [Self::Expired, Self::Client, Self::Memory, Self::Disk, Self::Damaged];

    fn label(self) -> &'static str {
        match self {
            EvictionReason::Expired => "expired",
            EvictionReason::Client => "client",
            EvictionReason::Memory => "memory",
            EvictionReason::Disk => "disk",
            EvictionReason::Damaged => "damaged",
        }
    }
}

/// Metrics of sessions.
#[derive(Debug, Clone)]
pub struct SessionMetrics {
    pub(crate) sessions: Family<ByTable, Gauge>,
    pub(crate) in_memory: Family<ByTable, Gauge>,
    pub(crate) bytes: Family<MediumLabel, Gauge>,
    evictions: Family<EvictionLabel, Counter>,
    /// Number of sessions loaded from disk into memory.
    pub(crate) readmitted: Counter,
    /// Number of failed operations on the store of keys.
    pub(crate) store_failures: Counter,
}

impl SessionMetrics {
    pub(crate) fn register(r: &mut Registry) -> Self {
        SessionMetrics {
            sessions: register(r, "sessions", "Sessions in memory or on disk"),
            in_memory: register(r, "sessions_in_memory", "Sessions whose keys are in memory"),
            bytes: register(r, "session_bytes", "Bytes of evaluation keys of sessions, by medium"),
            evictions: register(r, "session_evictions", "Sessions evicted, by reason"),
            readmitted: register(r, "session_readmissions", "Sessions loaded from disk back into memory"),
            store_failures: register(r, "session_store_failures", "Failed operations on stored keys"),
        }
    }

    pub(crate) fn evicted(&self, reason: EvictionReason) {
        self.evictions.get_or_create(&EvictionLabel { reason: reason.label() }).inc();
    }
}
