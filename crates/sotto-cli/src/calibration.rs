//! Measurements of this machine that are stored in the cache folder: how fast schemes are
//! (`sotto bench machine`), and the best shapes of memory kernels.

use crate::connect_args::default_cache;
use crate::failure::{FileContext, Result};
use sotto_bench::machine;
use sotto_bench::machine::Shapes;
use sotto_plan::Calibration;
use sotto_plan::calibration::CalibrationError;
use std::path::PathBuf;

/// The stored calibration of this machine, and a line that says where times come from.
pub(crate) fn recall() -> (Option<Calibration>, String) {
    let counted = |why: &str| {
        format!(
            "times are estimates from each scheme's count of its work, at the rate of a reference machine. {why}"
        )
    };
    let Some(file) = cache_file("calibration.json") else {
        return (None, counted("No cache folder exists for measurements."));
    };
    match Calibration::recall(&file, &machine::name()) {
        Ok(known) => {
            let source =
                format!("times are predicted from {} measurements on this machine", known.samples.len());
            (Some(known), source)
        }
        Err(CalibrationError::Storage(_)) => {
            (None, counted("`sotto bench machine` measures this machine in less than a minute."))
        }
        Err(why) => (
            None,
            counted(&format!("{} is not used: {why}. `sotto bench machine` measures again.", file.display())),
        ),
    }
}

/// Stores a calibration for later runs, and returns where.
pub(crate) fn store(calibration: &Calibration) -> Result<String> {
    let Some(file) = cache_file("calibration.json") else {
        return Ok("not saved: no cache folder exists".to_owned());
    };
    calibration.keep(&file).doing("writing", &file)?;
    Ok(format!("saved in {} for `sotto plan`", file.display()))
}

/// Sets the best kernel shapes of this machine, and describes them in a line; measures if none are
/// stored.
///
/// Nothing here fails: the answers are the same for all shapes. Shapes that the environment sets
/// are not changed.
pub(crate) fn use_kernel_shapes() -> String {
    if std::env::var_os("SOTTO_SHAPES").is_some() {
        let shapes = sotto_math::machine::shapes();
        let each = shapes.iter().map(|shape| format!("{} {}", shape.kernel, shape.name));
        return format!("{} (SOTTO_SHAPES)", each.collect::<Vec<_>>().join(", "));
    }
    let file = cache_file("kernels.json");
    if let Some(shapes) = file.as_deref().and_then(Shapes::recall) {
        return shapes.line();
    }
    match Shapes::measure() {
        Ok(shapes) => {
            store_kernel_shapes(&shapes);
            format!("{} (measured in {:.0} ms)", shapes.line(), shapes.took_ms)
        }
        Err(_) => "defaults".to_owned(),
    }
}

/// Stores shapes for later runs. If that is not possible, the next run measures again.
pub(crate) fn store_kernel_shapes(shapes: &Shapes) {
    if let Some(file) = cache_file("kernels.json") {
        let _ = shapes.keep(&file);
    }
}

fn cache_file(name: &str) -> Option<PathBuf> {
    Some(default_cache().ok()?.join(name))
}
