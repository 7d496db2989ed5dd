//! Two live epochs per table, swapped atomically; and the responses of a server that is still opening
//! its tables: its ports answer from the first moment, and report that it is not ready.
//!
//! A reader takes an `Arc` and keeps it: an epoch that is dropped here lives on until the last
//! request for it is answered. `served_table` says how epochs go live.

use crate::http_error::HttpError;
use crate::live_epochs::LiveEpochs;
use crate::locked;
use crate::metrics::{ByTable, EpochLabel, PlacementLabel, ServerMetrics, gauge_value};
use crate::served_table::ServedTable;
use crate::table_epoch::PassMaker;
use crate::{EpochSource, SourceError, StartError};
use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sotto_wire::routes::TableList;
use sotto_wire::{Problem, ProblemCode};
use std::sync::{Arc, Mutex};

/// Bytes of images that are verified before a server answers at all, and while a reload waits:
/// about a second of a disk. The rest is read in the background, and its table is not ready until
/// then.
pub(crate) const READ_BUDGET: u64 = 256 << 20;

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
        let (mut read_budget, mut damaged) = (READ_BUDGET, None);
        let count = sources.len();
        for (source, number) in sources.into_iter().zip(1..) {
            let table = ServedTable::new(source);
            let source_name = table.source_name();
            opening.begin(source_name.clone(), number, count);
            let (outcome, error) = table.first_reload(&mut read_budget, &|at| opening.read(at));
            match error {
                Some(error @ SourceError::Damaged(_)) => {
                    damaged.get_or_insert(StartError::Table { source_name, error });
                }
                Some(error) => return Err(StartError::Table { source_name, error }),
                None if table.live_now().is_none() && !outcome.reading => {
                    return Err(StartError::NoEpoch(source_name));
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
    /// [`ProblemCode::NoSuchTable`].
    pub(crate) fn get(&self, name: &str) -> Result<&ServedTable, Problem> {
        let table = self.0.iter().find(|table| table.is(name));
        table
            .map(Arc::as_ref)
            .ok_or_else(|| Problem::new(ProblemCode::NoSuchTable, "there is no table of that name"))
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
    let accelerated = live.all().filter_map(|table| match table.pass_maker()? {
        PassMaker::Accelerator { bytes, .. } => Some(bytes),
        PassMaker::Processor(_) => None,
    });
    let bytes: u64 = accelerated.sum();
    metrics.accelerated_bytes.get_or_create(&ByTable::of(table)).set(gauge_value(bytes));
}

/// Seconds after which a client may try again.
const RETRY_AFTER: u64 = 1;

/// The progress of a server in opening its tables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpeningProgress {
    /// Folder or file that is being opened.
    pub name: String,
    /// Number of that source, from 1.
    pub number: usize,
    /// Number of all sources.
    pub count: usize,
    /// Percentage of its image that is verified, once that has begun.
    pub percent: Option<u64>,
}

impl std::fmt::Display for OpeningProgress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let OpeningProgress { name, number, count, percent } = self;
        write!(f, "opening {name} ({number} of {count})")?;
        percent.map_or(Ok(()), |percent| write!(f, ", {percent} % of its image verified"))
    }
}

/// The progress of opening, shared between threads.
#[derive(Debug, Default)]
pub(crate) struct Opening(Mutex<OpeningProgress>);

impl Opening {
    /// Records that the next source is being opened.
    pub(crate) fn begin(&self, name: String, number: usize, count: usize) {
        *locked(&self.0) = OpeningProgress { name, number, count, percent: None };
    }

    /// Records how much of an image is verified.
    pub(crate) fn read(&self, at: sotto_db::Progress) {
        locked(&self.0).percent = Some(at.done.saturating_mul(100) / at.total.max(1));
    }

    /// The current progress.
    pub(crate) fn now(&self) -> OpeningProgress {
        locked(&self.0).clone()
    }

    /// Routes for clients, which tell them to try again.
    pub(crate) fn public() -> Router {
        let not_yet = || async {
            HttpError::new(ProblemCode::NotReady, "the server is opening its tables").after(RETRY_AFTER)
        };
        Router::new().fallback(not_yet)
    }

    /// Routes for operators, which report that the server is alive, and its progress.
    pub(crate) fn admin(self: &Arc<Self>) -> Router {
        let opening = self.clone();
        let not_ready = move || {
            let now = opening.now();
            async move { not_yet(&now) }
        };
        Router::new().route("/healthz", get(|| async { "ok\n" })).fallback(not_ready)
    }
}

fn not_yet(now: &OpeningProgress) -> Response {
    HttpError::from(Problem::new(ProblemCode::NotReady, format!("not yet: {now}")))
        .after(RETRY_AFTER)
        .into_response()
}
