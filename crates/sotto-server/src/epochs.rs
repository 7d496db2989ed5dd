//! Two live epochs per table, swapped atomically.
//!
//! A reader takes an `Arc` and keeps it: an epoch that is dropped here lives on until the last
//! request for it is answered. `served_table` says how epochs go live.

use crate::opening::Opening;
use crate::served_table::ServedTable;
use crate::table_epoch::StaticFile;
use crate::{EpochSource, PastEpoch, SourceError, StartError, TableEpoch};
use sotto_catalog::Hex32;
use sotto_core::Epoch;
use sotto_wire::routes::TableList;
use sotto_wire::{Code, FrameError, FrameHeader, Problem, hints};
use std::sync::Arc;

/// Bytes of images that are verified before a server answers at all, and while a reload waits:
/// about a second of a disk. The rest is read in the background, and its table is not ready until
/// then.
pub(crate) const PATIENCE: u64 = 256 << 20;

/// The live epochs of a table: the newest, and the previous one for clients that have not moved
/// yet.
pub(crate) struct LiveEpochs {
    newest: Arc<TableEpoch>,
    previous: Option<Arc<TableEpoch>>,
    /// Epochs before the newest that clients with state pass through, the previous one included.
    past: Vec<Arc<PastEpoch>>,
}

impl LiveEpochs {
    pub(crate) fn new(
        newest: Arc<TableEpoch>,
        previous: Option<Arc<TableEpoch>>,
        past: Vec<Arc<PastEpoch>>,
    ) -> Self {
        LiveEpochs { newest, previous, past }
    }

    pub(crate) fn newest(&self) -> &Arc<TableEpoch> {
        &self.newest
    }

    pub(crate) fn previous(&self) -> Option<&Arc<TableEpoch>> {
        self.previous.as_ref()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<TableEpoch>> {
        std::iter::once(&self.newest).chain(&self.previous)
    }

    pub(crate) fn find(&self, epoch: Epoch) -> Option<&Arc<TableEpoch>> {
        self.all().find(|live| live.pin().epoch == epoch)
    }

    /// A past epoch of a delta chain.
    pub(crate) fn find_past(&self, epoch: Epoch) -> Option<&Arc<PastEpoch>> {
        self.past.iter().find(|past| past.epoch() == epoch)
    }

    /// The file of the artifact with this digest.
    pub(crate) fn artifact(&self, digest: &Hex32) -> Option<StaticFile> {
        let live = self.all().find_map(|live| live.artifact(digest));
        live.or_else(|| self.past.iter().find_map(|past| past.artifact(digest)))
    }

    /// The epoch of the table that a frame is for.
    ///
    /// # Errors
    /// The problem that names where to go.
    pub(crate) fn admit(&self, pin: &FrameHeader) -> Result<&Arc<TableEpoch>, Problem> {
        let newest = self.newest.pin().epoch;
        // Every epoch is served in one role, so a frame for another server is refused whatever its
        // epoch.
        let role = self.newest.pin().server;
        if pin.server != role {
            let error = FrameError::Server { got: pin.server, want: role };
            return Err(Problem::new(error.code(), error.to_string()));
        }
        let Some(live) = self.find(pin.epoch) else {
            let (code, when) = match pin.epoch > newest {
                true => (Code::EpochAhead, "not served yet"),
                false => (Code::StaleEpoch, "not served any more"),
            };
            return Err(Problem::new(code, format!("epoch {} is {when}", pin.epoch)).with_epoch(newest));
        };
        match live.pin().check(pin) {
            // Checked last, since it concerns this server, and the other checks the frame.
            Ok(()) => {
                live.check().map(|()| live).map_err(|code| Problem::new(code, "the table's image is lost"))
            }
            Err(error) => Err(Problem::new(error.code(), error.to_string()).with_epoch(newest)),
        }
    }

    /// Maximum length of a query request and of a registration over all live epochs.
    pub(crate) fn max_body(&self) -> (u64, u64) {
        self.all()
            .map(|live| (live.sizes().max_query_frame_bytes(), live.sizes().keys_frame_bytes()))
            .fold((0, 0), |(ask, keys), (a, k)| (ask.max(a), keys.max(k)))
    }

    /// Maximum length of a hint request over all live epochs.
    pub(crate) fn max_order(&self) -> u64 {
        let bytes =
            |live: &Arc<TableEpoch>| live.server().supplier().map_or(0, |supplier| supplier.order_bytes());
        hints::frame_bytes(self.all().map(bytes).max().unwrap_or(0) as u64)
    }

    /// Maximum length of a stream request over all live epochs.
    pub(crate) fn max_stream(&self) -> u64 {
        self.all().map(|live| live.sizes().stream_bytes()).max().unwrap_or(0)
    }
}

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
            let slot = ServedTable::new(source);
            let source_name = slot.source_name();
            opening.begin(source_name.clone(), number, count);
            let (looked, error) = slot.first_look(&mut patience, &|at| opening.read(at));
            match error {
                Some(error @ SourceError::Damaged(_)) => {
                    damaged.get_or_insert(StartError::Table { source_name, error });
                }
                Some(error) => return Err(StartError::Table { source_name, error }),
                None if slot.live_now().is_none() && !looked.reading => {
                    return Err(StartError::NoEpoch { source_name });
                }
                None => {}
            }
            if let Some(other) = tables.iter().find(|other| other.name() == slot.name()) {
                let (first, second) = (other.source_name(), slot.source_name());
                return Err(StartError::SameName { name: slot.name(), first, second });
            }
            tables.push(slot);
        }
        match damaged {
            Some(error) if tables.iter().all(|slot| slot.live_now().is_none() && !slot.is_reading()) => {
                Err(error)
            }
            _ => {
                tables.iter().for_each(|slot| slot.log_first_reload());
                Ok(ServedTables(tables))
            }
        }
    }

    /// The names of all tables, and the role of this server in those whose schemes have several.
    pub(crate) fn list(&self) -> TableList {
        let role = |slot: &Arc<ServedTable>| Some((slot.name(), slot.live_now()?.newest.role()?));
        let mut tables: Vec<_> =
            self.0.iter().filter(|slot| slot.is_named()).map(|slot| slot.name()).collect();
        tables.sort_unstable();
        TableList { tables, stacks: Vec::new(), roles: self.0.iter().filter_map(role).collect() }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<ServedTable>> {
        self.0.iter()
    }

    /// Whether the table of this name will not change by itself: none of its images is still being
    /// verified, and none was refused.
    pub(crate) fn is_settled(&self, name: &str) -> bool {
        self.get(name).is_ok_and(|slot| !slot.is_reading() && !slot.has_refused())
    }

    /// The table of this name.
    ///
    /// # Errors
    /// [`Code::NoSuchTable`].
    pub(crate) fn get(&self, name: &str) -> Result<&ServedTable, Problem> {
        let slot = self.0.iter().find(|slot| slot.is(name));
        slot.map(Arc::as_ref).ok_or_else(|| Problem::new(Code::NoSuchTable, "there is no table of that name"))
    }
}
