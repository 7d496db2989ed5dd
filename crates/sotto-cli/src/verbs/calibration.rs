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
            "times are counted, not measured: each scheme's own account, at the rate of the machine of `sotto_core::work`. {why}"
        )
    };
    let Some(file) = file() else {
        return (None, usual("There is no cache folder to remember measurements in."));
    };
    match Calibration::recall(&file, &machine::name()) {
        Ok(known) => {
            let said =
                format!("times are predicted from {} measurements on this machine", known.samples.len());
            (Some(known), said)
        }
        Err(CalibrationError::Storage(_)) => {
            (None, usual("`sotto bench machine` measures this machine, in some minutes."))
        }
        Err(why) => (
            None,
            usual(&format!("{} is not used: {why}. `sotto bench machine` measures again.", file.display())),
        ),
    }
}

/// Stores a calibration for later runs, and returns where.
pub(super) fn keep(calibration: &Calibration) -> Result<String> {
    let Some(file) = file() else { return Ok("there is no cache folder to remember it in".to_owned()) };
    calibration.keep(&file).map_err(|error| Failure::file("writing", &file, &error))?;
    Ok(format!("remembered in {}, for `sotto plan`", file.display()))
}

fn file() -> Option<PathBuf> {
    Some(default_cache().ok()?.join("calibration.json"))
}
