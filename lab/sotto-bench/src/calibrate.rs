//! Calibration: measures the speed of each scheme on this machine, from small tables, in a minute.
//!
//! Times of one thread are processor time, not wall time: neighbors on a shared machine take time,
//! but add no work.

use crate::definition::Case;
use crate::error::BenchError;
use crate::machine;
use crate::options::{Options, Progress};
use crate::runner::sample::sample;
use sotto_core::{SchemeEntry, TableShape};
use sotto_plan::calibration::{Calibration, CalibrationSample, FORMAT};
use std::time::Instant;

/// Bytes of the tables: one that fits second-level caches, one that fits the third level, and one
/// that fits none.
const TABLE_BYTES: [u64; 3] = [1 << 20, 1 << 22, 1 << 26];

/// Bytes of their rows.
pub(crate) const ROW_BYTES: u64 = 256;

/// Measures every scheme of this build; with `quick`, without the largest table.
///
/// # Errors
/// [`BenchError`]; a single wrong answer ends it.
pub fn calibrate(
    options: &Options,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Calibration, BenchError> {
    calibrate_with(sotto_registry::SCHEMES, options, progress)
}

pub(crate) fn calibrate_with(
    schemes: &[&'static SchemeEntry],
    options: &Options,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Calibration, BenchError> {
    let start = Instant::now();
    let tables = if options.quick { TABLE_BYTES.split_at(2).0 } else { &TABLE_BYTES };
    let total = (schemes.len() * tables.len()) as u64;
    let mut samples = Vec::new();
    for (i, entry) in (0..).zip(schemes) {
        for (j, bytes) in (0..).zip(tables) {
            let done = i * tables.len() as u64 + j;
            progress(Progress { case: "calibration", step: entry.id.0, done, total });
            let row_bytes = row_bytes(entry, *bytes);
            samples.extend(measure(entry, bytes / row_bytes, row_bytes, options)?);
        }
    }
    let threads = options.threads.unwrap_or_else(machine::cores).max(1) as u32;
    let took_s = start.elapsed().as_secs_f64();
    Ok(Calibration { format: FORMAT.to_owned(), machine: machine::name(), threads, samples, took_s })
}

/// Measures a scheme on a table; `None` if it has no parameters for the table.
pub(crate) fn measure(
    entry: &'static SchemeEntry,
    rows: u64,
    row_bytes: u64,
    options: &Options,
) -> Result<Option<CalibrationSample>, BenchError> {
    sample(&Case::plain(entry.id.0, rows, row_bytes), &[entry], options, &|_| ())
}

/// The width of rows that a scheme is measured with: one byte for a scheme whose clients would
/// fetch more than the table for wider ones.
pub(crate) fn row_bytes(entry: &SchemeEntry, table_bytes: u64) -> u64 {
    let shape = TableShape::new(table_bytes / ROW_BYTES, ROW_BYTES, 1000);
    let report = (entry.select)(&shape).and_then(|params| (entry.report)(&params));
    let suits = report.is_ok_and(|report| {
        report.record_bytes >= ROW_BYTES && report.costs.artifact_bytes <= 4 * table_bytes.max(1 << 24)
    });
    if suits { ROW_BYTES } else { 1 }
}
