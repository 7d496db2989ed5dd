//! The regression guard: ratios that must not fall, and that fall when a change makes something
//! slower.
//!
//! Times say little on a shared machine, and nothing about another one. Quotients of two times that
//! were taken in turns say more: of a kernel to a plain read of the same memory, of one kernel or
//! scheme to another. Each is compared with its earlier value, and a ratio has fallen only if it is
//! far below that twice.

mod baselines;
mod kernels;

use crate::machine::{MachineFacts, Shapes};
use crate::options::Watcher;
use crate::report::{Report, blank, digits, paragraph};
use crate::{BenchError, Options, Progress, load};
use baselines::{MEASURED_ON, Probe, RATIOS, Ratio};
use kernels::ScanMemory;
use serde::Serialize;
use std::time::Instant;

/// The results of the guard.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
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
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
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
        let heads = ["what", "against", "times", "was", "at least", "tries", "verdict"];
        let mut table = blank(2, heads);
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
            Some(why) => format!("No ratio is judged: {why}."),
        };
        let note = format!(
            "times: how many times as fast as the figure that it is compared with, which was measured in \
             turns with it; on one thread. {judged} Took {} s.",
            digits(self.took_s)
        );
        format!("{}\n\n{table}\n\n{}\n", paragraph(&self.machine.line()), paragraph(&note))
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
                memory.reader.install(|| kernels::cached_ratio(*kernel, memory.bytes(), options.quick))
            }
            Probe::Scheme(_) => None,
        };
    }
    let huge_pages = memory.huge_pages();
    // Schemes have memory of their own for their reads.
    drop(memory);
    if ratios.iter().any(|ratio| matches!(ratio.probe, Probe::Scheme(_))) {
        let report = crate::run(&load(DEFINITION)?, options, watcher)?;
        for (ratio, found) in ratios.iter().zip(&mut found) {
            if let Probe::Scheme(figure) = &ratio.probe {
                *found = figure.of(&report);
            }
        }
    }
    Ok(Attempt { found, huge_pages })
}

/// Divisor of the expected ratio, below which a ratio has fallen: no neighbor changes a quotient of
/// times in turns by so much, and a broken kernel does.
const SLACK: f64 = 1.8;

/// The verdict on a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// At least one attempt reached the minimum.
    #[serde(rename = "holds")]
    Passed,
    /// No attempt reached the minimum.
    #[serde(rename = "fallen")]
    Regressed,
    /// No ratio is expected, or nothing was measured.
    NotJudged,
}

impl Verdict {
    /// Judges the attempts at a ratio; the best of them counts.
    pub(super) fn of(expected: Option<f64>, attempts: &[f64]) -> Self {
        match expected {
            None => Verdict::NotJudged,
            Some(_) if attempts.is_empty() => Verdict::NotJudged,
            Some(expected) if attempts.iter().any(|ratio| *ratio >= minimum(expected)) => Verdict::Passed,
            Some(_) => Verdict::Regressed,
        }
    }

    /// The verdict in a word, for the table.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Passed => "holds",
            Verdict::Regressed => "FALLEN",
            Verdict::NotJudged => "-",
        }
    }
}

/// The minimum for an expected ratio.
pub(super) fn minimum(expected: f64) -> f64 {
    expected / SLACK
}

/// The conditions that decide whether a run can be judged.
pub(super) struct Conditions<'a> {
    pub(super) backend: &'a str,
    pub(super) optimized: bool,
    pub(super) quick: bool,
    pub(super) huge_pages: bool,
}

/// The backends with expected ratios, in the order of the table's columns.
const BACKENDS: [&str; 2] = ["avx512", "avx2"];

impl Conditions<'_> {
    /// The column of the table that applies, or the reason why none does.
    pub(super) fn column(&self) -> Result<usize, String> {
        if !self.optimized {
            return Err("the build is unoptimized; use `make bench-regression`".to_owned());
        }
        if self.quick {
            return Err("--quick has too few repetitions; omit it".to_owned());
        }
        if !self.huge_pages {
            return Err("the system has no huge pages, without which ratios differ".to_owned());
        }
        // Tiles share a pass among more queries than AVX-512 does, and are the same otherwise.
        let known = if self.backend == "amx" { "avx512" } else { self.backend };
        BACKENDS.iter().position(|backend| *backend == known).ok_or_else(|| {
            format!("no ratios are known for {} kernels, only for {}", self.backend, BACKENDS.join(" and "))
        })
    }
}

/// The built-in definition that has the tables.
const DEFINITION: &str = "regression-schemes";

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
        assert_eq!(serde_json::to_value(&report).unwrap()["format"], "sotto-guard/1");
    }

    const FINE: Conditions<'_> =
        Conditions { backend: "avx512", optimized: true, quick: false, huge_pages: true };

    #[test]
    fn a_ratio_falls_only_far_below_what_is_expected() {
        let judge = |ratio| Verdict::of(Some(0.9), &[ratio]);
        assert_eq!([judge(0.9), judge(0.51), judge(40.0)], [Verdict::Passed; 3]);
        assert_eq!([judge(0.49), judge(0.0), judge(f64::NAN)], [Verdict::Regressed; 3]);
        assert_eq!(Verdict::of(Some(0.9), &[minimum(0.9)]), Verdict::Passed, "the end belongs to the band");
    }

    #[test]
    fn a_second_attempt_clears_the_first() {
        assert_eq!(Verdict::of(Some(1.0), &[0.3, 0.9]), Verdict::Passed);
        assert_eq!(Verdict::of(Some(1.0), &[0.3, 0.31]), Verdict::Regressed);
    }

    #[test]
    fn what_is_not_known_or_not_measured_is_not_judged() {
        assert_eq!(Verdict::of(None, &[0.0]), Verdict::NotJudged);
        assert_eq!(Verdict::of(Some(1.0), &[]), Verdict::NotJudged);
    }

    #[test]
    fn only_known_backends_in_their_best_conditions_are_judged() {
        assert_eq!(FINE.column(), Ok(0));
        assert_eq!(Conditions { backend: "amx", ..FINE }.column(), Ok(0));
        assert_eq!(Conditions { backend: "avx2", ..FINE }.column(), Ok(1));
        for other in ["scalar", "avxvnni", "neon", ""] {
            assert!(Conditions { backend: other, ..FINE }.column().unwrap_err().contains("avx512 and avx2"));
        }
        assert!(Conditions { optimized: false, ..FINE }.column().is_err());
        assert!(Conditions { quick: true, ..FINE }.column().is_err());
        assert!(Conditions { huge_pages: false, ..FINE }.column().is_err());
    }
}
