//! `sotto bench regression`: whether anything has become slower than it was.

use super::Bench;
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::Screen;
use crate::screen::bars::StageUnit;
use sotto_bench::Options;
use sotto_bench::regression::{GuardReport, guard};

/// Measures and prints all ratios. If one has fallen, that is an error of sotto.
pub(super) fn run(bench: &Bench, options: &Options, screen: Screen) -> Result<()> {
    if bench.svg.is_some() || options.threads.is_some() {
        let said = "`bench regression` is on one thread, and there is no drawing of it";
        return Err(Failure::usage(said).fix("leave --svg and --threads out"));
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
        let (measured, least) = (figure(ratio.measured_ratio), figure(ratio.least_ratio));
        format!("{} is {measured:.3} times {}, and was to be at least {least:.3}", ratio.name, ratio.against)
    });
    let fallen: Vec<String> = fallen.collect();
    if fallen.is_empty() {
        return Ok(());
    }
    Err(Failure::internal(format!("slower than it was: {}", fallen.join("; "))).fix(
        "see with `sotto bench machine` whether this machine reads memory as it should, and try again when it is idle; \
         then `git bisect run make bench-regression` finds the commit",
    ))
}
