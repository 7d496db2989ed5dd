//! `sotto bench regression`: whether anything has become slower than it was.

use super::Bench;
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::Screen;
use crate::screen::progress::StageUnit;
use sotto_bench::Options;
use sotto_bench::regression::{GuardReport, guard};

/// Measures and prints all ratios. If one has fallen, that is an error of sotto.
pub(super) fn run(bench: &Bench, options: &Options, screen: Screen) -> Result<()> {
    if bench.svg.is_some() || options.threads.is_some() {
        let reason = "--svg and --threads do not apply to `bench regression`";
        return Err(Failure::usage(reason).fix("omit them"));
    }
    let bars = screen.bars();
    let report = guard(options, &|at| {
        bars.at(&format!("{}: {}", at.case, at.step), at.done, at.total, StageUnit::Share);
    });
    let report = report.map_err(exit_mapping::bench)?;
    bars.finish();
    bench.print(screen, &report.table(), &report, &report.json())?;
    verdict(&report)
}

fn verdict(report: &GuardReport) -> Result<()> {
    let fallen = report.fallen().map(|ratio| {
        let figure = |ratio: Option<f64>| ratio.unwrap_or(f64::NAN);
        let (measured, min) = (figure(ratio.measured_ratio), figure(ratio.least_ratio));
        format!("{} is {measured:.3} times {}, expected at least {min:.3}", ratio.name, ratio.against)
    });
    let fallen: Vec<String> = fallen.collect();
    if fallen.is_empty() {
        return Ok(());
    }
    Err(Failure::internal(format!("ratios fell: {}", fallen.join("; "))).fix(
        "check the memory of this machine with `sotto bench machine`, and try again when it is idle; then \
         find the commit with `git bisect run make bench-regression`",
    ))
}
