//! Two live epochs per table, swapped atomically.
//!
//! A reader takes an `Arc` and keeps it: an epoch that is dropped here lives on until the last ask about
//! it is answered. A new epoch that cannot be opened is refused and logged, and the old ones stay.

use crate::{LiveTable, Past, Source, SourceError, StartError};
use arc_swap::ArcSwap;
use sotto_catalog::{Hex32, TableName};
use sotto_core::{Epoch, Image, Section};
use sotto_wire::routes::TableList;
use sotto_wire::{Code, FrameError, Pin, Problem, order};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The live epochs of a table: the newest, and the one before for clients that are not there yet.
pub(crate) struct Live {
    newest: Arc<LiveTable>,
    previous: Option<Arc<LiveTable>>,
    /// Those before the newest that clients with state of their own come along, the previous one among them.
    past: Vec<Arc<Past>>,
}

impl Live {
    pub(crate) fn newest(&self) -> &Arc<LiveTable> {
        &self.newest
    }

    pub(crate) fn previous(&self) -> Option<&Arc<LiveTable>> {
        self.previous.as_ref()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<LiveTable>> {
        std::iter::once(&self.newest).chain(&self.previous)
    }

    pub(crate) fn find(&self, epoch: Epoch) -> Option<&Arc<LiveTable>> {
        self.all().find(|live| live.pin().epoch == epoch)
    }

    /// An epoch that a way leads over.
    pub(crate) fn find_past(&self, epoch: Epoch) -> Option<&Arc<Past>> {
        self.past.iter().find(|past| past.epoch() == epoch)
    }

    /// Where the artifact with this digest lies.
    pub(crate) fn artifact(&self, digest: &Hex32) -> Option<(Arc<dyn Image>, Section)> {
        let live = self.all().find_map(|live| live.artifact(digest));
        live.or_else(|| self.past.iter().find_map(|past| past.artifact(digest)))
    }

    /// The table a frame is about.
    ///
    /// # Errors
    /// The problem that says where to go.
    pub(crate) fn admit(&self, pin: &Pin) -> Result<&Arc<LiveTable>, Problem> {
        let newest = self.newest.pin().epoch;
        // Every epoch is served in one role, so a frame for another server is refused whatever its epoch.
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
        match live.pin().admit(pin) {
            Ok(()) => Ok(live),
            Err(error) => Err(Problem::new(error.code(), error.to_string()).with_epoch(newest)),
        }
    }

    /// The longest ask or registration any live epoch takes.
    pub(crate) fn max_body(&self) -> (u64, u64) {
        self.all()
            .map(|live| (live.sizes().max_ask_bytes(), live.sizes().keys_frame_bytes()))
            .fold((0, 0), |(ask, keys), (a, k)| (ask.max(a), keys.max(k)))
    }

    /// The longest order of hints any live epoch takes.
    pub(crate) fn max_order(&self) -> u64 {
        let bytes =
            |live: &Arc<LiveTable>| live.server().supplier().map_or(0, |supplier| supplier.order_bytes());
        order::frame_bytes(self.all().map(bytes).max().unwrap_or(0) as u64)
    }

    /// The longest request for units any live epoch takes.
    pub(crate) fn max_stream(&self) -> u64 {
        self.all().map(|live| live.sizes().stream_bytes()).max().unwrap_or(0)
    }
}

/// A table: its name, where its epochs come from, and those that are live.
pub(crate) struct Slot {
    name: TableName,
    source: Box<dyn Source>,
    live: ArcSwap<Live>,
    /// Held while reloading, with the last failure so that a bad file is logged once and not every poll.
    reloading: Mutex<Option<String>>,
}

/// What a reload found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reloaded {
    /// Whether the live epochs changed.
    pub(crate) changed: bool,
    /// Why a new epoch was refused.
    pub(crate) refused: Option<String>,
}

impl Slot {
    /// Opens the two newest epochs of a source that do open.
    ///
    /// A newest epoch that is damaged does not keep a server from starting, as it would not have stopped
    /// one that was running; it is logged, here and by the first reload.
    fn open(source: Box<dyn Source>) -> Result<Self, StartError> {
        let source_name = source.name();
        let failed = |error| StartError::Table { source_name: source_name.clone(), error };
        let mut epochs = source.epochs().map_err(failed)?;
        epochs.sort_unstable();
        let mut first_error = None;
        let mut newest: Option<Arc<LiveTable>> = None;
        while let Some(epoch) = epochs.pop() {
            let name = newest.as_ref().map(|newest| &newest.catalog().table);
            match (open_as(source.as_ref(), epoch, name), newest.take()) {
                (Ok(live), None) => newest = Some(live),
                (Ok(live), Some(newest)) => return Ok(Slot::new(source, newest, Some(live))),
                (Err(error), was) => {
                    tracing::error!(source = source_name, %epoch, %error, "an epoch is refused");
                    first_error.get_or_insert(error);
                    newest = was;
                }
            }
        }
        match (newest, first_error) {
            (Some(newest), _) => Ok(Slot::new(source, newest, None)),
            (None, Some(error)) => Err(failed(error)),
            (None, None) => Err(StartError::NoEpoch { source_name }),
        }
    }

    fn new(source: Box<dyn Source>, newest: Arc<LiveTable>, previous: Option<Arc<LiveTable>>) -> Self {
        let name = newest.catalog().table.clone();
        let past = source.past(newest.pin().epoch);
        let live = ArcSwap::from_pointee(Live { newest, previous, past });
        Slot { name, source, live, reloading: Mutex::new(None) }
    }

    pub(crate) fn name(&self) -> &TableName {
        &self.name
    }

    pub(crate) fn live(&self) -> Arc<Live> {
        self.live.load_full()
    }

    /// Looks for a newer epoch and makes it live. Blocks on files; not for a thread that serves.
    pub(crate) fn reload(&self) -> Reloaded {
        let mut last_refusal = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let (newest, refused) = self.open_newer();
        let refused = refused.map(|error| error.to_string());
        if let Some(refused) = refused.as_ref().filter(|refused| last_refusal.as_ref() != Some(refused)) {
            tracing::error!(table = %self.name, error = refused, "an epoch is refused; the old ones stay");
        }
        *last_refusal = refused.clone();
        let changed = newest.is_some();
        if let Some(newest) = newest {
            tracing::info!(table = %self.name, epoch = %newest.pin().epoch, "a new epoch is live");
            let previous = Some(self.live().newest.clone());
            let past = self.source.past(newest.pin().epoch);
            self.live.store(Arc::new(Live { newest, previous, past }));
        }
        Reloaded { changed, refused }
    }

    /// The newest epoch that opens and is not live yet, and why a newer one does not open.
    fn open_newer(&self) -> (Option<Arc<LiveTable>>, Option<SourceError>) {
        let now = self.live().newest.pin().epoch;
        let mut epochs = match self.source.epochs() {
            Ok(epochs) => epochs,
            Err(error) => return (None, Some(error)),
        };
        epochs.retain(|epoch| *epoch > now);
        epochs.sort_unstable();
        let mut refused = None;
        while let Some(epoch) = epochs.pop() {
            match open_as(self.source.as_ref(), epoch, Some(&self.name)) {
                Ok(live) => return (Some(live), refused),
                Err(error) => drop(refused.get_or_insert(error)),
            }
        }
        (None, refused)
    }
}

/// Opens an epoch and refuses one that says it is another, or of another table than `name`.
fn open_as(
    source: &dyn Source,
    epoch: Epoch,
    name: Option<&TableName>,
) -> Result<Arc<LiveTable>, SourceError> {
    let live = source.open(epoch)?;
    let catalog = live.catalog();
    if catalog.epoch != epoch {
        let why = format!("it holds epoch {}, and stands where epoch {epoch} should", catalog.epoch);
        return Err(SourceError::Inconsistent(why));
    }
    if let Some(name) = name.filter(|name| **name != catalog.table) {
        let why = format!("it holds table {}, among epochs of {name}", catalog.table);
        return Err(SourceError::Inconsistent(why));
    }
    Ok(Arc::new(live))
}

/// Every table of a server.
pub(crate) struct Tables(BTreeMap<String, Slot>);

impl Tables {
    /// Opens every source.
    ///
    /// # Errors
    /// [`StartError`] for the first that does not open, or two tables of one name.
    pub(crate) fn open(sources: Vec<Box<dyn Source>>) -> Result<Self, StartError> {
        let mut tables = BTreeMap::<String, Slot>::new();
        for source in sources {
            let slot = Slot::open(source)?;
            if let Some(other) = tables.get(slot.name.as_str()) {
                return Err(StartError::SameName {
                    name: slot.name.to_string(),
                    first: other.source.name(),
                    second: slot.source.name(),
                });
            }
            let live = slot.live();
            tracing::info!(table = %slot.name, newest = ?live.newest, previous = ?live.previous, "open");
            tables.insert(slot.name.to_string(), slot);
        }
        Ok(Tables(tables))
    }

    /// The names of all, and which server this is of those whose schemes ask several.
    pub(crate) fn list(&self) -> TableList {
        let role = |(name, slot): (&String, &Slot)| Some((name.clone(), slot.live().newest.role()?));
        TableList {
            tables: self.0.keys().cloned().collect(),
            stacks: Vec::new(),
            roles: self.0.iter().filter_map(role).collect(),
        }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Slot> {
        self.0.values()
    }

    /// The table of this name.
    ///
    /// # Errors
    /// [`Code::NoSuchTable`].
    pub(crate) fn get(&self, name: &str) -> Result<&Slot, Problem> {
        self.0.get(name).ok_or_else(|| Problem::new(Code::NoSuchTable, "there is no table of that name"))
    }
}
