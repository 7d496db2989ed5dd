//! The shapes of memory kernels on this machine: measured once, and stored in the cache folder.

use super::connect_args::default_cache;
use sotto_bench::machine::Shapes;
use std::path::PathBuf;

/// Sets the best kernel shapes of this machine, and describes them in a line; measures if none are
/// stored.
///
/// Nothing here fails: the answers are the same for all shapes. Shapes that the environment sets
/// are not changed.
pub(super) fn ready() -> String {
    if std::env::var_os("SOTTO_SHAPES").is_some() {
        let shapes = sotto_math::machine::shapes();
        let each = shapes.iter().map(|shape| format!("{} {}", shape.kernel, shape.name));
        return format!("{} (SOTTO_SHAPES)", each.collect::<Vec<_>>().join(", "));
    }
    let file = file();
    if let Some(shapes) = file.as_deref().and_then(Shapes::recall) {
        return shapes.line();
    }
    match Shapes::measure() {
        Ok(shapes) => {
            keep(&shapes);
            format!("{} (measured in {:.0} ms)", shapes.line(), shapes.took_ms)
        }
        Err(_) => "defaults".to_owned(),
    }
}

/// Stores shapes for later runs. If that is not possible, the next run measures again.
pub(super) fn keep(shapes: &Shapes) {
    if let Some(file) = file() {
        let _ = shapes.keep(&file);
    }
}

fn file() -> Option<PathBuf> {
    Some(default_cache().ok()?.join("kernels.json"))
}
