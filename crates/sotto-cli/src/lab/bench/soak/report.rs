//! The context that all clients of a soak share and their results; and the report of it: a table for a
//! person, figures for a script, and the faults.

use crate::failure::{Exit, Failure, Result};
use crate::lab::bench::load::p99;
use crate::lab::bench::soak::publisher::SoakRows;
use crate::lab::bench::soak::server::{ProcessUsage, ResourceUse, ServerEnd, UsagePoint, mib};
use crate::lab::bench::throughput::median;
use crate::screen::{grid, units};
use serde::Serialize;
use sotto_catalog::{Catalog, TableName};
use sotto_client::{ClientError, Fault};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Result of `bench soak`. Times are in milliseconds unless they are named seconds.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    table: String,
    scheme: String,
    rows: u64,
    row_bytes: u64,
    server_threads: usize,
    seconds: f64,
    capacity_per_second: f64,
    offered_per_second: f64,
    answered_per_second: f64,
    lookups: u64,
    wrong: u64,
    first_wrong: Option<String>,
    errors: BTreeMap<String, ErrorCount>,
    median_ms: f64,
    p99_ms: f64,
    slowest_ms: f64,
    epochs: usize,
    epochs_with_new_parameters: u64,
    published_median_seconds: f64,
    published_slowest_seconds: f64,
    opened: u64,
    moved: u64,
    aborted: BTreeMap<&'static str, u64>,
    memory_start_mib: f64,
    memory_warm_mib: f64,
    memory_end_mib: f64,
    memory_peak_mib: f64,
    memory_idle_mib: f64,
    anonymous_warm_mib: f64,
    anonymous_end_mib: f64,
    may_grow_percent: f64,
    descriptors_start: usize,
    descriptors_end: usize,
    descriptors_peak: usize,
    /// Files that are open at the end, if there are more than at the start.
    open_files: Vec<String>,
    kept_mib: f64,
    server_log: Vec<String>,
    server_ended_well: bool,
    samples: Vec<UsagePoint>,
}

/// The measurements of a soak.
pub(crate) struct SoakRun<'a> {
    pub(crate) catalog: &'a Catalog,
    /// Threads of the server.
    pub(crate) threads: usize,
    /// Maximum growth of memory in percent.
    pub(crate) max_growth: f64,
    /// Lookups a second that the server can answer.
    pub(crate) capacity: f64,
    /// Lookups a second that clients asked for.
    pub(crate) offered: f64,
    pub(crate) took: Duration,
    /// Resources of the server before the first client.
    pub(crate) start: ProcessUsage,
    /// Resources of the server while clients made lookups.
    pub(crate) usage: ResourceUse,
    /// Resources of the server after the last client.
    pub(crate) end: ProcessUsage,
    pub(crate) results: SoakResults,
    /// Bytes of the server's state folder.
    pub(crate) state_bytes: u64,
    pub(crate) log: String,
    /// Files that are open at the end, if there are more than at the start.
    pub(crate) open_files: Vec<String>,
    /// How the server ended.
    pub(crate) ended: ServerEnd,
}

impl Report {
    pub(crate) fn new(run: SoakRun<'_>) -> Self {
        let SoakRun { catalog, took, start, usage, end, results, .. } = run;
        let mut ms: Vec<f64> = results.ms.iter().map(|ms| f64::from(*ms)).collect();
        ms.sort_by(f64::total_cmp);
        let lookups = ms.len() as u64;
        Report {
            table: catalog.table.to_string(),
            scheme: catalog.scheme.clone(),
            rows: catalog.rows,
            row_bytes: catalog.row_bytes,
            server_threads: run.threads,
            seconds: took.as_secs_f64(),
            capacity_per_second: run.capacity,
            offered_per_second: run.offered,
            answered_per_second: lookups as f64 / took.as_secs_f64(),
            lookups,
            wrong: results.wrong,
            first_wrong: results.first_wrong,
            errors: results.errors,
            median_ms: ms.get(ms.len() / 2).copied().unwrap_or(0.0),
            p99_ms: p99(&ms),
            slowest_ms: ms.last().copied().unwrap_or(0.0),
            epochs: results.published.len(),
            epochs_with_new_parameters: results.new_parameters,
            published_slowest_seconds: results.published.iter().copied().fold(0.0, f64::max),
            published_median_seconds: match results.published.len() {
                0 => 0.0,
                _ => median(results.published.into_iter()),
            },
            opened: results.opened,
            moved: results.moved,
            aborted: results.aborted,
            memory_start_mib: mib(start.resident),
            memory_warm_mib: mib(usage.warm.resident),
            memory_end_mib: mib(usage.last.resident),
            memory_peak_mib: mib(usage.peak.resident),
            memory_idle_mib: mib(end.resident),
            anonymous_warm_mib: mib(usage.warm.anonymous),
            anonymous_end_mib: mib(usage.last.anonymous),
            may_grow_percent: run.max_growth,
            descriptors_start: start.descriptors,
            descriptors_end: end.descriptors,
            descriptors_peak: usage.peak.descriptors,
            open_files: run.open_files,
            kept_mib: mib(run.state_bytes),
            server_log: run.log.lines().take(20).map(str::to_owned).collect(),
            server_ended_well: run.ended == ServerEnd::Success,
            samples: usage.points,
        }
    }

    fn growth_percent(&self) -> f64 {
        (self.memory_end_mib / self.memory_warm_mib.max(1e-9) - 1.0) * 100.0
    }

    /// Faults that must not occur.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.lookups == 0 {
            faults.push("no lookup was answered".to_owned());
        }
        if let Some(first) = &self.first_wrong {
            faults.push(format!("{} answers were wrong, the first: {first}", units::count(self.wrong)));
        }
        for (kind, errors) in self.errors.iter().filter(|(_, errors)| !errors.retryable) {
            faults.push(format!("{} times {kind}, the first: {}", units::count(errors.count), errors.first));
        }
        if self.growth_percent() > self.may_grow_percent {
            faults.push(format!("memory grew by {:.1} %", self.growth_percent()));
        }
        if self.descriptors_end > self.descriptors_start {
            let more = self.descriptors_end - self.descriptors_start;
            faults.push(format!(
                "{more} files or connections are still open, of {}",
                self.open_files.join(", ")
            ));
        }
        if let Some(first) = self.server_log.first() {
            faults.push(format!("the server warned: {first}"));
        }
        if !self.server_ended_well {
            faults.push("the server did not exit cleanly".to_owned());
        }
        faults
    }

    /// Fails if there are faults.
    pub(crate) fn judge(&self) -> Result<()> {
        match self.faults().as_slice() {
            [] => Ok(()),
            faults => Err(Failure::new(Exit::Findings, faults.join("; ")).fix("see the report above")),
        }
    }

    /// The result for a person.
    pub(crate) fn table(&self) -> String {
        let number = units::digits;
        let ms = |of: f64| format!("{} ms", number(of));
        let mib = |of: f64| format!("{} MiB", number(of));
        let counted = |name: &str, count: u64| format!("{} {name}", units::count(count));
        let list = |all: Vec<String>| if all.is_empty() { "none".to_owned() } else { all.join(", ") };
        let retryable = |(kind, of): (&String, &ErrorCount)| {
            let again = if of.retryable { "" } else { " (not retryable)" };
            counted(&format!("{kind}{again}"), of.count)
        };
        let rows = [
            (
                "load",
                format!(
                    "{} lookups per second at a capacity of {}; {} answered",
                    number(self.offered_per_second),
                    number(self.capacity_per_second),
                    number(self.answered_per_second)
                ),
            ),
            (
                "answers",
                format!(
                    "{}, each compared with its row; {} wrong",
                    units::count(self.lookups),
                    units::count(self.wrong)
                ),
            ),
            (
                "took",
                format!(
                    "median {}, p99 {}, maximum {}",
                    ms(self.median_ms),
                    ms(self.p99_ms),
                    ms(self.slowest_ms)
                ),
            ),
            ("errors", list(self.errors.iter().map(retryable).collect())),
            (
                "epochs",
                format!(
                    "{}, each served {} s after its changes (maximum {} s); {} with new parameters; \
                     clients followed {} times",
                    self.epochs,
                    number(self.published_median_seconds),
                    number(self.published_slowest_seconds),
                    self.epochs_with_new_parameters,
                    units::count(self.moved)
                ),
            ),
            ("opened", format!("{}, each with its keys, if any", units::count(self.opened))),
            (
                "disconnected",
                list(self.aborted.iter().map(|(point, count)| counted(point, *count)).collect()),
            ),
            (
                "memory",
                format!(
                    "{} at the start, {} when warm, {} at the end ({:+.1} %), {} at most",
                    mib(self.memory_start_mib),
                    mib(self.memory_warm_mib),
                    mib(self.memory_end_mib),
                    self.growth_percent(),
                    mib(self.memory_peak_mib)
                ),
            ),
            (
                "open files",
                format!(
                    "{} at the start, {} at the end, {} at most",
                    self.descriptors_start, self.descriptors_end, self.descriptors_peak
                ),
            ),
            ("kept", format!("{} in the state folder", mib(self.kept_mib))),
        ];
        format!(
            "A table similar to {}: {} rows of {} bytes, {}; server process with {} thread(s), for {:.0} s.\n\n{}",
            self.table,
            units::count(self.rows),
            self.row_bytes,
            self.scheme,
            self.server_threads,
            self.seconds,
            grid::facts(rows)
        )
    }

    /// The result as JSON.
    pub(crate) fn json(&self) -> Result<String> {
        serde_json::to_string_pretty(self).map_err(|error| Failure::internal(error.to_string()))
    }
}

/// The servers and the duration of a soak, and the expected contents of rows.
pub(crate) struct SoakContext<'a> {
    pub(crate) url: String,
    pub(crate) table: &'a TableName,
    pub(crate) rows: SoakRows,
    pub(crate) over: AtomicBool,
    pub(crate) results: Mutex<SoakResults>,
}

/// Results of all clients.
#[derive(Debug, Default)]
pub(crate) struct SoakResults {
    /// Duration of each lookup in milliseconds.
    pub(crate) ms: Vec<f32>,
    /// Number of wrong answers, and the first of them.
    pub(crate) wrong: u64,
    pub(crate) first_wrong: Option<String>,
    /// Errors by kind.
    pub(crate) errors: BTreeMap<String, ErrorCount>,
    /// Number of opened tables, each with keys of its own if there are keys.
    pub(crate) opened: u64,
    /// How often a client has moved to another epoch.
    pub(crate) moved: u64,
    /// Number of broken requests, by the point of breaking.
    pub(crate) aborted: BTreeMap<&'static str, u64>,
    /// For each published epoch, seconds from the changes to the answers.
    pub(crate) published: Vec<f64>,
    /// Number of those epochs with parameters of their own.
    pub(crate) new_parameters: u64,
}

/// Errors of one kind.
#[derive(Debug, Default, Clone, serde::Serialize)]
pub(crate) struct ErrorCount {
    pub(crate) count: u64,
    /// Whether a retry repairs the error.
    pub(crate) retryable: bool,
    /// Message of the first error.
    pub(crate) first: String,
}

impl SoakContext<'_> {
    /// Locks the results.
    pub(crate) fn results(&self) -> MutexGuard<'_, SoakResults> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether clients have to end.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Compares an answer with the content of the row at its epoch.
    pub(crate) fn check(&self, row: u64, epoch: u64, value: &[u8]) {
        if self.rows.content(row, epoch) == value {
            return;
        }
        let other = (1..epoch + 2).find(|at| self.rows.content(row, *at) == value);
        let mut results = self.results();
        results.wrong += 1;
        results.first_wrong.get_or_insert_with(|| match other {
            Some(other) => format!("row {row} of epoch {epoch} has the value of epoch {other}"),
            None => format!("row {row} of epoch {epoch} has bytes of no epoch"),
        });
    }

    /// Counts an error.
    pub(crate) fn failed(&self, doing: &str, error: &ClientError) {
        let mut results = self.results();
        let kind = results.errors.entry(format!("{doing}: {}", error.code())).or_default();
        if kind.count == 0 {
            kind.first = error.to_string();
        }
        kind.count += 1;
        kind.retryable = error.fault() == Fault::Network;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_another_epoch_is_wrong_and_named() {
        let (name, rows) = ("t".parse().unwrap(), SoakRows { rows: 100, row_bytes: 16 });
        let (url, over, results) = (String::new(), AtomicBool::new(false), Mutex::default());
        let context = SoakContext { url, table: &name, rows, over, results };
        // The first row changes with each epoch.
        context.check(0, 3, &rows.content(0, 3));
        assert_eq!(context.results().wrong, 0);
        context.check(0, 3, &rows.content(0, 2));
        context.check(0, 3, &[0; 16]);
        let results = context.results();
        let first = results.first_wrong.as_deref().unwrap();
        assert_eq!((results.wrong, first), (2, "row 0 of epoch 3 has the value of epoch 2"));
    }
}
