//! The total cost of a scheme's lookups: bytes once and per lookup, the client's time and the
//! server's.

use super::lookups::{AddressLookup, median};
use super::setup::DemoScheme;
use serde_json::json;
use sotto_client::Table;
use sotto_client::table::Stats;
use std::time::Duration;

/// A scheme and the cost of its lookups.
pub(super) struct SchemeRun {
    pub(super) scheme: DemoScheme,
    stats: Stats,
    json: Vec<serde_json::Value>,
    pub(super) right: usize,
    pub(super) lookups: usize,
    pub(super) up: u64,
    pub(super) down: u64,
    /// Client's time per lookup.
    pub(super) client: Duration,
    /// Server's time per lookup.
    pub(super) pass: Duration,
    /// Time from key to value.
    pub(super) trip: Duration,
}

impl SchemeRun {
    /// Computes the cost of the lookups in a table.
    pub(super) fn new(scheme: DemoScheme, table: &Table, lookups: &[AddressLookup]) -> Self {
        SchemeRun {
            scheme,
            stats: table.stats(),
            json: lookups.iter().map(AddressLookup::json).collect(),
            right: lookups.iter().filter(|lookup| lookup.right()).count(),
            lookups: lookups.len(),
            up: lookups.first().map_or(0, |lookup| lookup.spent.up),
            down: lookups.first().map_or(0, |lookup| lookup.spent.down),
            client: median(lookups.iter().map(|lookup| lookup.spent.client)),
            pass: median(lookups.iter().map(|lookup| lookup.spent.pass)),
            trip: median(lookups.iter().map(|lookup| lookup.spent.client + lookup.spent.round_trip)),
        }
    }

    /// Bytes of the hint, fetched once.
    pub(super) fn hint(&self) -> u64 {
        self.stats.artifacts.down
    }

    /// Bytes of the keys, registered once.
    pub(super) fn keys(&self) -> u64 {
        self.stats.keys.up
    }

    /// Bytes of catalog, hint and keys.
    pub(super) fn once(&self) -> u64 {
        self.stats.catalog.down + self.hint() + self.keys()
    }

    /// All bytes up to and including lookup number `n`.
    pub(super) fn up_to(&self, n: u64) -> u64 {
        self.once() + n * (self.up + self.down)
    }

    /// Time to open the table.
    pub(super) fn opening(&self) -> Duration {
        self.stats.opening
    }

    pub(super) fn json(&self) -> serde_json::Value {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        json!({
            "scheme": self.scheme.name(),
            "once": {
                "catalog_bytes": self.stats.catalog.down,
                "artifact_bytes": self.hint(),
                "keys_bytes": self.keys(),
            },
            "open_ms": ms(self.opening()),
            "client_ms": ms(self.client),
            "server_ms": ms(self.pass),
            "up_bytes": self.up,
            "down_bytes": self.down,
            "lookups": self.json,
        })
    }
}
