//! Whole schemes on small tables in memory, by a definition like any other: every answer is checked.

use crate::options::Watcher;
use crate::report::Report;
use crate::{BenchError, Options, load};

/// The built-in definition that has the tables.
pub(super) const DEFINITION: &str = "regression-schemes";

/// Runs the definition.
pub(super) fn run(options: &Options, watcher: Watcher<'_>) -> Result<Report, BenchError> {
    crate::run(&load(DEFINITION)?, options, watcher)
}

/// A quotient of figures of the definition's lines, which are named by their titles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Figure {
    /// Bytes of the table per second of the server, over a plain read of memory.
    OfRead(&'static str),
    /// The server's time for the first line, over that for the second.
    Times(&'static str, &'static str),
    /// Queries per second of the largest batch, over those of single lookups.
    Batching(&'static str),
}

impl Figure {
    /// The value of the figure in a report; `None` if a line did not run.
    pub(super) fn of(self, report: &Report) -> Option<f64> {
        let line = |title: &str| report.measured.iter().find(|measured| measured.method.title == title);
        let alone = |title| line(title)?.batches.first();
        match self {
            Figure::OfRead(title) => Some(alone(title)?.of_read_memory_ratio),
            Figure::Times(slow, fast) => Some(alone(slow)?.server_ms / alone(fast)?.server_ms),
            Figure::Batching(title) => Some(line(title)?.batches.last()?.batching_ratio),
        }
    }
}
