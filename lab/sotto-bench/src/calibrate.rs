//! Calibration: measures the speed of each scheme on this machine, from small tables, in some fifteen
//! seconds; and its predictions, compared with measurements of other tables.
//!
//! Times of one thread are processor time, not wall time: neighbors on a shared machine take time,
//! but add no work.

use crate::definition::Case;
use crate::error::BenchError;
use crate::machine::{self, MachineFacts};
use crate::options::{Options, Progress};
use crate::report::{NamedRow, Sheet, digits, shape, wrapped};
use crate::runner::sample::{lookup, sample};
use serde::Serialize;
use sotto_core::{SchemeEntry, TableShape};
use sotto_plan::calibration::{Calibration, FORMAT};
use std::time::{Duration, Instant};

/// Bytes of the tables of every scheme. Most of the time goes into encoding them.
const TABLE_BYTES: [u64; 2] = [1 << 20, 3 << 20];

/// Bytes of a table of schemes that are so fast that caches decide their times.
const LARGE_TABLE_BYTES: u64 = 12 << 20;

/// Time for a table of [`TABLE_BYTES`] within which a scheme is that fast.
const FAST: Duration = Duration::from_millis(150);

/// Bytes of their rows.
const ROW_BYTES: u64 = 256;

/// Measures every scheme of this build; with `quick`, without the large tables.
///
/// # Errors
/// [`BenchError`]; a single wrong answer ends it.
pub fn calibrate(
    options: &Options,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Calibration, BenchError> {
    calibrate_with(sotto_registry::SCHEMES, options, progress)
}

fn calibrate_with(
    schemes: &[&'static SchemeEntry],
    options: &Options,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Calibration, BenchError> {
    let start = Instant::now();
    let total = schemes.len() as u64;
    let threads = options.threads.unwrap_or_else(machine::cores).max(1);
    progress(Progress { case: "calibration", step: "memory", done: 0, total });
    let memory = machine::memory_samples(options, threads)?;
    let mut samples = Vec::new();
    for (done, entry) in (0..).zip(schemes) {
        progress(Progress { case: "calibration", step: entry.id.0, done, total });
        let mut measure = |bytes: u64| -> Result<Duration, BenchError> {
            let (start, row_bytes) = (Instant::now(), row_bytes(entry, bytes));
            let case = Case::plain(entry.id.0, bytes / row_bytes, row_bytes);
            samples.extend(sample(&case, &[*entry], options, &|_| ())?);
            Ok(start.elapsed())
        };
        let mut took = Duration::ZERO;
        for bytes in TABLE_BYTES {
            took = measure(bytes)?;
        }
        if took < FAST && !options.quick {
            measure(LARGE_TABLE_BYTES)?;
        }
    }
    let (machine, took_s) = (machine::name(), start.elapsed().as_secs_f64());
    Ok(Calibration { format: FORMAT.to_owned(), machine, threads: threads as u32, memory, samples, took_s })
}

/// The width of rows that a scheme is measured with: one byte for a scheme whose clients would
/// fetch more than the table for wider ones.
fn row_bytes(entry: &SchemeEntry, table_bytes: u64) -> u64 {
    let shape = TableShape::new(table_bytes / ROW_BYTES, ROW_BYTES, 1000);
    let report = (entry.select)(&shape).and_then(|params| (entry.report)(&params));
    let suits = report.is_ok_and(|report| {
        report.record_bytes >= ROW_BYTES && report.costs.artifact_bytes <= 4 * table_bytes.max(1 << 24)
    });
    if suits { ROW_BYTES } else { 1 }
}

/// Tables that no calibration has, as factors of a calibration table's rows and of their width.
const OTHERS: [(u64, u64); 4] = [(1 << 14, 1), (1 << 16, 1), (1 << 14, 4), (1 << 14, 32)];

/// Maximum error of a close prediction, as a share of the measured time.
const CLOSE: f64 = 0.25;

/// Maximum error of a close prediction in milliseconds: negligible beside a round trip, and about
/// the accuracy of measuring so short a time.
const CLOSE_MS: f64 = 0.05;

/// The quality of a calibration's predictions.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub struct PlanReport {
    /// Name and version of this format.
    pub format: &'static str,
    /// The machine of the measurement.
    pub machine: MachineFacts,
    /// The predictions of each scheme on each table.
    pub predicted: Vec<Prediction>,
}

/// The prediction for a scheme on a table.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Prediction {
    /// Name of the scheme.
    pub scheme: String,
    /// Rows of the table.
    pub rows_count: u64,
    /// Bytes of a row.
    pub row_bytes: u64,
    /// Predicted time of a lookup at one server, in milliseconds.
    pub server_predicted_ms: f64,
    /// Measured time of a lookup at one server, in milliseconds: the shortest of several, in
    /// processor time.
    pub server_measured_ms: f64,
    /// Predicted over measured time of the server.
    pub server_ratio: f64,
    /// Predicted time of a lookup at the client, in milliseconds.
    pub client_predicted_ms: f64,
    /// Measured time of a lookup at the client, in milliseconds.
    pub client_measured_ms: f64,
    /// Predicted over measured time of the client.
    pub client_ratio: f64,
}

const SHEET: Sheet = Sheet {
    title: "",
    columns: "server, predicted = server_predicted_ms | measured = server_measured_ms | ratio = server_ratio | \
              client, predicted = client_predicted_ms | measured = client_measured_ms | ratio = client_ratio",
    note: "",
};

impl Prediction {
    /// The table in words.
    fn shape(&self) -> String {
        shape(self.rows_count, self.row_bytes * 8)
    }

    /// Whether the server's time was predicted within a quarter, or within 50 microseconds.
    pub fn is_close(&self) -> bool {
        let off = (self.server_predicted_ms - self.server_measured_ms).abs();
        (self.server_ratio - 1.0).abs() <= CLOSE || off <= CLOSE_MS
    }
}

impl PlanReport {
    /// The predictions of server times that are not close.
    pub fn missed(&self) -> impl Iterator<Item = &Prediction> {
        self.predicted.iter().filter(|line| !line.is_close())
    }

    /// A table for people.
    pub fn table(&self) -> String {
        let named = |line: &Prediction| NamedRow::new([line.scheme.clone(), line.shape()], line);
        let table = SHEET.table(&["scheme", "table"], self.predicted.iter().map(named).collect());
        let missed = self
            .missed()
            .map(|line| format!("{} at {} ({})", line.scheme, line.shape(), digits(line.server_ratio)));
        let missed: Vec<String> = missed.collect();
        let close = self.predicted.len() - missed.len();
        let missed = if missed.is_empty() { "none".to_owned() } else { missed.join(", ") };
        let said = format!(
            "A lookup at one server on one thread, in processor time: the minimum of several. {close} of \
             {} are predicted within 25 %, or 0.05 ms. Others: {missed}.",
            self.predicted.len()
        );
        let said: Vec<String> = wrapped(&said, 100).iter().map(|line| line.trim().to_owned()).collect();
        let said = said.join("\n");
        format!("{}\n\n{table}\n\n{said}\n", self.machine.line())
    }
}

/// Measures schemes on tables of other sizes and widths than a calibration's, and compares its
/// predictions with them; with `quick` on one table alone.
///
/// # Errors
/// [`BenchError`]; a single wrong answer ends it.
pub fn predict(
    calibration: &Calibration,
    schemes: &[&'static SchemeEntry],
    options: &Options,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<PlanReport, BenchError> {
    let tables = if options.quick { OTHERS.split_at(1).0 } else { &OTHERS };
    let total = (schemes.len() * tables.len()) as u64;
    let mut predicted = Vec::new();
    for (i, entry) in (0..).zip(schemes) {
        for (j, (rows, wider)) in (0..).zip(tables) {
            progress(Progress {
                case: "predictions",
                step: entry.id.0,
                done: i * tables.len() as u64 + j,
                total,
            });
            let narrow = row_bytes(entry, rows * ROW_BYTES);
            // Schemes of one-byte rows have the same bytes in more rows.
            let (rows, row_bytes) = if narrow == ROW_BYTES {
                (*rows, ROW_BYTES * wider)
            } else {
                (rows * wider * ROW_BYTES / narrow, narrow)
            };
            predicted.extend(line(calibration, entry, rows, row_bytes, options)?);
        }
    }
    Ok(PlanReport { format: "sotto-predicted/1", machine: MachineFacts::of_this(options), predicted })
}

fn line(
    calibration: &Calibration,
    entry: &'static SchemeEntry,
    rows: u64,
    row_bytes: u64,
    options: &Options,
) -> Result<Option<Prediction>, BenchError> {
    let case = Case::plain(entry.id.0, rows, row_bytes);
    let Some(sample) = lookup(&case, &[entry], options, &|_| ())? else { return Ok(None) };
    let Some(rate) = calibration.rate(entry.id.0, sample.work) else { return Ok(None) };
    Ok(Some(Prediction {
        scheme: entry.id.to_string(),
        rows_count: rows,
        row_bytes,
        server_predicted_ms: rate.server_ns / 1e6,
        server_measured_ms: sample.server_ns / 1e6,
        server_ratio: rate.server_ns / sample.server_ns,
        client_predicted_ms: rate.client_ns / 1e6,
        client_measured_ms: sample.client_ns / 1e6,
        client_ratio: rate.client_ns / sample.client_ns,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quick run on two schemes has all its lines and times; whether they are close is not
    /// tested.
    #[test]
    fn predictions_are_held_against_measurements() {
        let options = Options { quick: true, threads: Some(1), ..Options::default() };
        let schemes: Vec<_> =
            ["simplepir/1", "dpf/1"].iter().filter_map(|id| sotto_registry::find(id)).collect();
        let calibration = calibrate_with(&schemes, &options, &|_| ()).unwrap();
        assert_eq!((calibration.samples.len(), calibration.threads), (4, 1));
        assert!(calibration.memory.len() > 1 && calibration.memory.iter().all(|memory| memory.read_ns > 0.0));
        assert!(calibration.samples.iter().all(|sample| sample.server_ns > 0.0 && sample.client_ns > 0.0));
        assert!(calibration.samples.iter().any(|sample| sample.parts.is_some()));
        let report = predict(&calibration, &schemes, &options, &|_| ()).unwrap();
        assert_eq!(report.predicted.len(), 2);
        for line in &report.predicted {
            let ratio = line.server_predicted_ms / line.server_measured_ms;
            assert!((line.server_ratio / ratio - 1.0).abs() < 1e-9 && line.server_ratio > 0.0);
        }
        let text = report.table();
        assert!(text.contains("simplepir/1") && text.contains("dpf/1"));
        // The first line names the machine.
        assert!(text.lines().skip(1).all(|line| line.chars().count() <= 110), "{text}");
    }

    #[test]
    fn a_line_is_close_within_a_quarter() {
        let line = |server_ratio, server_measured_ms| Prediction {
            scheme: "a/1".into(),
            rows_count: 1,
            row_bytes: 1,
            server_predicted_ms: server_ratio * server_measured_ms,
            server_measured_ms,
            server_ratio,
            client_predicted_ms: 1.0,
            client_measured_ms: 1.0,
            client_ratio: 1.0,
        };
        let close = [0.74, 0.76, 1.0, 1.24, 1.26].map(|ratio| line(ratio, 1.0).is_close());
        assert_eq!(close, [false, true, true, true, false]);
        // Or within the accuracy of the measurement.
        assert!(line(2.0, 0.04).is_close() && !line(2.0, 0.06).is_close());
    }
}
