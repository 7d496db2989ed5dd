//! Lookups in a row: what a client sees that prepares once and asks many times.

use serde::Serialize;

/// Lookups one after the other, with nothing in between, and what preparing for them costs each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesReport {
    /// Lookups made, of random rows, each a new one.
    pub lookups_count: usize,
    /// Median time to make a query.
    pub query_ms: f64,
    /// Median time of the server, the slower one where there are several.
    pub server_ms: f64,
    /// Median time to read the answer.
    pub recover_ms: f64,
    /// The sum of the three: client and server, nothing that travels.
    pub online_ms: f64,
    /// Lookups a preparation is good for; 0 if for as many as one likes.
    pub budget_count: u64,
    /// What the client keeps and must not lose, as it is written to disk.
    pub state_bytes: u64,
    /// The client's work before its first query.
    pub prepare_ms: f64,
    /// What travels before the first query, both ways.
    pub prepare_bytes: u64,
    /// What a server made for this client beforehand, where one does.
    pub supplied: Option<HintServerCost>,
    /// A lookup with its share of the preparation; absent where preparing is good for any number of lookups.
    pub amortized_ms: Option<f64>,
    /// Bytes of a lookup with its share of the preparation.
    pub amortized_bytes: Option<f64>,
}

/// Hints a server made to order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HintServerCost {
    /// How many orders.
    pub orders_count: u64,
    /// The server's work.
    pub server_ms: f64,
    /// Bytes of the orders.
    pub up_bytes: u64,
    /// Bytes of what came back.
    pub down_bytes: u64,
}

impl HintServerCost {
    /// Both ways.
    pub(crate) fn bytes(&self) -> u64 {
        self.up_bytes.saturating_add(self.down_bytes)
    }
}
