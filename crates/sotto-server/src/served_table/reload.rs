//! The checks of a served table for new epochs.

use super::ServedTable;
use crate::live_epochs::LiveEpochs;
use crate::locked;
use crate::{SourceError, TableEpoch};
use sotto_core::Epoch;
use sotto_db::Watcher;
use sotto_db::image::FileIdentity;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// State from one check for new epochs to the next.
#[derive(Default)]
pub(super) struct ReloadState {
    /// Refusals that were logged: a faulty file is logged once, and not with every check.
    logged: Vec<String>,
    /// Refusals of the first check, which are not logged yet.
    unlogged: Vec<String>,
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

/// Result of opening an epoch.
enum OpenOutcome {
    Open(Arc<TableEpoch>),
    Refused(SourceError),
    /// Verifying the epoch takes longer than the check may.
    Deferred,
}

impl ServedTable {
    /// Checks for newer epochs, and for others in place of lost ones, and makes them live. Verifies
    /// at most `read_budget` bytes of images, and subtracts what it reads; if that is too little,
    /// [`ServedTable::finish_reading`] has to come next. Blocks on files, so threads that serve
    /// must not call it.
    pub(crate) fn reload(&self, read_budget: &mut u64) -> ReloadOutcome {
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
        let (outcome, errors) = self.reload_now(&mut memory, read_budget, &sotto_db::progress::silent);
        self.log(&mut memory, texts(&errors));
        self.settle(&outcome, &errors);
        outcome
    }

    /// Makes the first check. If no epoch can be opened, returns the error of the newest one: the
    /// caller decides whether to serve without this table.
    pub(crate) fn first_reload(
        &self,
        read_budget: &mut u64,
        watch: Watcher<'_>,
    ) -> (ReloadOutcome, Option<SourceError>) {
        let mut memory = locked(&self.memory);
        let (outcome, mut errors) = self.reload_now(&mut memory, read_budget, watch);
        memory.unlogged = texts(&errors);
        self.settle(&outcome, &errors);
        // An error other than damage is a mistake of the operator, and is reported first.
        let mistake = errors.iter().position(|error| !matches!(error, SourceError::Damaged(_)));
        let first = (!errors.is_empty()).then(|| errors.swap_remove(mistake.unwrap_or(0)));
        let nothing = self.live_now().is_none() && !outcome.reading;
        (outcome, first.filter(|_| nothing))
    }

    /// Logs the refusals of the first check, once it is known that the server starts: errors that
    /// prevent a start are reported in another way.
    pub(crate) fn log_first_reload(&self) {
        let mut memory = locked(&self.memory);
        let unlogged = std::mem::take(&mut memory.unlogged);
        self.log(&mut memory, unlogged);
    }

    fn settle(&self, outcome: &ReloadOutcome, errors: &[SourceError]) {
        *locked(&self.refused) = errors.first().map(SourceError::to_string);
        self.reading.set(outcome.begun);
    }

    /// Verifies what the last check had no time for. To be called once after a check that demands
    /// it.
    pub(crate) fn finish_reading(&self) -> ReloadOutcome {
        let mut memory = locked(&self.memory);
        let (outcome, errors) = self.reload_now(&mut memory, &mut { u64::MAX }, &sotto_db::progress::silent);
        self.log(&mut memory, texts(&errors));
        self.settle(&ReloadOutcome::default(), &errors);
        outcome
    }

    /// Leaves the verification to the next check.
    pub(crate) fn put_off(&self) {
        self.reading.set(false);
    }

    fn reload_now(
        &self,
        memory: &mut ReloadState,
        read_budget: &mut u64,
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
        let reused = |epoch| whole.iter().find(|table| table.pin().epoch == epoch).cloned();
        let mut next = |memory: &mut ReloadState, errors: &mut Vec<_>, read_budget: &mut u64| {
            for epoch in older.by_ref() {
                match reused(epoch)
                    .map_or_else(|| self.try_open(epoch, memory, read_budget, watch), OpenOutcome::Open)
                {
                    OpenOutcome::Refused(error) => errors.push(error),
                    opened => return Some(opened),
                }
            }
            None
        };

        let mut outcome = ReloadOutcome::default();
        let newest = match next(memory, &mut errors, read_budget) {
            Some(OpenOutcome::Open(newest)) => Some(newest),
            later => {
                outcome.begun = later.is_some();
                None
            }
        };
        outcome.refused = errors.first().map(SourceError::to_string);
        if let Some(newest) = newest {
            // A client that uses a live epoch continues with it, before any epoch in between.
            let before = whole.iter().filter(|table| table.pin().epoch < newest.pin().epoch);
            let mut previous = before.max_by_key(|table| table.pin().epoch).cloned();
            if previous.is_none() && (live.is_none() || !lost.is_empty() || memory.owes_previous) {
                match next(memory, &mut errors, read_budget) {
                    Some(OpenOutcome::Open(table)) => previous = Some(table),
                    later => outcome.begun = later.is_some(),
                }
                memory.owes_previous = outcome.begun;
            }
            // An epoch that was dropped since the last check may have released the memory that was
            // missing.
            errors.extend(newest.decide_placement().err());
            outcome.changed = self.go_live(live.as_deref(), newest, previous);
        }
        outcome.reading = outcome.begun;
        (outcome, errors)
    }

    /// Opens an epoch and verifies it.
    fn try_open(
        &self,
        epoch: Epoch,
        memory: &mut ReloadState,
        read_budget: &mut u64,
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
        if bytes > *read_budget {
            self.reading.begin(table);
            return OpenOutcome::Deferred;
        }
        *read_budget -= bytes;
        match self.read_through(&table, watch) {
            Ok(true) => {
                self.make_room();
                match table.decide_placement() {
                    Ok(()) => OpenOutcome::Open(table),
                    Err(error) => OpenOutcome::Refused(error),
                }
            }
            // The server is shutting down.
            Ok(false) => OpenOutcome::Deferred,
            Err(error) => {
                memory.bad.extend(seals.map(|seals| (epoch, seals, error.to_string())));
                OpenOutcome::Refused(error)
            }
        }
    }

    /// Takes the accelerator's memory from all live epochs but the newest, so that it has copies of no
    /// more than two epochs.
    fn make_room(&self) {
        if let Some(live) = self.live_now() {
            let stays = |table: &Arc<TableEpoch>| Arc::ptr_eq(table, live.newest()) && table.check().is_ok();
            live.all().filter(|table| !stays(table)).for_each(|table| table.release_accelerator());
        }
    }

    /// Opens an epoch, and refuses one that claims to be another, or of another table.
    fn open(&self, epoch: Epoch) -> Result<Arc<TableEpoch>, SourceError> {
        let table = self.source.open(epoch)?;
        let catalog = table.catalog();
        if catalog.epoch != epoch {
            let why = format!("the file holds epoch {}, expected epoch {epoch}", catalog.epoch);
            return Err(SourceError::Inconsistent(why));
        }
        let name = self.name.get_or_init(|| catalog.table.clone());
        if *name != catalog.table {
            let why = format!("the file holds table {}, expected {name}", catalog.table);
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
            None => "no epoch is served".to_owned(),
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
