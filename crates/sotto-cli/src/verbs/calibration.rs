//! The calibration of this machine: how fast schemes are, measured by `sotto bench machine`, and
//! stored in the cache folder.

use super::connect_args::default_cache;
use crate::failure::{Failure, Result};
use sotto_bench::machine;
use sotto_plan::Calibration;
use sotto_plan::calibration::CalibrationError;
use std::path::PathBuf;

/// The stored calibration of this machine, and a line that says where times come from.
pub(super) fn recall() -> (Option<Calibration>, String) {
    let usual = |why: &str| {
        format!(
            "times are estimates from each scheme's count of its work, at the rate of a reference machine. {why}"
        )
    };
    let Some(file) = file() else {
        return (None, usual("No cache folder exists for measurements."));
    };
    match Calibration::recall(&file, &machine::name()) {
        Ok(known) => {
            let said =
                format!("times are predicted from {} measurements on this machine", known.samples.len());
            (Some(known), said)
        }
        Err(CalibrationError::Storage(_)) => {
            (None, usual("`sotto bench machine` measures this machine in a few minutes."))
        }
        Err(why) => (
            None,
            usual(&format!("{} is not used: {why}. `sotto bench machine` measures again.", file.display())),
        ),
    }
}

/// Stores a calibration for later runs, and returns where.
pub(super) fn keep(calibration: &Calibration) -> Result<String> {
    let Some(file) = file() else { return Ok("not saved: no cache folder exists".to_owned()) };
    calibration.keep(&file).map_err(|error| Failure::file("writing", &file, &error))?;
    Ok(format!("saved in {} for `sotto plan`", file.display()))
}

fn file() -> Option<PathBuf> {
    Some(default_cache().ok()?.join("calibration.json"))
}
