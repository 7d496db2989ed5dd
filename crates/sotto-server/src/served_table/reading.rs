//! An image that is verified in the background, and its progress.

use super::locked;
use crate::{SourceError, TableEpoch};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Interval between two log lines about the progress.
const REPORT_EVERY: Duration = Duration::from_secs(5);

/// The image of a table that waits to be verified, or is being verified.
#[derive(Default)]
pub(super) struct ImageCheck {
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
