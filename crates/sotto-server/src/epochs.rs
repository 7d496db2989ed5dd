//! Two live epochs per table, swapped atomically.
//!
//! A reader takes an `Arc` and keeps it: an epoch that is dropped here lives on until the last
//! request for it is answered. `served_table` says how epochs go live.

use crate::live_epochs::LiveEpochs;
use crate::metrics::{ByTable, EpochLabel, PlacementLabel, ServerMetrics, gauge_value};
use crate::opening::Opening;
use crate::served_table::ServedTable;
use crate::{EpochSource, SourceError, StartError};
use sotto_wire::routes::TableList;
use sotto_wire::{Code, Problem};
use std::sync::Arc;

/// Bytes of images that are verified before a server answers at all, and while a reload waits:
/// about a second of a disk. The rest is read in the background, and its table is not ready until
/// then.
pub(crate) const PATIENCE: u64 = 256 << 20;

/// Every table of a server.
pub(crate) struct ServedTables(Vec<Arc<ServedTable>>);

impl ServedTables {
    /// Opens every source. A table whose images are all damaged is refused, and the others are
    /// served, if there are any.
    ///
    /// # Errors
    /// [`StartError`] for the first source that does not open for another reason, or for two tables
    /// of one name.
    pub(crate) fn open(sources: Vec<Box<dyn EpochSource>>, opening: &Opening) -> Result<Self, StartError> {
        let mut tables: Vec<Arc<ServedTable>> = Vec::new();
        let (mut patience, mut damaged) = (PATIENCE, None);
        let count = sources.len();
        for (source, number) in sources.into_iter().zip(1..) {
            let table = ServedTable::new(source);
            let source_name = table.source_name();
            opening.begin(source_name.clone(), number, count);
            let (outcome, error) = table.first_reload(&mut patience, &|at| opening.read(at));
            match error {
                Some(error @ SourceError::Damaged(_)) => {
                    damaged.get_or_insert(StartError::Table { source_name, error });
                }
                Some(error) => return Err(StartError::Table { source_name, error }),
                None if table.live_now().is_none() && !outcome.reading => {
                    return Err(StartError::NoEpoch { source_name });
                }
                None => {}
            }
            if let Some(other) = tables.iter().find(|other| other.name() == table.name()) {
                let (first, second) = (other.source_name(), table.source_name());
                return Err(StartError::SameName { name: table.name(), first, second });
            }
            tables.push(table);
        }
        match damaged {
            Some(error) if tables.iter().all(|table| table.live_now().is_none() && !table.is_reading()) => {
                Err(error)
            }
            _ => {
                tables.iter().for_each(|table| table.log_first_reload());
                Ok(ServedTables(tables))
            }
        }
    }

    /// The names of all tables, and the role of this server in those whose schemes have several.
    pub(crate) fn list(&self) -> TableList {
        let role = |table: &Arc<ServedTable>| Some((table.name(), table.live_now()?.newest().role()?));
        let mut tables: Vec<_> =
            self.0.iter().filter(|table| table.is_named()).map(|table| table.name()).collect();
        tables.sort_unstable();
        TableList { tables, stacks: Vec::new(), roles: self.0.iter().filter_map(role).collect() }
    }

    /// The names of the tables that have a live epoch.
    pub(crate) fn live_names(&self) -> impl Iterator<Item = String> {
        self.all().filter(|table| table.live_now().is_some()).map(|table| table.name())
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<ServedTable>> {
        self.0.iter()
    }

    /// Whether the table of this name will not change by itself: none of its images is still being
    /// verified, and none was refused.
    pub(crate) fn is_settled(&self, name: &str) -> bool {
        self.get(name).is_ok_and(|table| !table.is_reading() && !table.has_refused())
    }

    /// The table of this name.
    ///
    /// # Errors
    /// [`Code::NoSuchTable`].
    pub(crate) fn get(&self, name: &str) -> Result<&ServedTable, Problem> {
        let table = self.0.iter().find(|table| table.is(name));
        table
            .map(Arc::as_ref)
            .ok_or_else(|| Problem::new(Code::NoSuchTable, "there is no table of that name"))
    }

    /// Sets the gauges of all tables to the current values.
    pub(crate) fn update_gauges(&self, metrics: &ServerMetrics) {
        for served in self.all() {
            let (table, live) = (served.name(), served.live_now());
            let by_table = ByTable::of(&*table);
            let is_up = live.as_ref().is_some_and(|live| live.newest().check().is_ok());
            metrics.table_up.get_or_create(&by_table).set(i64::from(is_up));
            let Some(live) = live else { continue };
            update_bytes(metrics, &table, &live);
            metrics.server_role.get_or_create(&by_table).set(i64::from(live.newest().pin().server));
            let epoch = |generation, epoch: u64| {
                let label = EpochLabel { table: table.clone(), generation };
                metrics.live_epoch.get_or_create(&label).set(gauge_value(epoch));
            };
            epoch("newest", live.newest().pin().epoch.0);
            epoch("previous", live.previous().map_or(0, |previous| previous.pin().epoch.0));
        }
    }
}

/// Sets the gauges of a table's bytes. A placement that no longer occurs is set to 0.
fn update_bytes(metrics: &ServerMetrics, table: &str, live: &LiveEpochs) {
    for (medium, is_copy) in [("file", false), ("memory", true)] {
        let (mut huge, mut small, mut unknown) = (0, 0, 0);
        for it in live.all().filter_map(|table| table.residence()).filter(|it| it.is_copy == is_copy) {
            match it.huge_share {
                Some(share) => {
                    let on_huge = (it.bytes as f64 * share) as u64;
                    huge += on_huge;
                    small += it.bytes.saturating_sub(on_huge);
                }
                None => unknown += it.bytes,
            }
        }
        for (pages, bytes) in [("huge", huge), ("small", small), ("unknown", unknown)] {
            let label = PlacementLabel { table: table.to_owned(), medium, pages };
            metrics.table_bytes.get_or_create(&label).set(gauge_value(bytes));
        }
    }
}
