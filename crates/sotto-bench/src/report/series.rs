//! Consecutive lookups, as a client makes them that prepares once.

use serde::Serialize;

/// Consecutive lookups with nothing in between, and their share of the preparation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesReport {
    /// Number of lookups, of random rows, each a new one.
    pub lookups_count: usize,
    /// Median time to make a query.
    pub query_ms: f64,
    /// Median time of the server, the slower one where there are several.
    pub server_ms: f64,
    /// Median time to read the answer.
    pub recover_ms: f64,
    /// The sum of the three: client and server, nothing that travels.
    pub online_ms: f64,
    /// Number of lookups of one preparation; 0 if unlimited.
    pub budget_count: u64,
    /// Bytes of the client's durable state, as written to disk.
    pub state_bytes: u64,
    /// Milliseconds of the client before its first query.
    pub prepare_ms: f64,
    /// Bytes before the first query, in both directions.
    pub prepare_bytes: u64,
    /// Costs of the hints that a server made for this client, where one does.
    pub supplied: Option<HintServerCost>,
    /// Milliseconds of a lookup with its share of the preparation; absent where a preparation is
    /// unlimited.
    pub amortized_ms: Option<f64>,
    /// Bytes of a lookup with its share of the preparation.
    pub amortized_bytes: Option<f64>,
}

/// Costs of hints that a server made on request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HintServerCost {
    /// Number of hint requests.
    pub orders_count: u64,
    /// Milliseconds of the server.
    pub server_ms: f64,
    /// Bytes of the hint requests.
    pub up_bytes: u64,
    /// Bytes of the hint responses.
    pub down_bytes: u64,
}

impl HintServerCost {
    /// Bytes in both directions.
    pub(crate) fn bytes(&self) -> u64 {
        self.up_bytes.saturating_add(self.down_bytes)
    }
}
