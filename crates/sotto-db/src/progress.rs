//! Telling a watching person how far a stage is.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a stage counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgressUnit {
    /// Bytes.
    Bytes,
    /// Rows.
    Rows,
    /// Tables of a stack.
    Tables,
    /// Steps of a scheme: which part of all they are means something, their number does not.
    Steps,
}

/// How far a stage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub stage: &'static str,
    /// How much of it.
    pub done: u64,
    /// Out of how much; 0 if nobody knows.
    pub total: u64,
    /// What is counted.
    pub unit: ProgressUnit,
}

/// Is told of progress, from any thread, often. [`silent`] tells nobody.
pub type Watcher<'a> = &'a (dyn Fn(Progress) + Sync);

/// Tells nobody.
pub fn silent(_: Progress) {}

/// A stage that counts bytes towards a known total.
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
