//! A served table: where its epochs come from, and how they go live.
//!
//! An image is verified against its digests before any answer is computed from it. What a check of
//! the files has no time for is read by a thread of its own (`ServedTable::finish_reading`), and
//! the table answers "not ready", or from the epochs it has, until that is done. An epoch that
//! cannot be opened is refused and logged, and the old ones stay.

mod reading;
mod reload;

pub(crate) use reload::ReloadOutcome;

use crate::http_error::HttpError;
use crate::live_epochs::LiveEpochs;
use crate::{EpochSource, TableEpoch};
use arc_swap::ArcSwapOption;
use reading::ImageCheck;
use reload::ReloadState;
use sotto_catalog::TableName;
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
    pub(crate) fn live(&self) -> Result<Arc<LiveEpochs>, HttpError> {
        self.live_now().ok_or_else(|| match self.reading.left() {
            Some(seconds) => {
                HttpError::new(Code::NotReady, "the table's image is being verified before it is served")
                    .after(seconds)
            }
            None => {
                HttpError::new(Code::NotReady, "the table's image is damaged until the operator replaces it")
                    .after(REFUSED_AGAIN)
            }
        })
    }

    /// The status of the table, for the operator.
    pub(crate) fn status(&self) -> TableStatus {
        let refused = || locked(&self.refused).clone().unwrap_or_else(|| "no epoch of the table".to_owned());
        match (self.live_now(), self.reading.at()) {
            (Some(live), _) if live.newest().check().is_ok() => TableStatus::Live(live.newest().clone()),
            (_, Some((table, percent))) => TableStatus::Reading(table, percent),
            (Some(_), None) => TableStatus::Refused(
                locked(&self.refused)
                    .clone()
                    .unwrap_or_else(|| "the image was written to or truncated".to_owned()),
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

    /// Whether an image waits to be verified, or is being verified.
    pub(crate) fn is_reading(&self) -> bool {
        self.reading.is_on()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
