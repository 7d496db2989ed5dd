//! A served table: where its epochs come from, and how they go live.
//!
//! An image is verified against its digests before any answer is computed from it. What a check of
//! the files has no time for is read by a thread of its own (`ServedTable::finish_reading`), and
//! the table answers "not ready", or from the epochs it has, until that is done. An epoch that
//! cannot be opened is refused and logged, and the old ones stay.

mod reading;

use crate::live_epochs::LiveEpochs;
use crate::refusal::Refusal;
use crate::{EpochSource, SourceError, TableEpoch};
use arc_swap::ArcSwapOption;
use reading::ImageCheck;
use sotto_catalog::TableName;
use sotto_core::Epoch;
use sotto_db::Watcher;
use sotto_db::image::FileIdentity;
use sotto_wire::Code;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Seconds after which a client may try a refused table again: about the time in which an operator
/// may repair it.
const REFUSED_AGAIN: u64 = 30;

/// A table: its name, the source of its epochs, and the live ones.
pub(crate) struct ServedTable {
    source: Box<dyn EpochSource>,
    /// Name of the table, set once an epoch has opened.
    name: OnceLock<TableName>,
    live: ArcSwapOption<LiveEpochs>,
    /// Locked during a check for new epochs.
    memory: Mutex<ReloadState>,
    /// Reason why the last check refused something, if it did.
    refused: Mutex<Option<String>>,
    reading: ImageCheck,
    stopped: AtomicBool,
}

/// State from one check for new epochs to the next.
#[derive(Default)]
struct ReloadState {
    /// Refusals that were logged: a faulty file is logged once, and not with every check.
    logged: Vec<String>,
    /// Refusals of the first check, which are not logged yet.
    untold: Vec<String>,
    /// Epochs that failed verification, with the identity of their files and the reason: they are
    /// not read again until the files change.
    bad: Vec<(Epoch, Vec<FileIdentity>, String)>,
    /// Whether the epoch before the newest is still to be read.
    owes_previous: bool,
}

/// Result of a check for new epochs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ReloadOutcome {
    /// Whether the live epochs have changed.
    pub(crate) changed: bool,
    /// Why an epoch was refused, if one was.
    pub(crate) refused: Option<String>,
    /// Whether an image is being verified in the background.
    pub(crate) reading: bool,
    /// Whether this check found that an image has to be: [`ServedTable::finish_reading`] comes
    /// next.
    pub(crate) begun: bool,
}

/// The status of a table.
#[derive(Debug, Clone)]
pub enum TableStatus {
    /// The table answers for its newest epoch.
    Live(Arc<TableEpoch>),
    /// The table's image is being verified before any answer is computed from it; the number is the
    /// percentage done.
    Reading(Arc<TableEpoch>, u64),
    /// Nothing of the table is served, for this reason.
    Refused(String),
}

/// Result of opening an epoch.
enum OpenOutcome {
    Open(Arc<TableEpoch>),
    Refused(SourceError),
    /// Verifying the epoch takes longer than the check may.
    Deferred,
}

impl ServedTable {
    pub(crate) fn new(source: Box<dyn EpochSource>) -> Arc<Self> {
        Arc::new(ServedTable {
            source,
            name: OnceLock::new(),
            live: ArcSwapOption::empty(),
            memory: Mutex::default(),
            refused: Mutex::default(),
            reading: ImageCheck::default(),
            stopped: AtomicBool::new(false),
        })
    }

    /// The table's name; the name of its folder or file as long as none of its epochs could be
    /// opened.
    pub(crate) fn name(&self) -> String {
        self.name.get().map_or_else(|| self.source.name(), TableName::to_string)
    }

    /// Whether this is the table of this name.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.get().is_some_and(|own| own.as_str() == name)
    }

    /// Whether the name of the table is known.
    pub(crate) fn is_named(&self) -> bool {
        self.name.get().is_some()
    }

    pub(crate) fn source_name(&self) -> String {
        self.source.name()
    }

    pub(crate) fn live_now(&self) -> Option<Arc<LiveEpochs>> {
        self.live.load_full()
    }

    /// The live epochs.
    ///
    /// # Errors
    /// [`Code::NotReady`], with the time that verifying an image still takes.
    pub(crate) fn live(&self) -> Result<Arc<LiveEpochs>, Refusal> {
        self.live_now().ok_or_else(|| match self.reading.left() {
            Some(seconds) => {
                Refusal::new(Code::NotReady, "the table's image is read through before it is served")
                    .after(seconds)
            }
            None => Refusal::new(
                Code::NotReady,
                "the table's image is damaged, and its operator has to put a good one there",
            )
            .after(REFUSED_AGAIN),
        })
    }

    /// The status of the table, for the operator.
    pub(crate) fn standing(&self) -> TableStatus {
        let refused =
            || locked(&self.refused).clone().unwrap_or_else(|| "there is no epoch of it".to_owned());
        match (self.live_now(), self.reading.at()) {
            (Some(live), _) if live.newest().check().is_ok() => TableStatus::Live(live.newest().clone()),
            (_, Some((table, percent))) => TableStatus::Reading(table, percent),
            (Some(_), None) => TableStatus::Refused(
                locked(&self.refused)
                    .clone()
                    .unwrap_or_else(|| "its image was written to or cut short".to_owned()),
            ),
            (None, None) => TableStatus::Refused(refused()),
        }
    }

    /// Approximate seconds until an image is verified; at least 1.
    pub(crate) fn seconds_left(&self) -> u64 {
        self.reading.left().unwrap_or(1)
    }

    /// Whether the last check refused something.
    pub(crate) fn has_refused(&self) -> bool {
        locked(&self.refused).is_some()
    }

    /// Stops reading images.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// Checks for newer epochs, and for others in place of lost ones, and makes them live. Verifies
    /// at most `patience` bytes of images, and subtracts what it reads; if that is too little,
    /// [`ServedTable::finish_reading`] has to come next. Blocks on files, so threads that serve
    /// must not call it.
    pub(crate) fn reload(&self, patience: &mut u64) -> ReloadOutcome {
        let reading = ReloadOutcome { reading: true, ..ReloadOutcome::default() };
        // Checked twice: the background thread holds the lock while it reads, and nobody waits for
        // it.
        if self.is_reading() {
            return reading;
        }
        let mut memory = locked(&self.memory);
        if self.is_reading() {
            return reading;
        }
        let (looked, errors) = self.look_now(&mut memory, patience, &sotto_db::progress::silent);
        self.log(&mut memory, texts(&errors));
        self.settle(&looked, &errors);
        looked
    }

    /// Makes the first check. If no epoch can be opened, returns the error of the newest one: the
    /// caller decides whether to serve without this table.
    pub(crate) fn first_look(
        &self,
        patience: &mut u64,
        watch: Watcher<'_>,
    ) -> (ReloadOutcome, Option<SourceError>) {
        let mut memory = locked(&self.memory);
        let (looked, mut errors) = self.look_now(&mut memory, patience, watch);
        memory.untold = texts(&errors);
        self.settle(&looked, &errors);
        // An error other than damage is a mistake of the operator, and is reported first.
        let mistake = errors.iter().position(|error| !matches!(error, SourceError::Damaged(_)));
        let first = (!errors.is_empty()).then(|| errors.swap_remove(mistake.unwrap_or(0)));
        let nothing = self.live_now().is_none() && !looked.reading;
        (looked, first.filter(|_| nothing))
    }

    /// Logs the refusals of the first check, once it is known that the server starts: errors that
    /// prevent a start are reported in another way.
    pub(crate) fn log_first_reload(&self) {
        let mut memory = locked(&self.memory);
        let untold = std::mem::take(&mut memory.untold);
        self.log(&mut memory, untold);
    }

    fn settle(&self, looked: &ReloadOutcome, errors: &[SourceError]) {
        *locked(&self.refused) = errors.first().map(SourceError::to_string);
        self.reading.set(looked.begun);
    }

    /// Verifies what the last check had no time for. To be called once after a check that demands
    /// it.
    pub(crate) fn finish_reading(&self) -> ReloadOutcome {
        let mut memory = locked(&self.memory);
        let (looked, errors) = self.look_now(&mut memory, &mut { u64::MAX }, &sotto_db::progress::silent);
        self.log(&mut memory, texts(&errors));
        self.settle(&ReloadOutcome::default(), &errors);
        looked
    }

    /// Leaves the verification to the next check.
    pub(crate) fn put_off(&self) {
        self.reading.set(false);
    }

    /// Whether an image waits to be verified, or is being verified.
    pub(crate) fn is_reading(&self) -> bool {
        self.reading.is_on()
    }

    fn look_now(
        &self,
        memory: &mut ReloadState,
        patience: &mut u64,
        watch: Watcher<'_>,
    ) -> (ReloadOutcome, Vec<SourceError>) {
        let live = self.live_now();
        let served: Vec<_> = live.iter().flat_map(|live| live.all()).cloned().collect();
        // A file that was written to is no image any more, even if the result is a whole one: its
        // name has to be opened again.
        let (whole, lost): (Vec<_>, Vec<_>) = served.into_iter().partition(|table| table.check().is_ok());
        let mut errors = Vec::new();
        let mut epochs = self.source.epochs().unwrap_or_else(|error| {
            errors.push(error);
            Vec::new()
        });
        memory.bad.retain(|(epoch, ..)| epochs.contains(epoch));
        epochs.extend(whole.iter().map(|table| table.pin().epoch));
        epochs.sort_unstable();
        epochs.dedup();
        let mut older = epochs.into_iter().rev();
        let kept = |epoch| whole.iter().find(|table| table.pin().epoch == epoch).cloned();
        let mut next = |memory: &mut ReloadState, errors: &mut Vec<_>, patience: &mut u64| {
            for epoch in older.by_ref() {
                match kept(epoch)
                    .map_or_else(|| self.try_open(epoch, memory, patience, watch), OpenOutcome::Open)
                {
                    OpenOutcome::Refused(error) => errors.push(error),
                    tried => return Some(tried),
                }
            }
            None
        };

        let mut looked = ReloadOutcome::default();
        let newest = match next(memory, &mut errors, patience) {
            Some(OpenOutcome::Open(newest)) => Some(newest),
            later => {
                looked.begun = later.is_some();
                None
            }
        };
        looked.refused = errors.first().map(SourceError::to_string);
        if let Some(newest) = newest {
            // A client that uses a live epoch continues with it, before any epoch in between.
            let before = whole.iter().filter(|table| table.pin().epoch < newest.pin().epoch);
            let mut previous = before.max_by_key(|table| table.pin().epoch).cloned();
            if previous.is_none() && (live.is_none() || !lost.is_empty() || memory.owes_previous) {
                match next(memory, &mut errors, patience) {
                    Some(OpenOutcome::Open(table)) => previous = Some(table),
                    later => looked.begun = later.is_some(),
                }
                memory.owes_previous = looked.begun;
            }
            // An epoch that was dropped since the last check may have released the memory that was
            // missing.
            errors.extend(newest.decide_placement().err());
            looked.changed = self.go_live(live.as_deref(), newest, previous);
        }
        looked.reading = looked.begun;
        (looked, errors)
    }

    /// Opens an epoch and verifies it.
    fn try_open(
        &self,
        epoch: Epoch,
        memory: &mut ReloadState,
        patience: &mut u64,
        watch: Watcher<'_>,
    ) -> OpenOutcome {
        let table = match self.open(epoch) {
            Ok(table) => table,
            Err(error) => return OpenOutcome::Refused(error),
        };
        let seals = table.seals();
        let bad = memory.bad.iter().find(|(bad, was, _)| *bad == epoch && Some(was) == seals.as_ref());
        if let Some((.., why)) = bad {
            return OpenOutcome::Refused(SourceError::Damaged(why.clone()));
        }
        let bytes = table.unread_bytes();
        if bytes > *patience {
            self.reading.begin(table);
            return OpenOutcome::Deferred;
        }
        *patience -= bytes;
        match self.read_through(&table, watch) {
            Ok(true) => match table.decide_placement() {
                Ok(()) => OpenOutcome::Open(table),
                Err(error) => OpenOutcome::Refused(error),
            },
            // The server is shutting down.
            Ok(false) => OpenOutcome::Deferred,
            Err(error) => {
                memory.bad.extend(seals.map(|seals| (epoch, seals, error.to_string())));
                OpenOutcome::Refused(error)
            }
        }
    }

    /// Opens an epoch, and refuses one that claims to be another, or of another table.
    fn open(&self, epoch: Epoch) -> Result<Arc<TableEpoch>, SourceError> {
        let table = self.source.open(epoch)?;
        let catalog = table.catalog();
        if catalog.epoch != epoch {
            let why = format!("it holds epoch {}, and stands where epoch {epoch} should", catalog.epoch);
            return Err(SourceError::Inconsistent(why));
        }
        let name = self.name.get_or_init(|| catalog.table.clone());
        if *name != catalog.table {
            let why = format!("it holds table {}, among epochs of {name}", catalog.table);
            return Err(SourceError::Inconsistent(why));
        }
        Ok(Arc::new(table))
    }

    fn read_through(&self, table: &Arc<TableEpoch>, watch: Watcher<'_>) -> Result<bool, SourceError> {
        match self.is_reading() {
            false => table.read_through(watch, &|| true),
            true => self.reading.read(table, &|| !self.stopped.load(Relaxed)),
        }
    }

    /// Swaps the live epochs. Returns `false` if they are the same as before.
    fn go_live(
        &self,
        live: Option<&LiveEpochs>,
        newest: Arc<TableEpoch>,
        previous: Option<Arc<TableEpoch>>,
    ) -> bool {
        let same = live.is_some_and(|live| {
            let before = (live.previous().map(Arc::as_ptr), previous.as_ref().map(Arc::as_ptr));
            Arc::ptr_eq(live.newest(), &newest) && before.0 == before.1
        });
        if !same {
            tracing::info!(table = self.name(), ?newest, ?previous, "live");
            newest.warn_of_its_end();
            let past = self.source.past(newest.pin().epoch);
            let next = Arc::new(LiveEpochs::new(newest, previous, past));
            let goes = |table: &&Arc<TableEpoch>| !next.all().any(|stays| Arc::ptr_eq(stays, table));
            let gone: Vec<_> = live.iter().flat_map(|live| live.all()).filter(goes).collect();
            self.live.store(Some(next.clone()));
            gone.iter().for_each(|table| table.retire());
        }
        !same
    }

    fn log(&self, memory: &mut ReloadState, texts: Vec<String>) {
        let served = match self.live_now() {
            Some(live) => format!("epoch {} is served", live.newest().pin().epoch),
            None => "nothing of the table is served".to_owned(),
        };
        for error in texts.iter().filter(|text| !memory.logged.contains(text)) {
            tracing::error!(table = self.name(), error, "an epoch is refused; {served}");
        }
        memory.logged = texts;
    }
}

fn texts(errors: &[SourceError]) -> Vec<String> {
    errors.iter().map(SourceError::to_string).collect()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
