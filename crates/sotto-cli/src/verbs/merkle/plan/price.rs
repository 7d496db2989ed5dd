//! The cost of a layout with a scheme, from the scheme's report about its parameters for each
//! table.

use crate::failure::Result;
use crate::verbs::merkle::plan::layout::Layout;
use sotto_catalog::{Packing, catalog};
use sotto_core::{Costs, Error, Goal, ParamsError, SchemeEntry, TableShape, work};
use std::collections::HashMap;
use std::time::Duration;

/// The cost to minimize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CostGoal {
    /// Time until a proof is complete, transfer included.
    Time,
    /// Work of the servers.
    ServerTime,
    /// Bytes in both directions, with a share of one-time downloads.
    TotalBytes,
}

impl CostGoal {
    const ALL: [(&'static str, CostGoal); 3] = [
        ("time", CostGoal::Time),
        ("server-time", CostGoal::ServerTime),
        ("total-bytes", CostGoal::TotalBytes),
    ];

    /// The name of the goal on the command line.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, goal)| *goal == self).map_or("", |(name, _)| name)
    }

    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let known = || Self::ALL.map(|(name, _)| name).join(", ");
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, goal)| *goal).ok_or_else(|| format!("expected one of {}", known()))
    }

    /// The goal of the tables' parameters.
    pub(crate) fn goal(self) -> Goal {
        match self {
            CostGoal::Time | CostGoal::ServerTime => Goal::ServerTime,
            CostGoal::TotalBytes => Goal::TotalBytes,
        }
    }
}

/// The cost of a proof, and the one-time cost of a client.
#[derive(Clone, Copy)]
pub(crate) struct ProofCost {
    pub(crate) scheme: &'static SchemeEntry,
    /// Bytes of public files.
    pub(crate) public_bytes: u64,
    /// Bytes of artifacts, over the time in which `lookups` proofs are made.
    pub(crate) artifact_bytes: u64,
    /// Bytes of keys.
    pub(crate) keys_bytes: u64,
    /// Bytes of a proof's queries.
    pub(crate) up: u64,
    /// Bytes of its answers.
    pub(crate) down: u64,
    /// Server operations for the answers of a proof.
    pub(crate) server_ops: u64,
    /// Client operations for the queries, and for recovering the answers.
    pub(crate) client_ops: u64,
    /// Bytes that servers hold.
    pub(crate) resident_bytes: u64,
    /// Base-2 logarithm of the bound on the probability that a proof fails.
    pub(crate) failure_log2: f64,
    /// Number of proofs over which a client spreads its one-time cost.
    pub(crate) lookups: u64,
}

impl ProofCost {
    pub(crate) fn server(&self) -> Duration {
        work::time(self.server_ops)
    }

    pub(crate) fn client(&self) -> Duration {
        work::time(self.client_ops)
    }

    /// A proof's share of the one-time bytes.
    pub(crate) fn share(&self) -> u64 {
        (self.public_bytes + self.artifact_bytes + self.keys_bytes) / self.lookups.max(1)
    }

    /// Bytes of a proof, with its share of the one-time bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.up + self.down + self.share()
    }

    /// Time to transfer the bytes of a proof.
    pub(crate) fn sending(&self) -> Duration {
        Duration::from_nanos(self.bytes().saturating_mul(work::SENT_BYTE_NANOSECONDS))
    }

    /// Total time of a proof, if nothing is done in parallel.
    pub(crate) fn time(&self) -> Duration {
        self.server() + self.client() + self.sending()
    }

    /// The value that a goal minimizes. The other costs break ties.
    pub(crate) fn by(&self, goal: CostGoal) -> f64 {
        let time = self.time().as_secs_f64();
        match goal {
            CostGoal::Time => time,
            CostGoal::ServerTime => self.server().as_secs_f64() + time * 1e-3,
            CostGoal::TotalBytes => self.bytes() as f64 + time,
        }
    }
}

/// A cache of the cost of tables: choosing parameters takes a while, and layouts have tables in
/// common.
pub(crate) struct CostCache {
    lookups: u64,
    goal: Goal,
    known: HashMap<(&'static str, [u64; 5]), Result<LookupCost, String>>,
}

/// The cost of a lookup in a table.
#[derive(Debug, Clone, Copy)]
struct LookupCost {
    costs: Costs,
    /// Number of records of a row.
    records: u64,
    failure_log2: f64,
}

impl CostCache {
    pub(crate) fn new(lookups: u64, goal: Goal) -> Self {
        CostCache { lookups, goal, known: HashMap::new() }
    }

    /// The cost of a layout with a scheme.
    ///
    /// # Errors
    /// Why the scheme cannot be used.
    pub(crate) fn of(&mut self, layout: &Layout, scheme: &'static SchemeEntry) -> Result<ProofCost, String> {
        let queried = scheme.query_servers as u64;
        let mut price = ProofCost {
            scheme,
            public_bytes: layout.public_bytes,
            artifact_bytes: 0,
            keys_bytes: 0,
            up: 0,
            down: 0,
            server_ops: 0,
            client_ops: 0,
            resident_bytes: 0,
            failure_log2: 0.0,
            lookups: self.lookups,
        };
        let (mut visits, mut of_rows) = (Vec::new(), Vec::new());
        let groups = if scheme.batch.is_some() { layout.joined() } else { layout.groups.clone() };
        let together = groups.iter().map(|group| group.tables * group.visits).sum();
        for (i, group) in groups.iter().enumerate() {
            let shape = TableShape {
                lookups_per_request: together,
                goal: self.goal,
                buckets: group.buckets,
                ..TableShape::new(
                    group.rows.saturating_mul(group.buckets),
                    group.row_bytes,
                    self.lookups.saturating_mul(group.visits),
                )
            };
            let LookupCost { costs, records, failure_log2 } = self.lookup(&shape, scheme)?;
            let (tables, queries) = (group.tables, group.tables * group.visits * records);
            // Hints that are used up are fetched again.
            let used = self.lookups.saturating_mul(group.visits * records);
            let times = if costs.budget == 0 { 1 } else { used.div_ceil(costs.budget).max(1) };
            price.artifact_bytes += tables * costs.artifact_bytes.saturating_mul(times);
            price.keys_bytes += tables * costs.keys_bytes * queried;
            price.up += queries * costs.query_bytes * queried;
            price.down += queries * costs.answer_bytes * queried;
            price.server_ops += queries * costs.server_ops * queried;
            price.client_ops += queries * costs.client_ops;
            price.resident_bytes += tables * costs.resident_bytes;
            of_rows.push(failure_log2);
            visits.extend((0..group.tables * group.visits).map(|_| i));
        }
        price.failure_log2 = sotto_core::layer::gate(&visits, &of_rows).map_err(|e| e.to_string())?;
        Ok(price)
    }

    fn lookup(&mut self, shape: &TableShape, scheme: &'static SchemeEntry) -> Result<LookupCost, String> {
        let TableShape {
            rows, row_bytes, lookups_per_client, lookups_per_request: together, buckets, ..
        } = *shape;
        let key = (scheme.id.0, [rows, row_bytes, lookups_per_client, together, buckets]);
        let known = self.known.entry(key).or_insert_with(|| lookup_cost(shape, scheme).map_err(|e| why(&e)));
        known.clone()
    }
}

fn lookup_cost(shape: &TableShape, scheme: &SchemeEntry) -> sotto_core::Result<LookupCost> {
    let params = (scheme.select)(shape)?;
    let report = (scheme.report)(&params)?;
    let packing = Packing::new(shape.rows, shape.row_bytes, report.records, report.record_bytes)?;
    catalog::gate(&report, &packing)?;
    let failure_log2 = packing.failure_log2(report.failure_log2);
    Ok(LookupCost { costs: report.costs, records: packing.records_per_row() as u64, failure_log2 })
}

/// The limit that was exceeded, without the table, which is the planner's own.
fn why(error: &Error) -> String {
    match error {
        Error::Params(ParamsError::NoFit { why, .. }) => why.clone(),
        error => error.to_string(),
    }
}
