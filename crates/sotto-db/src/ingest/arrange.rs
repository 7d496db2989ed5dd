//! Which arrangement of a keyword table costs least, by the scheme's own account.

use super::options::KeywordOptions;
use sotto_catalog::{Packing, catalog};
use sotto_core::{Goal, SchemeEntry, Shape};
use sotto_layers::keyword::{Builder, Sizes};
use std::fmt;

/// Work of a server, in 8-bit multiply-adds, at the price of a byte on the wire: what `simplepir` chooses its matrix by, which is
/// 2,000 bytes of the table with four multiply-adds each.
const WORK_OF_A_BYTE: f64 = 8000.0;

/// What an arrangement is chosen for.
#[derive(Clone)]
pub struct Costing {
    /// The scheme that is to serve the table.
    pub entry: &'static SchemeEntry,
    /// How many lookups one client is expected to make per epoch.
    pub lookups_per_client: u64,
    /// What is to be little.
    pub goal: Goal,
    /// The scheme's parameter set, if one is asked for by name.
    pub set: Option<String>,
}

/// Has the table arranged as costs least, among the arrangements that `options` leave open.
pub(super) fn arrange(builder: &mut Builder, options: &KeywordOptions, costing: &Costing) {
    let price = |probes: u32, slots: u32| {
        let sizes = builder.sizes(probes, slots).ok()?;
        Some((costing.price(probes, sizes)?, probes, slots))
    };
    let least = |tried: &mut dyn Iterator<Item = (u32, u32)>| {
        let priced = tried.filter_map(|(probes, slots)| price(probes, slots));
        priced.min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let open = |probes: u32| options.probes.is_none_or(|given| given == probes);
    let with = |probes: u32, usual: &[u32]| {
        let slots = options.slots.map_or_else(|| usual.to_vec(), |slots| vec![slots]);
        slots.into_iter().filter(move |_| open(probes)).map(move |slots| (probes, slots))
    };
    // Rows that are cut can have any width: first by doubling, then near the best.
    let doubled: Vec<u32> = (2..=16).map(|log2| 1 << log2).collect();
    let best_cut = least(&mut with(1, &doubled));
    let near = best_cut.map(|(.., slots)| {
        let step = |eighths: u32| (f64::from(slots) * f64::from(eighths) / 8.0) as u32;
        (5..=14).map(step).filter(|slots| *slots >= 4).collect::<Vec<_>>()
    });
    let few = (2..=4).flat_map(|probes| with(probes, &[1, 2, 4, 8]).collect::<Vec<_>>());
    let near = near.unwrap_or_default();
    if let Some((_, probes, slots)) =
        least(&mut with(1, &near).chain(few)).into_iter().chain(best_cut).min_by(|a, b| a.0.total_cmp(&b.0))
    {
        builder.arrange(probes, slots);
    }
}

impl Costing {
    /// What a lookup costs, in bytes on the wire; `None` if the scheme does not serve such a table.
    fn price(&self, probes: u32, sizes: Sizes) -> Option<f64> {
        let Sizes { rows, row_bytes, catalog_bytes } = sizes;
        let shape = Shape {
            goal: self.goal,
            set: self.set.clone(),
            ..Shape::new(rows, row_bytes, self.lookups_per_client)
        };
        let report = (self.entry.report)(&(self.entry.select)(&shape).ok()?).ok()?;
        let packing = Packing::new(rows, row_bytes, report.records, report.record_bytes).ok()?;
        catalog::gate(&report, &packing).ok()?;
        // Clients that keep state look a row up in one record.
        if self.entry.state.is_some() && packing.lookups() > 1 {
            return None;
        }
        let costs = &report.costs;
        let queries = f64::from(probes) * packing.lookups() as f64;
        let (up, down) = (costs.query_bytes as f64 * queries, costs.answer_bytes as f64 * queries);
        let each = (up + down) * self.entry.servers as f64;
        let once = costs.artifact_bytes.saturating_add(costs.keys_bytes).saturating_add(catalog_bytes) as f64;
        let bytes = each + once / self.lookups_per_client.max(1) as f64;
        Some(match self.goal {
            Goal::ServerTime => bytes + costs.server_ops as f64 * queries / WORK_OF_A_BYTE,
            Goal::QueryBytes => up,
            Goal::TotalBytes => bytes,
            Goal::Rate => down,
        })
    }
}

impl fmt::Debug for Costing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Costing { entry, lookups_per_client, goal, set } = self;
        f.debug_tuple("Costing").field(&entry.id).field(lookups_per_client).field(goal).field(set).finish()
    }
}

impl PartialEq for Costing {
    fn eq(&self, other: &Self) -> bool {
        let all = |costing: &Costing| {
            (costing.entry.id.0, costing.lookups_per_client, costing.goal, costing.set.clone())
        };
        all(self) == all(other)
    }
}

impl Eq for Costing {}
