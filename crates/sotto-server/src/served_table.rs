//! A served table: where its epochs come from, and how they go live.
//!
//! An image is verified against its digests before any answer is computed from it. What a check of
//! the files has no time for is read by a thread of its own (`ServedTable::finish_reading`), and
//! the table answers "not ready", or from the epochs it has, until that is done. An epoch that
//! cannot be opened is refused and logged, and the old ones stay.

mod reload;

use crate::http_error::HttpError;
use crate::live_epochs::LiveEpochs;
use crate::locked;
use crate::{EpochSource, SourceError, TableEpoch};
use arc_swap::ArcSwapOption;
pub(crate) use reload::ReloadOutcome;
use reload::ReloadState;
use sotto_catalog::TableName;
use sotto_wire::ProblemCode;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

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
    /// [`ProblemCode::NotReady`], with the time that verifying an image still takes.
    pub(crate) fn live(&self) -> Result<Arc<LiveEpochs>, HttpError> {
        self.live_now().ok_or_else(|| match self.reading.left() {
            Some(seconds) => HttpError::new(
                ProblemCode::NotReady,
                "the table's image is being verified before it is served",
            )
            .after(seconds),
            None => HttpError::new(
                ProblemCode::NotReady,
                "the table's image is damaged until the operator replaces it",
            )
            .after(REFUSED_AGAIN),
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

/// Interval between two log lines about the progress.
const REPORT_EVERY: Duration = Duration::from_secs(5);

/// The image of a table that waits to be verified, or is being verified.
#[derive(Default)]
struct ImageCheck {
    on: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
    /// Start of the verification, and the epoch.
    current: Mutex<Option<(Instant, Arc<TableEpoch>)>>,
}

impl ImageCheck {
    pub(super) fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    pub(super) fn set(&self, on: bool) {
        self.on.store(on, Relaxed);
        if !on {
            locked(&self.current).take();
        }
    }

    /// Records the epoch that is verified now or next; returns its bytes.
    pub(super) fn begin(&self, table: Arc<TableEpoch>) -> u64 {
        let bytes = table.unread_bytes();
        self.done.store(0, Relaxed);
        self.total.store(bytes, Relaxed);
        *locked(&self.current) = Some((Instant::now(), table));
        bytes
    }

    /// Verifies an image, and logs that, for as long as `go_on` returns `true`.
    pub(super) fn read(&self, live: &Arc<TableEpoch>, go_on: &dyn Fn() -> bool) -> Result<bool, SourceError> {
        let bytes = self.begin(live.clone());
        let (table, epoch) = (&live.catalog().table, live.pin().epoch);
        tracing::info!(%table, %epoch, bytes, "an image is being verified before it is served");
        let (began, reported) = (Instant::now(), AtomicU64::new(0));
        let watch = |at: sotto_db::Progress| {
            self.done.store(at.done, Relaxed);
            let turn = began.elapsed().as_secs() / REPORT_EVERY.as_secs();
            if reported.swap(turn, Relaxed) < turn {
                let percent = at.done.saturating_mul(100) / at.total.max(1);
                tracing::info!(%table, %epoch, percent, "an image is being verified before it is served");
            }
        };
        live.read_through(&watch, go_on)
    }

    /// The epoch that is being verified, and the percentage done.
    pub(super) fn at(&self) -> Option<(Arc<TableEpoch>, u64)> {
        let current = locked(&self.current);
        let (_, table) = current.as_ref().filter(|_| self.is_on())?;
        let percent = self.done.load(Relaxed).saturating_mul(100) / self.total.load(Relaxed).max(1);
        Some((table.clone(), percent))
    }

    /// Approximate seconds until it is verified.
    pub(super) fn left(&self) -> Option<u64> {
        let current = locked(&self.current);
        let (began, _) = current.as_ref().filter(|_| self.is_on())?;
        let (done, total) = (self.done.load(Relaxed), self.total.load(Relaxed));
        let seconds = began.elapsed().as_secs().saturating_mul(total.saturating_sub(done)) / done.max(1);
        Some(seconds.clamp(1, 600))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ServerConfig, TableConfig, epoch_source};
    use sotto_db::table::RawFile;
    use sotto_db::{EncodeOptions, TableDir, encode_table, progress::silent};
    use sotto_testkit::rng::seeded;
    use std::fs::{self, File};
    use std::path::Path;

    fn encode(dir: &Path) {
        let raw = dir.join("rows.raw");
        fs::write(&raw, [7; 1600]).unwrap();
        let table = RawFile::new(File::open(&raw).unwrap(), &raw, 100, 16).unwrap();
        let dir = TableDir::open(dir).unwrap();
        let key = dir.signing_key(None, &mut seeded("publisher")).unwrap();
        let options = EncodeOptions {
            lookups_per_client: 1000,
            threads: Some(1),
            ..EncodeOptions::new("t".parse().unwrap(), &key)
        };
        let scheme = sotto_registry::find("dpf/1").unwrap();
        encode_table(scheme, &table, &dir.lock().unwrap(), &options, &silent).unwrap();
    }

    fn slot(dir: &Path) -> Arc<ServedTable> {
        let config = ServerConfig { tables: vec![TableConfig::dir(dir)], ..ServerConfig::default() };
        ServedTable::new(
            epoch_source::sources(&config, &epoch_source::copy_budget(&config), None).unwrap().pop().unwrap(),
        )
    }

    fn newest(slot: &ServedTable) -> Option<u64> {
        slot.live_now().map(|live| live.newest().pin().epoch.0)
    }

    #[test]
    fn what_takes_long_is_read_in_the_background() {
        let dir = tempfile::tempdir().unwrap();
        encode(dir.path());
        let slot = slot(dir.path());
        let (looked, error) = slot.first_reload(&mut 100, &sotto_db::progress::silent);
        assert!(looked.begun && error.is_none() && slot.is_reading() && newest(&slot).is_none());
        let refused = slot.live().err().unwrap();
        assert!(
            refused.summary().0 == ProblemCode::NotReady && refused.summary().1.contains("being verified"),
            "{refused:?}"
        );
        assert!(
            matches!(slot.status(), TableStatus::Reading(table, 0) if table.catalog().table.as_str() == "t")
        );
        let again = slot.reload(&mut { u64::MAX });
        assert!(again.reading && !again.begun, "nobody waits for it, and nobody reads it twice");
        assert!(slot.finish_reading().changed && newest(&slot) == Some(1) && !slot.is_reading());

        // The next epoch is served once it is verified, and the old one until then.
        encode(dir.path());
        assert!(slot.reload(&mut 100).begun && newest(&slot) == Some(1) && slot.live().is_ok());
        assert!(slot.finish_reading().changed && newest(&slot) == Some(2));

        // A damaged epoch is read once, and not with every check.
        encode(dir.path());
        let image = dir.path().join("epoch-00000003.sotto");
        let mut bytes = fs::read(&image).unwrap();
        bytes[5000] ^= 1;
        fs::write(&image, bytes).unwrap();
        assert!(slot.reload(&mut 100).begun);
        assert!(slot.finish_reading().refused.is_some_and(|why| why.contains("does not match its digest")));
        let again = slot.reload(&mut 100);
        assert!(!again.begun && again.refused.is_some() && newest(&slot) == Some(2));
    }

    #[test]
    fn both_epochs_are_read_one_after_the_other_and_none_after_the_end() {
        let dir = tempfile::tempdir().unwrap();
        encode(dir.path());
        encode(dir.path());
        // The bytes of the file, and those of its rows once more.
        let bytes = fs::metadata(dir.path().join("epoch-00000002.sotto")).unwrap().len() + 1600;
        let slot_ = slot(dir.path());
        let mut read_budget = bytes + 10;
        assert!(
            slot_.first_reload(&mut read_budget, &sotto_db::progress::silent).0.begun && read_budget == 10
        );
        assert!(newest(&slot_) == Some(2) && slot_.live_now().unwrap().previous().is_none());
        assert!(slot_.finish_reading().changed && slot_.live_now().unwrap().previous().is_some());
        let ended = slot(dir.path());
        ended.first_reload(&mut 0, &sotto_db::progress::silent);
        ended.stop();
        assert!(!ended.finish_reading().changed && newest(&ended).is_none());
    }
}
