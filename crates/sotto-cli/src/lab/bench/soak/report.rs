//! The context that all clients of a soak share and their results; and the report of it: a table for a
//! person, figures for a script, and the faults.

use crate::failure::{Exit, Failure};
use crate::lab::bench::soak::server::UsagePoint;
use crate::lab::bench::soak::{SoakRows, WarmUp};
use crate::screen::{grid, units};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::TableName;
use sotto_client::{ClientError, Fault};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Result of `bench soak`. Times are in milliseconds unless they are named seconds.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Report {
    pub(crate) table: String,
    pub(crate) scheme: String,
    pub(crate) rows: u64,
    pub(crate) row_bytes: u64,
    pub(crate) server_threads: usize,
    pub(crate) seconds: f64,
    pub(crate) capacity_per_second: f64,
    pub(crate) offered_per_second: f64,
    pub(crate) answered_per_second: f64,
    pub(crate) lookups: u64,
    pub(crate) median_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) slowest_ms: f64,
    pub(crate) epochs: usize,
    pub(crate) published_median_seconds: f64,
    pub(crate) published_slowest_seconds: f64,
    pub(crate) memory_start_mib: f64,
    /// Time until the server was warm; null if it never was.
    pub(crate) warm_after_seconds: Option<f64>,
    /// What had to happen until then; all zeros with `--quick`.
    pub(crate) warm_up: WarmUp,
    pub(crate) memory_warm_mib: f64,
    pub(crate) memory_end_mib: f64,
    pub(crate) memory_peak_mib: f64,
    pub(crate) memory_idle_mib: f64,
    pub(crate) anonymous_warm_mib: f64,
    pub(crate) anonymous_end_mib: f64,
    pub(crate) may_grow_percent: f64,
    pub(crate) descriptors_start: usize,
    pub(crate) descriptors_end: usize,
    pub(crate) descriptors_peak: usize,
    /// Files that are open at the end, if there are more than at the start.
    pub(crate) open_files: Vec<String>,
    pub(crate) kept_mib: f64,
    pub(crate) server_log: Vec<String>,
    pub(crate) server_ended_well: bool,
    pub(crate) samples: Vec<UsagePoint>,
    #[serde(flatten)]
    pub(crate) results: SoakResults,
}

impl Report {
    /// Growth of memory since the server was warm; `None` if it never was.
    fn growth_percent(&self) -> Option<f64> {
        self.warm_after_seconds.map(|_| (self.memory_end_mib / self.memory_warm_mib.max(1e-9) - 1.0) * 100.0)
    }

    /// Faults that must not occur.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.lookups == 0 {
            faults.push("no lookup was answered".to_owned());
        }
        if let Some(first) = &self.results.first_wrong {
            faults
                .push(format!("{} answers were wrong, the first: {first}", units::count(self.results.wrong)));
        }
        for (kind, errors) in self.results.errors.iter().filter(|(_, errors)| !errors.retryable) {
            faults.push(format!("{} times {kind}, the first: {}", units::count(errors.count), errors.first));
        }
        match self.growth_percent() {
            Some(growth) if growth > self.may_grow_percent => {
                faults.push(format!("memory grew by {growth:.1} %"));
            }
            Some(_) => {}
            None => {
                let WarmUp { opened, epochs, points } = self.warm_up;
                faults.push(format!(
                    "memory is not judged, since the server was never warm: {} of {opened} tables were opened, \
                     {} of {epochs} epochs published, and connections broken at {} of {points} points",
                    self.results.opened,
                    self.epochs,
                    self.results.aborted.len()
                ));
            }
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

    /// The failure if there are faults.
    pub(crate) fn judge(&self) -> Option<Failure> {
        let faults = self.faults();
        (!faults.is_empty())
            .then(|| Failure::new(Exit::Findings, faults.join("; ")).fix("see the report above"))
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
        let (warm, growth) = match (self.warm_after_seconds, self.growth_percent()) {
            (Some(after), Some(growth)) => (
                format!("{} when warm after {after:.0} s", mib(self.memory_warm_mib)),
                format!(" ({growth:+.1} %)"),
            ),
            _ => ("never warm".to_owned(), String::new()),
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
                    units::count(self.results.wrong)
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
            ("errors", list(self.results.errors.iter().map(retryable).collect())),
            (
                "epochs",
                format!(
                    "{}, each served {} s after its changes (maximum {} s); {} with new parameters, {} after \
                     a change of the signing key; clients followed {} times",
                    self.epochs,
                    number(self.published_median_seconds),
                    number(self.published_slowest_seconds),
                    self.results.new_parameters,
                    self.results.rotations,
                    units::count(self.results.moved)
                ),
            ),
            ("opened", format!("{}, each with its keys, if any", units::count(self.results.opened))),
            (
                "disconnected",
                list(self.results.aborted.iter().map(|(point, count)| counted(point, *count)).collect()),
            ),
            (
                "memory",
                format!(
                    "{} at the start, {warm}, {} at the end{growth}, {} at most",
                    mib(self.memory_start_mib),
                    mib(self.memory_end_mib),
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
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct SoakResults {
    /// Duration of each lookup in milliseconds.
    #[serde(skip)]
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
    #[serde(skip)]
    pub(crate) published: Vec<f64>,
    /// Number of those epochs with parameters of their own.
    #[serde(rename = "epochs_with_new_parameters")]
    pub(crate) new_parameters: u64,
    /// Number of changes of the signing key.
    pub(crate) rotations: u64,
}

/// Errors of one kind.
#[derive(Debug, Default, Clone, Serialize, JsonSchema)]
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

    /// Whether all of this has happened.
    pub(crate) fn has_seen(&self, warm_up: &WarmUp) -> bool {
        let SoakResults { opened, published, aborted, .. } = &*self.results();
        *opened >= warm_up.opened && published.len() >= warm_up.epochs && aborted.len() >= warm_up.points
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

    /// A time alone makes no server warm.
    #[test]
    fn a_server_is_warm_once_all_has_happened() {
        let (name, rows) = ("t".parse().unwrap(), SoakRows { rows: 100, row_bytes: 16 });
        let (url, over, results) = (String::new(), AtomicBool::new(false), Mutex::default());
        let context = SoakContext { url, table: &name, rows, over, results };
        let warm_up = WarmUp { opened: 2, epochs: 1, points: 1 };
        context.results().opened = 2;
        context.results().published.push(0.5);
        assert!(!context.has_seen(&warm_up));
        context.results().aborted.insert("in an answer", 1);
        assert!(context.has_seen(&warm_up));
        context.results().opened = 1;
        assert!(!context.has_seen(&warm_up));
    }

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
