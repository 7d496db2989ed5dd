//! Writing records as a matrix in panels, in bounded memory for any size of the table.

use super::SectionOffset;
use rayon::prelude::*;
use sotto_core::{ExpectOrDefault, Misuse, RecordSource, Result, Sink};
use sotto_math::matrix::PanelLayout;
use sotto_math::matrix::layout::PANEL_ROWS;

/// Bytes of records that are in memory at once. Each thread adds a piece of one panel.
const SLAB: usize = 32 << 20;

/// Maximum columns in a slab, so that small records do not make pieces of panels large.
const MAX_COLUMNS: usize = 1 << 14;

/// Turns records, which are columns, into panels of 64 rows, and writes them into a reserved section.
///
/// # Errors
/// [`Misuse::Rule`] if `rows` has another shape than the layout; storage errors.
pub fn write_matrix(
    layout: PanelLayout,
    at: impl Into<SectionOffset>,
    rows: &dyn RecordSource,
    out: &dyn Sink,
) -> Result<()> {
    let stage = |done, total| out.progress("matrix", done, total);
    write_columns(layout, at, rows, stage, out)
}

/// [`write_matrix`] with progress reported by the caller: `stage` gets the columns that are done.
///
/// # Errors
/// Those of [`write_matrix`].
pub fn write_columns(
    layout: PanelLayout,
    at: impl Into<SectionOffset>,
    rows: &dyn RecordSource,
    stage: impl Fn(u64, u64),
    out: &dyn Sink,
) -> Result<()> {
    let SectionOffset { section, start } = at.into();
    let (l, m) = (layout.rows(), layout.cols());
    if rows.records() != m as u64 || rows.record_bytes() != l {
        return Err(Misuse::Rule("the records have the shape the parameters were chosen for").into());
    }
    // Slabs have whole groups of four columns, since those are contiguous in a panel.
    let width = (SLAB / l / 4 * 4).clamp(4, MAX_COLUMNS);
    let mut slab = vec![0; width.min(m) * l];
    for first in (0..m).step_by(width) {
        let k = width.min(m - first);
        let columns = slab.get_mut(..k * l).expect_or_default("a slab holds this many columns");
        rows.read(first as u64, columns)?;
        let columns = &*columns;
        (0..layout.panels()).into_par_iter().try_for_each_init(Vec::new, |piece, panel| {
            piece.resize(k.next_multiple_of(4) * PANEL_ROWS, 0);
            layout.gather_panel(panel, columns, k, piece);
            let offset = start + panel as u64 * layout.panel_bytes() as u64 + (first * PANEL_ROWS) as u64;
            out.write_at(section, offset, piece)
        })?;
        stage((first + k) as u64, m as u64);
    }
    Ok(())
}
