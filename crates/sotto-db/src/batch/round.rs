//! Costs of a round over a stack, and its probability of failure.

use crate::Result;
use crate::inspect::{SchemeInfo, describe};
use sotto_catalog::Catalog;
use sotto_core::SchemeEntry;
use sotto_core::layer::failure_log2;
use sotto_layers::batch_code::Params;

/// Costs of one round: a request to each table, with a number of queries that does not depend on
/// the lookups.
#[derive(Debug)]
pub struct BatchRequestCost {
    /// Sizes of the batch code.
    pub code: Params,
    /// Description of the scheme, with the shape of the last table added.
    pub scheme: Option<SchemeInfo>,
    /// Number of tables.
    pub tables: usize,
    /// Number of queries, each for a row or for a row of each bucket.
    pub queries: usize,
    /// Bytes of all queries, to all servers.
    pub up: u64,
    /// Bytes of all answers, from all servers.
    pub down: u64,
    /// Bytes that a client downloads before its first round.
    pub artifacts: u64,
    /// Bytes of the evaluation keys that a client sends.
    pub keys: u64,
    /// Base-2 logarithm of a bound on the probability that any of the lookups fails.
    pub lookups_fail: f64,
}

impl BatchRequestCost {
    /// Costs of a code without tables.
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

    /// Adds a table that is queried `visits` times per round.
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

    /// Base-2 logarithms of a bound on the probability that a round fails, and of the code's share
    /// of it.
    pub fn failure_log2(&self) -> (f64, f64) {
        let code = self.code.sizes().failure_log2();
        (failure_log2(&[0, 1], &[code, self.lookups_fail]), code)
    }
}
