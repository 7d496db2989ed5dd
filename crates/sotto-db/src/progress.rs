//! Progress of a long operation, for a person who watches, and the threads that it uses.

use crate::{DbError, Result};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Unit of a stage's progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgressUnit {
    /// Progress counts bytes.
    Bytes,
    /// Progress counts rows.
    Rows,
    /// Progress counts tables of a stack.
    Tables,
    /// Progress counts steps of a scheme: their share of the total is meaningful, their number is not.
    Steps,
}

/// Progress of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Name of the stage.
    pub stage: &'static str,
    /// Amount of the stage that is done.
    pub done: u64,
    /// Total amount of the stage; 0 if it is unknown.
    pub total: u64,
    /// Unit of the amounts.
    pub unit: ProgressUnit,
}

/// Callback that is notified of progress, often and from any thread. [`silent`] ignores it.
pub type Watcher<'a> = &'a (dyn Fn(Progress) + Sync);

/// A watcher that ignores all progress.
pub fn silent(_: Progress) {}

/// A stage that counts bytes toward a known total.
pub(crate) struct ByteProgress<'a> {
    watch: Watcher<'a>,
    stage: &'static str,
    done: AtomicU64,
    total: u64,
}

impl<'a> ByteProgress<'a> {
    pub(crate) fn new(watch: Watcher<'a>, stage: &'static str, total: u64) -> Self {
        watch(Progress { stage, done: 0, total, unit: ProgressUnit::Bytes });
        ByteProgress { watch, stage, done: AtomicU64::new(0), total }
    }

    pub(crate) fn add(&self, amount: u64) {
        let done = self.done.fetch_add(amount, Ordering::Relaxed) + amount;
        (self.watch)(Progress { stage: self.stage, done, total: self.total, unit: ProgressUnit::Bytes });
    }
}

/// Runs `work` on a thread pool of its own if a number of threads is given. Schemes use the current
/// pool.
pub fn in_pool<T: Send>(threads: Option<usize>, work: impl FnOnce() -> T + Send) -> Result<T> {
    let Some(threads) = threads else { return Ok(work()) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
    Ok(pool.map_err(|e| DbError::Threads(io::Error::other(e)))?.install(work))
}
