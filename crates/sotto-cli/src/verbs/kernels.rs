//! How kernels go through memory on this machine: measured once, and remembered in the cache folder.

use super::connect_args::default_cache;
use sotto_bench::machine::Shapes;
use std::path::PathBuf;

/// Has the kernels use what is best here, and says it in a line; measures where nothing is remembered.
///
/// Nothing here fails: whatever the shapes, answers are the same. Shapes that the environment pins are left alone.
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

/// Remembers shapes for the next program. Where that cannot be, the next one measures again.
pub(super) fn keep(shapes: &Shapes) {
    if let Some(file) = file() {
        let _ = shapes.keep(&file);
    }
}

fn file() -> Option<PathBuf> {
    Some(default_cache().ok()?.join("kernels.json"))
}
