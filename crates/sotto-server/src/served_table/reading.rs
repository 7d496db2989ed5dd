//! An image that is read through in the background: what it is, how far it is, and how long it still takes.

use super::locked;
use crate::{SourceError, TableEpoch};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How often a log says how far it is.
const REPORT_EVERY: Duration = Duration::from_secs(5);

/// The image of a table that waits to be read, or is being read.
#[derive(Default)]
pub(super) struct ImageCheck {
    on: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
    /// When it began, and which epoch it is.
    what: Mutex<Option<(Instant, Arc<TableEpoch>)>>,
}

impl ImageCheck {
    pub(super) fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    pub(super) fn set(&self, on: bool) {
        self.on.store(on, Relaxed);
        if !on {
            locked(&self.what).take();
        }
    }

    /// Notes what is read, or will be next; gives its bytes.
    pub(super) fn begin(&self, table: Arc<TableEpoch>) -> u64 {
        let bytes = table.unread_bytes();
        self.done.store(0, Relaxed);
        self.total.store(bytes, Relaxed);
        *locked(&self.what) = Some((Instant::now(), table));
        bytes
    }

    /// Reads an image through, and says so in the log, for as long as `go_on` says.
    pub(super) fn read(&self, live: &Arc<TableEpoch>, go_on: &dyn Fn() -> bool) -> Result<bool, SourceError> {
        let bytes = self.begin(live.clone());
        let (table, epoch) = (&live.catalog().table, live.pin().epoch);
        tracing::info!(%table, %epoch, bytes, "an image is read through before it is served");
        let (began, told) = (Instant::now(), AtomicU64::new(0));
        let watch = |at: sotto_db::Progress| {
            self.done.store(at.done, Relaxed);
            let turn = began.elapsed().as_secs() / REPORT_EVERY.as_secs();
            if told.swap(turn, Relaxed) < turn {
                let percent = at.done.saturating_mul(100) / at.total.max(1);
                tracing::info!(%table, %epoch, percent, "an image is read through before it is served");
            }
        };
        live.read_through(&watch, go_on)
    }

    /// What is read, and how much of it is, in percent.
    pub(super) fn at(&self) -> Option<(Arc<TableEpoch>, u64)> {
        let what = locked(&self.what);
        let (_, table) = what.as_ref().filter(|_| self.is_on())?;
        let percent = self.done.load(Relaxed).saturating_mul(100) / self.total.load(Relaxed).max(1);
        Some((table.clone(), percent))
    }

    /// About how many seconds it still takes.
    pub(super) fn left(&self) -> Option<u64> {
        let what = locked(&self.what);
        let (began, _) = what.as_ref().filter(|_| self.is_on())?;
        let (done, total) = (self.done.load(Relaxed), self.total.load(Relaxed));
        let seconds = began.elapsed().as_secs().saturating_mul(total.saturating_sub(done)) / done.max(1);
        Some(seconds.clamp(1, 600))
    }
}
