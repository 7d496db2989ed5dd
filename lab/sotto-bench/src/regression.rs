//! The regression guard: ratios that must not fall, and that fall when a change makes something
//! slower.
//!
//! Times say little on a shared machine, and nothing about another one. Quotients of two times that
//! were taken in turns say more: of a kernel to a plain read of the same memory, of one kernel or
//! scheme to another. Each is compared with its earlier value, and a ratio has fallen only if it is
//! far below that twice.

mod baselines;
mod cache_kernels;
mod judge;
mod memory;
mod schemes;

pub use judge::Verdict;

use crate::machine::{MachineFacts, Shapes};
use crate::options::Watcher;
use crate::report::{TABLE_WIDTH, digits, wrapped};
use crate::{BenchError, Options, Progress};
use baselines::{MEASURED_ON, Probe, RATIOS, Ratio};
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};
use judge::{Conditions, minimum};
use memory::ScanMemory;
use serde::Serialize;
use std::time::Instant;

/// The results of the guard.
#[derive(Debug, Clone, Serialize)]
pub struct GuardReport {
    /// Name and version of this format.
    pub format: &'static str,
    /// The machine of the measurement.
    pub machine: MachineFacts,
    /// The processor that the expected ratios were measured on.
    pub expected_on: &'static str,
    /// The reason why nothing is judged here, if any.
    pub not_judged: Option<String>,
    /// All ratios, in the table's order.
    pub ratios: Vec<JudgedRatio>,
    /// Seconds that the whole run took.
    pub took_s: f64,
}

/// One ratio, measured and judged.
#[derive(Debug, Clone, Serialize)]
pub struct JudgedRatio {
    /// Name of the measured quantity.
    pub name: &'static str,
    /// Name of the reference.
    pub against: &'static str,
    /// The better of the attempts; absent if a part did not run.
    pub measured_ratio: Option<f64>,
    /// The expected ratio from the table, for this backend.
    pub expected_ratio: Option<f64>,
    /// The minimum: a ratio below it has fallen.
    pub least_ratio: Option<f64>,
    /// Number of attempts: one, or two where the first was too low.
    pub attempts_count: usize,
    /// Whether the ratio has fallen.
    pub verdict: Verdict,
}

impl GuardReport {
    /// The ratios that have fallen.
    pub fn fallen(&self) -> impl Iterator<Item = &JudgedRatio> {
        self.ratios.iter().filter(|ratio| ratio.verdict == Verdict::Regressed)
    }

    /// A table for people.
    pub fn table(&self) -> String {
        let mut table = Table::new();
        let heads = ["what", "against", "times", "was", "at least", "tries", "verdict"];
        table.load_style(ASCII_MARKDOWN).set_header(heads);
        for column in table.column_iter_mut().skip(2).take(4) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let shown = |ratio: Option<f64>| digits(ratio.unwrap_or(f64::NAN));
        for ratio in &self.ratios {
            table.add_row([
                ratio.name.to_owned(),
                ratio.against.to_owned(),
                shown(ratio.measured_ratio),
                shown(ratio.expected_ratio),
                shown(ratio.least_ratio),
                ratio.attempts_count.to_string(),
                ratio.verdict.word().to_owned(),
            ]);
        }
        let judged = match &self.not_judged {
            None => format!(
                "{} of {} hold. was: on {}. A ratio has fallen if it is below the minimum twice.",
                self.ratios.len() - self.fallen().count(),
                self.ratios.len(),
                self.expected_on
            ),
            Some(why) => format!("Nothing is judged: {why}."),
        };
        let note = format!(
            "times: how many times as fast as the figure that it is compared with, which was measured in \
             turns with it; on one thread. {judged} Took {} s.",
            digits(self.took_s)
        );
        let lines = |text: &str| wrapped(text, TABLE_WIDTH).join("\n");
        format!("{}\n\n{table}\n\n{}\n", lines(&self.machine.line()), lines(&note))
    }

    /// JSON, indented.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_else(|_| "{}".to_owned())
    }
}

/// Measures all ratios on one thread, those that are too low twice. Takes half a minute, or a whole
/// one.
///
/// # Errors
/// [`BenchError`]: without memory, without the schemes, and for one wrong answer. A ratio that has
/// fallen is no error here.
pub fn guard(options: &Options, progress: &(dyn Fn(Progress<'_>) + Sync)) -> Result<GuardReport, BenchError> {
    let start = Instant::now();
    let options = Options { threads: Some(1), ..options.clone() };
    let defaults = sotto_math::machine::shapes();
    Shapes::measure()?;
    let machine = MachineFacts::of_this(&options);
    let first = attempt(RATIOS.iter().collect(), &defaults, &options, progress)?;
    let conditions = Conditions {
        backend: &machine.kernels,
        optimized: machine.optimized,
        quick: options.quick,
        huge_pages: first.huge_pages,
    };
    let (column, not_judged) = match conditions.column() {
        Ok(column) => (Some(column), None),
        Err(why) => (None, Some(why)),
    };
    let expected = |ratio: &Ratio| column.and_then(|column| ratio.expected.get(column).copied());
    let mut attempts: Vec<Vec<f64>> =
        first.found.iter().map(|found| found.iter().copied().collect()).collect();
    let verdict = |ratio: &Ratio, attempts: &[f64]| Verdict::of(expected(ratio), attempts);
    let pairs = RATIOS.iter().zip(&mut attempts);
    let (again, places): (Vec<&Ratio>, Vec<&mut Vec<f64>>) =
        pairs.filter(|(ratio, attempts)| verdict(ratio, attempts) == Verdict::Regressed).unzip();
    if !again.is_empty() {
        let second = attempt(again, &defaults, &options, progress)?;
        places.into_iter().zip(second.found).for_each(|(place, found)| place.extend(found));
    }
    let ratios = RATIOS.iter().zip(&attempts).map(|(ratio, attempts)| JudgedRatio {
        name: ratio.name,
        against: ratio.against,
        measured_ratio: attempts.iter().copied().reduce(f64::max),
        expected_ratio: expected(ratio),
        least_ratio: expected(ratio).map(minimum),
        attempts_count: attempts.len(),
        verdict: verdict(ratio, attempts),
    });
    let ratios = ratios.collect();
    let took_s = start.elapsed().as_secs_f64();
    Ok(GuardReport { format: "sotto-guard/1", machine, expected_on: MEASURED_ON, not_judged, ratios, took_s })
}

/// One measurement of some ratios.
struct Attempt {
    /// The ratios, one for each requested one.
    found: Vec<Option<f64>>,
    /// Whether the memory was on huge pages.
    huge_pages: bool,
}

fn attempt(
    ratios: Vec<&Ratio>,
    defaults: &[sotto_math::machine::KernelShape],
    options: &Options,
    watcher: Watcher<'_>,
) -> Result<Attempt, BenchError> {
    let memory = ScanMemory::new(options)?;
    let mut found = vec![None; ratios.len()];
    let total = ratios.len() as u64;
    for (done, (ratio, found)) in (0..).zip(ratios.iter().zip(&mut found)) {
        watcher(Progress { case: "guard", step: ratio.name, done, total });
        *found = match &ratio.probe {
            Probe::Memory(kernel) => memory.ratio(*kernel, defaults),
            Probe::Cached(kernel) => {
                memory.reader.install(|| cache_kernels::ratio(*kernel, memory.bytes(), options.quick))
            }
            Probe::Scheme(_) => None,
        };
    }
    let huge_pages = memory.huge_pages();
    // Schemes have memory of their own for their reads.
    drop(memory);
    if ratios.iter().any(|ratio| matches!(ratio.probe, Probe::Scheme(_))) {
        let report = schemes::run(options, watcher)?;
        for (ratio, found) in ratios.iter().zip(&mut found) {
            if let Probe::Scheme(figure) = &ratio.probe {
                *found = figure.of(&report);
            }
        }
    }
    Ok(Attempt { found, huge_pages })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_run_has_every_ratio_and_judges_none() {
        let report = guard(&Options { quick: true, ..Options::default() }, &|_| ()).unwrap();
        assert_eq!(report.ratios.len(), RATIOS.len());
        for ratio in &report.ratios {
            let measured = ratio.measured_ratio.unwrap_or_default();
            assert!(measured > 0.0 && measured.is_finite(), "{}: {measured}", ratio.name);
            assert_eq!((ratio.verdict, ratio.attempts_count), (Verdict::NotJudged, 1), "{}", ratio.name);
        }
        assert!(report.not_judged.is_some() && report.fallen().next().is_none());
        let text = report.table();
        assert!(report.ratios.iter().all(|ratio| text.contains(ratio.name) && text.contains(ratio.against)));
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(110), "{widest:?} columns");
        let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
        assert_eq!(json["format"], "sotto-guard/1");
        assert_eq!(json["ratios"].as_array().unwrap().len(), RATIOS.len());
    }
}
