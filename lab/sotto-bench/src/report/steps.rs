//! An answer step by step, and the links on which downloading the table would be as quick.

use serde::{Deserialize, Serialize};

/// Lookups of one case in one order of steps, on some threads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepReport {
    /// The scheme's name for the order.
    pub order: String,
    /// Threads of the server.
    pub threads_count: usize,
    /// Number of repetitions.
    pub repeated_count: usize,
    /// Median time of all steps together.
    pub server_ms: f64,
    /// Each step, in the order in which the server did them.
    pub steps: Vec<Step>,
}

/// A step of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The step's name, as the server or a publication gives it.
    pub name: String,
    /// Median time of the step.
    pub server_ms: f64,
}

/// The links on which a lookup is quicker than downloading the table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BreakEven {
    /// Milliseconds of client and server for a lookup.
    pub work_ms: f64,
    /// Bytes of queries and answers of a lookup.
    pub moved_bytes: u64,
    /// Rate of a link below which a lookup is quicker than the table.
    pub below_mbit_per_s: f64,
    /// Rate of a link below which the first lookup, with keys and artifacts, is quicker than the
    /// table.
    pub first_below_mbit_per_s: f64,
}

/// The rate at which `table_bytes` take as long as `moved_bytes` and the work: `(n - c) / T`, as
/// Dong and Chen define it.
pub(crate) fn break_even(table_bytes: u64, moved_bytes: u64, work_ms: f64) -> f64 {
    let saved = table_bytes.saturating_sub(moved_bytes) as f64 * 8.0;
    if work_ms > 0.0 { saved / work_ms / 1e3 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's 2^30 bits: 180.5 s, 231 and 192 KB. Its figure of 5.65, in 2^20 bits a second, is this.
    #[test]
    fn the_papers_figure_follows_from_its_time_and_its_bytes() {
        let rate = break_even(1 << 27, 231_000 + 192_000, 180_500.0);
        assert!((rate / 1.048_576 - 5.65).abs() < 0.01, "{rate}");
        assert_eq!((break_even(100, 200, 1.0), break_even(100, 0, 0.0)), (0.0, 0.0));
    }
}
