//! What a round over a stack costs, and how often it fails.

use crate::Result;
use crate::inspect::{SchemeInfo, describe};
use sotto_catalog::Catalog;
use sotto_core::SchemeEntry;
use sotto_core::layer::failure_log2;
use sotto_layers::batch_code::Params;

/// One round: a request to each table, the same number for every wish.
#[derive(Debug)]
pub struct BatchRequestCost {
    /// The code.
    pub code: Params,
    /// What there is to know of the scheme, with any of the tables.
    pub scheme: Option<SchemeInfo>,
    /// How many tables there are.
    pub tables: usize,
    /// Queries for rows, or for a row of each bucket.
    pub queries: usize,
    /// Bytes of all queries, to all servers.
    pub up: u64,
    /// Bytes of all answers.
    pub down: u64,
    /// Bytes that a client fetches before its first round.
    pub artifacts: u64,
    /// Bytes of the keys that it sends.
    pub keys: u64,
    /// log2 of a bound on the probability that any of the lookups fails.
    pub lookups_fail: f64,
}

impl BatchRequestCost {
    /// That of a code, and no table yet.
    pub(super) fn new(code: Params) -> Self {
        let (scheme, tables, queries, up, down, artifacts, keys) = (None, 0, 0, 0, 0, 0, 0);
        BatchRequestCost {
            code,
            scheme,
            tables,
            queries,
            up,
            down,
            artifacts,
            keys,
            lookups_fail: f64::NEG_INFINITY,
        }
    }

    /// Adds a table, which is asked so often.
    pub(super) fn add(&mut self, catalog: &Catalog, entry: &SchemeEntry, visits: usize) -> Result<()> {
        let scheme = describe(catalog, entry)?;
        self.tables += 1;
        self.queries += visits;
        self.up += scheme.query_bytes * visits as u64 * u64::from(catalog.servers);
        self.down += scheme.answer_bytes * visits as u64 * u64::from(catalog.servers);
        self.artifacts += scheme.artifact_bytes;
        self.keys += scheme.keys_bytes;
        let visits = vec![0; visits];
        self.lookups_fail =
            failure_log2(&[0, 1], &[self.lookups_fail, failure_log2(&visits, &[scheme.failure_log2])]);
        self.scheme = Some(scheme);
        Ok(())
    }

    /// log2 of a bound on the probability that a round fails, and what of it is the code's.
    pub fn failure_log2(&self) -> (f64, f64) {
        let code = self.code.sizes().failure_log2();
        (failure_log2(&[0, 1], &[code, self.lookups_fail]), code)
    }
}
