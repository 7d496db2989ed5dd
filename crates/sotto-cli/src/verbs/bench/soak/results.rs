//! The context that all clients share: servers, duration, expected rows, and results.

use super::rows::SoakRows;
use sotto_catalog::TableName;
use sotto_client::{ClientError, Fault};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The servers and the duration of a soak, and the expected contents of rows.
pub(super) struct SoakContext<'a> {
    pub(super) url: String,
    pub(super) table: &'a TableName,
    pub(super) rows: SoakRows,
    pub(super) over: AtomicBool,
    pub(super) results: Mutex<SoakResults>,
}

/// Results of all clients.
#[derive(Debug, Default)]
pub(super) struct SoakResults {
    /// Duration of each lookup in milliseconds.
    pub(super) ms: Vec<f32>,
    /// Number of wrong answers, and the first of them.
    pub(super) wrong: u64,
    pub(super) first_wrong: Option<String>,
    /// Errors by kind.
    pub(super) errors: BTreeMap<String, ErrorCount>,
    /// Number of opened tables, each with keys of its own if there are keys.
    pub(super) opened: u64,
    /// How often a client has moved to another epoch.
    pub(super) moved: u64,
    /// Number of broken requests, by the point of breaking.
    pub(super) aborted: BTreeMap<&'static str, u64>,
    /// For each published epoch, seconds from the changes to the answers.
    pub(super) published: Vec<f64>,
    /// Number of those epochs with parameters of their own.
    pub(super) new_parameters: u64,
}

/// Errors of one kind.
#[derive(Debug, Default, Clone, serde::Serialize)]
pub(super) struct ErrorCount {
    pub(super) count: u64,
    /// Whether a retry repairs the error.
    pub(super) retryable: bool,
    /// Message of the first error.
    pub(super) first: String,
}

impl SoakContext<'_> {
    /// Locks the results.
    pub(super) fn results(&self) -> MutexGuard<'_, SoakResults> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether clients have to end.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Compares an answer with the content of the row at its epoch.
    pub(super) fn check(&self, row: u64, epoch: u64, value: &[u8]) {
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
    pub(super) fn failed(&self, doing: &str, error: &ClientError) {
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
