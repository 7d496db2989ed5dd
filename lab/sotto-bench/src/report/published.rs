//! The published tier: figures that are read in publications.

use super::{Step, TableFacts};
use serde::Serialize;

/// One published row. Fields the source does not give are absent, never estimated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedRow {
    /// The scheme, by its paper's name.
    pub scheme: String,
    /// The shape in words: `2^20 x 256 B`.
    pub shape: String,
    /// Rows of the table.
    pub rows_count: u64,
    /// Bits in a row.
    pub row_bits: u64,
    /// Threads of the server.
    pub threads_count: u64,
    /// Time of the server for one lookup.
    pub server_ms: Option<f64>,
    /// Offline work of the server.
    pub offline_s: Option<f64>,
    /// Bytes that a client downloads once.
    pub once_bytes: Option<u64>,
    /// Bytes that a client uploads once.
    pub keys_bytes: Option<u64>,
    /// Bytes of queries, per lookup.
    pub up_bytes: Option<u64>,
    /// Bytes of answers, per lookup.
    pub down_bytes: Option<u64>,
    /// Bytes in both directions, where the source prints only their sum.
    pub total_bytes: Option<u64>,
    /// Bytes that a client stores which prepares once and makes many lookups.
    pub storage_bytes: Option<u64>,
    /// Time of client and server, for one lookup after a preparation.
    pub online_ms: Option<f64>,
    /// Bytes of a lookup with its share of the preparation.
    pub amortized_bytes: Option<u64>,
    /// Steps of the server's time, where they are given.
    pub steps: Vec<Step>,
    /// The machine of the measurement.
    pub machine: String,
    /// The publication that has the figures.
    pub source: String,
    /// Whether narrower rows are packed into its rows.
    pub packs: bool,
}

impl PublishedRow {
    /// Whether the row is comparable with a table: of the same rows, or of rows that would be
    /// packed into its own.
    pub(crate) fn is_comparable(&self, table: &TableFacts) -> bool {
        let bits = |rows: u64, row_bits: u64| u128::from(rows) * u128::from(row_bits);
        let packed = self.packs
            && self.row_bits.is_multiple_of(table.row_bits.max(1))
            && bits(self.rows_count, self.row_bits) == bits(table.rows_count, table.row_bits);
        packed || (table.rows_count == self.rows_count && table.row_bits == self.row_bits)
    }

    /// Small tables first, and within a shape as in the file.
    pub(crate) fn sort(rows: &mut [Self]) {
        rows.sort_by_key(|row| (row.rows_count.saturating_mul(row.row_bits), row.row_bits));
    }
}
