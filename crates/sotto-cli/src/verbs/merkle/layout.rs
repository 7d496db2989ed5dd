//! The layouts of a log for proofs, and the tables of each; and the cost of a layout with a scheme,
//! from the scheme's report about its parameters for each table.

use crate::failure::{Failure, Result};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::stack::MAX_FILE_BYTES;
use sotto_catalog::{Packing, catalog};
use sotto_core::{Costs, Error, Goal, ParamsError, SchemeEntry, TableShape, work};
use sotto_layers::ProofLayout;
use sotto_layers::batch_code::code::CodeSizes;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// Name of a batch code over all nodes.
const PBC: &str = "pbc";

/// Bytes of a hash.
const HASH: u64 = 32;

/// Maximum number of public layers that are tried.
const MAX_PUBLIC: u8 = 24;

/// Minimum ratio of the bytes of the leaves' hashes to the public bytes: a client that downloads
/// more may as well fetch everything.
const MIN_PRIVATE: u64 = 4;

/// Maximum number of leaves of a log.
const MAX_LEAVES: u64 = 1 << 40;

/// The kind of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A layer that is designed for trees.
    Design(ProofLayout),
    /// A batch code over all nodes, independent of the tree.
    Batch(CodeSizes),
}

/// A group of equal tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group {
    /// Rows in each table, or in each of its buckets.
    pub(crate) rows: u64,
    /// Buckets of each table, of which one lookup returns a row each; 1 in ordinary tables.
    pub(crate) buckets: u64,
    /// Bytes in a row.
    pub(crate) row_bytes: u64,
    /// Number of tables.
    pub(crate) tables: u64,
    /// Lookups of a proof in each table.
    pub(crate) visits: u64,
}

/// A layout, and its tables for a log of some length.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) kind: Kind,
    pub(crate) groups: Vec<Group>,
    /// Bytes that every client downloads, whatever the scheme.
    pub(crate) public_bytes: u64,
}

impl Layout {
    /// The tables of a design.
    pub(crate) fn of(design: ProofLayout, leaves: u64) -> Result<Self> {
        let mut alike = BTreeMap::new();
        for rows in design.shards(leaves).map_err(|e| Failure::usage(e.to_string()))? {
            *alike.entry(rows).or_default() += 1;
        }
        let row_bytes = design.row_bytes() as u64;
        let group = |(rows, tables)| Group { rows, buckets: 1, row_bytes, tables, visits: 1 };
        let groups = alike.into_iter().map(group);
        // Besides the levels, a hash for each bit of the log's length.
        let public = design.public_hashes(leaves) + u64::from(leaves.count_ones());
        Ok(Layout { kind: Kind::Design(design), groups: groups.collect(), public_bytes: public * HASH })
    }

    /// Layouts by color, with each number of public layers, beginning with none.
    pub(crate) fn colors(leaves: u64) -> Result<Vec<Self>> {
        let height = height(leaves);
        let color = |public| ProofLayout::Color { layers: height - public, public };
        let all = (0..height.min(MAX_PUBLIC + 1)).map(|public| Self::of(color(public), leaves));
        let all = all.collect::<Result<Vec<_>>>()?;
        Ok(all.into_iter().filter(|layout| layout.is_sensible(leaves)).collect())
    }

    /// Whether the public part fits into a file, and is small compared with the rest. A few hashes
    /// always are.
    fn is_sensible(&self, leaves: u64) -> bool {
        self.public_bytes <= MAX_FILE_BYTES
            && self.public_bytes.saturating_mul(MIN_PRIVATE) <= leaves.saturating_mul(HASH).max(64 * HASH)
    }

    /// All complete nodes below the root in one batch code, with as many lookups in a request as a
    /// proof has hashes.
    pub(crate) fn batch(leaves: u64) -> Option<Self> {
        let height = height(leaves);
        let rows = (0..height).map(|level| leaves >> level).sum();
        let sizes = CodeSizes::fit(rows, height.into()).ok()?;
        let group = |rows, tables: usize, visits: usize| Group {
            rows,
            buckets: 1,
            row_bytes: HASH,
            tables: tables as u64,
            visits: visits as u64,
        };
        let buckets = group(sizes.bucket_rows(), sizes.copies * sizes.buckets, 1);
        let groups = [buckets, group(rows, usize::from(sizes.spare > 0), sizes.spare)];
        let groups = groups.into_iter().filter(|group| group.tables > 0).collect();
        let public_bytes = u64::from(leaves.count_ones()) * HASH;
        Some(Layout { kind: Kind::Batch(sizes), groups, public_bytes })
    }

    /// The tables for a scheme that queries a row of each bucket: tables of similar size become
    /// one.
    pub(crate) fn joined(&self) -> Vec<Group> {
        let mut left = match self.kind {
            Kind::Design(design) => design.alike(),
            Kind::Batch(sizes) => sizes.copies * sizes.buckets,
        } as u64;
        let (alike, others): (Vec<Group>, Vec<Group>) = self.groups.iter().partition(|group| {
            let fits = group.tables <= left;
            left -= if fits { group.tables } else { 0 };
            fits
        });
        let one = alike.iter().map(|group| group.rows).max().map(|rows| {
            let buckets = alike.iter().map(|group| group.tables).sum();
            Group {
                rows,
                buckets,
                row_bytes: self.groups.first().map_or(HASH, |group| group.row_bytes),
                tables: 1,
                visits: 1,
            }
        });
        one.into_iter().chain(others).collect()
    }

    /// Number of lookups of a proof.
    pub(crate) fn lookups(&self) -> u64 {
        self.groups.iter().map(|group| group.tables * group.visits).sum()
    }

    /// Bytes of all tables.
    pub(crate) fn private_bytes(&self) -> u64 {
        self.groups.iter().map(|group| group.rows * group.row_bytes * group.tables).sum()
    }

    /// The name of the layout: a value of `--design`, with further properties.
    pub(crate) fn title(&self) -> String {
        match self.kind {
            Kind::Design(design) => title(design),
            Kind::Batch(_) => PBC.to_owned(),
        }
    }
}

/// The name of a design.
pub(crate) fn title(design: ProofLayout) -> String {
    match design {
        ProofLayout::Tile { levels: 1 } => "tile".to_owned(),
        ProofLayout::Tile { .. } => "tiles".to_owned(),
        ProofLayout::Color { public: 0, .. } => "color".to_owned(),
        ProofLayout::Color { public, .. } => format!("color, {public} public"),
        ProofLayout::Batch(_) => PBC.to_owned(),
    }
}

/// Number of layers of a log's tree below the root.
pub(crate) fn height(leaves: u64) -> u8 {
    leaves.max(2).next_power_of_two().ilog2() as u8
}

/// All layouts, in families of which one is shown.
pub(crate) fn families(leaves: u64) -> Result<Vec<Vec<Layout>>> {
    if leaves == 0 {
        return Err(Failure::input("the log has no entries"));
    }
    if leaves > MAX_LEAVES {
        return Err(Failure::usage(format!("{leaves} leaves exceed the maximum of 2^40")));
    }
    let mut colors = Layout::colors(leaves)?;
    let some = colors.split_off(colors.len().min(1));
    let tile = |levels| Layout::of(ProofLayout::Tile { levels }, leaves);
    // A second level of tiles is useful if there is a full tile on it.
    let second = if leaves >> 16 > 0 { vec![tile(2)?] } else { Vec::new() };
    let mut families = vec![colors, some, vec![tile(1)?], second];
    families.push(Layout::batch(leaves).into_iter().collect());
    for family in &mut families {
        family.retain(|layout| layout.is_sensible(leaves));
    }
    families.retain(|family| !family.is_empty());
    Ok(families)
}

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
#[derive(Clone, Copy, Serialize, JsonSchema)]
pub(crate) struct ProofCost {
    #[serde(skip)]
    pub(crate) scheme: &'static SchemeEntry,
    /// Bytes of public files.
    pub(crate) public_bytes: u64,
    /// Bytes of artifacts, over the time in which `lookups` proofs are made.
    pub(crate) artifact_bytes: u64,
    /// Bytes of keys.
    pub(crate) keys_bytes: u64,
    /// Bytes of a proof's queries.
    #[serde(rename = "bytes_up")]
    pub(crate) up: u64,
    /// Bytes of its answers.
    #[serde(rename = "bytes_down")]
    pub(crate) down: u64,
    /// Server operations for the answers of a proof.
    pub(crate) server_ops: u64,
    /// Client operations for the queries, and for recovering the answers.
    pub(crate) client_ops: u64,
    /// Bytes that servers hold.
    pub(crate) resident_bytes: u64,
    /// Base-2 logarithm of the bound on the probability that a proof fails; null in JSON if it cannot.
    #[schemars(with = "Option<f64>")]
    pub(crate) failure_log2: f64,
    /// Number of proofs over which a client spreads its one-time cost.
    #[serde(skip)]
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

#[cfg(test)]
mod tests {
    use super::*;

    fn one(leaves: u64, family: usize) -> Layout {
        families(leaves).unwrap()[family][0].clone()
    }

    #[test]
    fn a_log_of_a_power_of_two_is_counted_by_hand() {
        let leaves = 1 << 20;
        let all = one(leaves, 0);
        // Every node but the root, in 20 colors.
        assert_eq!((all.lookups(), all.private_bytes(), all.public_bytes), (20, 32 * (2 * leaves - 2), 32));
        let eight = &families(leaves).unwrap()[1][7];
        assert_eq!(eight.lookups(), 12);
        assert_eq!(eight.private_bytes() + eight.public_bytes, 32 * (2 * leaves - 2) + 32);
        let tile = one(leaves, 2);
        assert_eq!((tile.lookups(), tile.private_bytes()), (1, 32 * leaves));
        assert_eq!(tile.public_bytes, 32 * (4096 + 1));
        let tiles = one(leaves, 3);
        assert_eq!((tiles.lookups(), tiles.public_bytes), (2, 32 * (16 + 1)));
        let batch = one(leaves, 4);
        assert_eq!(batch.lookups(), 30);
        // A scheme that asks for a row of each bucket has them in one table, but for levels of tiles.
        let joined = |layout: &Layout| -> Vec<_> {
            layout.joined().iter().map(|group| (group.tables, group.buckets, group.visits)).collect()
        };
        assert_eq!((joined(&all), joined(eight)), (vec![(1, 20, 1)], vec![(1, 12, 1)]));
        assert_eq!((joined(&batch), joined(&tiles)), (vec![(1, 30, 1)], vec![(1, 1, 1), (1, 1, 1)]));
        assert_eq!(all.joined()[0].rows, all.groups.iter().map(|group| group.rows).max().unwrap());
    }

    #[test]
    fn lengths_at_the_ends_are_laid_out_or_refused() {
        assert!(families(0).is_err() && families((1 << 40) + 1).is_err());
        assert_eq!(families(1).unwrap().len(), 3);
        // Hashes of level 8 are too many to be public; those of level 16 are not.
        let longest = families(1 << 40).unwrap();
        let tiles: Vec<_> = longest.iter().flatten().map(Layout::title).collect();
        assert!(!tiles.contains(&"tile".to_owned()) && tiles.contains(&"tiles".to_owned()), "{tiles:?}");
    }
}
