//! Largest sizes of bodies, which follow from a table's parameters before the first byte arrives.

pub use crate::problem::MAX_PROBLEM_BYTES;
use crate::{answer, keys, query, stream};
use sotto_core::Costs;

/// Largest number of queries in a query request if answers are small. Sixty-four lookups at once
/// are more than a page needs, and limit what an unknown client can make a server buffer.
pub const MAX_QUERIES: u16 = 64;

/// Largest size in bytes of the answers to one query request, unless a single lookup takes more: a
/// query of kilobytes may request a record of many megabytes.
pub const MAX_ANSWERS_BYTES: u64 = 64 << 20;

/// Largest size in bytes of a list of tables that a client reads.
pub const MAX_TABLES_BYTES: u64 = 1 << 20;

/// Exact message sizes of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageSizes {
    /// Bytes of one query.
    pub query_bytes: u64,
    /// Bytes of one answer.
    pub answer_bytes: u64,
    /// Bytes of a client's evaluation keys; 0 if the scheme has none.
    pub keys_bytes: u64,
    /// Largest number of queries in a query request.
    pub max_queries: u16,
}

impl MessageSizes {
    /// Sizes for a table whose every lookup takes `lookups` queries.
    ///
    /// The number of queries is limited by [`MAX_QUERIES`] and [`MAX_ANSWERS_BYTES`]. One lookup
    /// must always fit into a query request, so a table of wide rows may exceed both.
    pub fn new(costs: &Costs, lookups: usize) -> Self {
        let lookups = u16::try_from(lookups).unwrap_or(u16::MAX).max(1);
        let fitting = MAX_ANSWERS_BYTES / costs.answer_bytes.max(1);
        let fitting = u16::try_from(fitting).unwrap_or(MAX_QUERIES).min(MAX_QUERIES);
        MessageSizes {
            query_bytes: costs.query_bytes,
            answer_bytes: costs.answer_bytes,
            keys_bytes: costs.keys_bytes,
            max_queries: lookups.max(fitting),
        }
    }

    /// Largest number of queries in a query request.
    pub fn max_queries(costs: &Costs, lookups: usize) -> usize {
        usize::from(MessageSizes::new(costs, lookups).max_queries)
    }

    /// Bytes of a query request with `count` queries.
    pub fn query_frame_bytes(&self, count: u16) -> u64 {
        self.query_bytes.saturating_mul(u64::from(count)).saturating_add(query::HEAD_BYTES as u64)
    }

    /// Bytes of a request for a record in units.
    pub fn stream_bytes(&self) -> u64 {
        self.query_bytes.saturating_add(stream::HEAD_BYTES as u64)
    }

    /// Bytes of the largest query request.
    pub fn max_query_frame_bytes(&self) -> u64 {
        self.query_frame_bytes(self.max_queries)
    }

    /// Bytes of the answer to a query request with `count` queries.
    pub fn answer_frame_bytes(&self, count: u16) -> u64 {
        self.answer_bytes.saturating_mul(u64::from(count)).saturating_add(answer::HEAD_BYTES as u64)
    }

    /// Bytes of a registration of keys.
    pub fn keys_frame_bytes(&self) -> u64 {
        self.keys_bytes.saturating_add(keys::HEAD_BYTES as u64)
    }
}
