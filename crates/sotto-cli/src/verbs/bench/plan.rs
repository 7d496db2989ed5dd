//! `sotto bench plan`: how good the predictions of `sotto plan` are; and the calibration that they
//! are based on.

use super::Bench;
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::Screen;
use crate::screen::progress::StageUnit;
use crate::verbs::calibration;
use sotto_bench::calibrate::calibrate as measure;
use sotto_bench::predictions::predict;
use sotto_bench::{Options, Progress};
use sotto_plan::Calibration;

/// Measures how fast schemes are on this machine, and stores the result, unless it was measured in
/// a hurry.
pub(super) fn calibrate(options: &Options, screen: Screen) -> Result<()> {
    if options.quick {
        return screen.say("\nschemes were not measured for `sotto plan`, which --quick skips");
    }
    let calibration = watched(screen, |progress| measure(options, progress))?;
    let place = calibration::store(&calibration)?;
    let (samples, took) = (calibration.samples.len(), calibration.took_s);
    screen.say(format!("\n{samples} measurements of schemes in {took:.0} s, {place}"))
}

/// Compares predictions with measurements.
pub(super) fn run(bench: &Bench, options: &Options, screen: Screen) -> Result<()> {
    if bench.svg.is_some() {
        return Err(Failure::usage("--svg does not apply to `bench plan`").fix("omit --svg"));
    }
    let calibration = match calibration::recall().0 {
        Some(known) => known,
        None => first(options, screen)?,
    };
    let schemes = sotto_registry::SCHEMES;
    let report = watched(screen, |progress| predict(&calibration, schemes, options, progress))?;
    bench.print(screen, &report.table(), &report, &report.json())
}

fn first(options: &Options, screen: Screen) -> Result<Calibration> {
    let calibration = watched(screen, |progress| measure(options, progress))?;
    if !options.quick {
        calibration::store(&calibration)?;
    }
    Ok(calibration)
}

/// Runs work that reports its progress.
fn watched<T>(
    screen: Screen,
    work: impl FnOnce(&(dyn Fn(Progress<'_>) + Sync)) -> std::result::Result<T, sotto_bench::BenchError>,
) -> Result<T> {
    let bars = screen.bars();
    let done = work(&|at| bars.at(&format!("{}: {}", at.case, at.step), at.done, at.total, StageUnit::Share));
    bars.finish();
    done.map_err(exit_mapping::bench)
}
