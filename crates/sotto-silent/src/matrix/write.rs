//! Writing a matrix in panels: records in bounded memory for any size of the table, a rectangle, and
//! changes of one column.

use super::SectionOffset;
use rayon::prelude::*;
use sotto_core::{ExpectOrDefault, Misuse, RecordSource, Result, Section, Sink};
use sotto_math::matrix::{PANEL_ROWS, PanelLayout};
use std::ops::Range;

/// Bytes of records that are in memory at once. Each thread adds a piece of one panel.
const SLAB: usize = 32 << 20;

/// Maximum columns in a slab, so that small records do not make pieces of panels large.
const MAX_COLUMNS: usize = 1 << 14;

/// Columns that are stored together in a panel.
const TOGETHER: usize = 4;

/// Bytes of a cache line.
const LINE: usize = 64;

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
/// The errors of [`write_matrix`].
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
        return Err(Misuse::Rule("the records must have the shape of the parameters").into());
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

/// Writes some rows of some columns of the matrix at an offset, without changing other bytes of its
/// panels. `fill` supplies the bytes of a row in these columns. Memory is twice a panel's bytes of these
/// columns for each thread.
///
/// # Errors
/// Storage errors.
pub fn write_part(
    layout: PanelLayout,
    at: SectionOffset,
    rows: Range<usize>,
    cols: Range<usize>,
    fill: impl Fn(usize, &mut [u8]) + Sync,
    out: &dyn Sink,
) -> Result<()> {
    let SectionOffset { section, start } = at;
    let first_col = cols.start / TOGETHER * TOGETHER;
    let width = cols.end.next_multiple_of(TOGETHER) - first_col;
    // Lines of a power of two would all fall into the same few sets of a cache.
    let stride = width + LINE;
    (rows.start / PANEL_ROWS..rows.end.div_ceil(PANEL_ROWS)).into_par_iter().try_for_each_init(
        || (vec![0; width * PANEL_ROWS], vec![0; stride * PANEL_ROWS]),
        |(piece, lines), panel| {
            let first = layout.offset(panel * PANEL_ROWS, first_col);
            let within = rows.start.max(panel * PANEL_ROWS)..rows.end.min((panel + 1) * PANEL_ROWS);
            // The piece is read first for the rows and columns that stay, if there are any.
            if within.len() * cols.len() < piece.len() {
                out.read_at(section, start + first as u64, piece)?;
            }
            let first_row = within.start % PANEL_ROWS;
            for (row, line) in within.clone().zip(lines.chunks_exact_mut(stride)) {
                let line = line.get_mut(..width).unwrap_or_default();
                if cols.len() < width {
                    layout.row_of_panel(piece, row % PANEL_ROWS, line);
                }
                fill(row, line.get_mut(cols.start - first_col..cols.end - first_col).unwrap_or_default());
            }
            for (i, group) in piece.chunks_exact_mut(TOGETHER * PANEL_ROWS).enumerate() {
                let cells = group.as_chunks_mut::<TOGETHER>().0.iter_mut().skip(first_row);
                for (cell, line) in cells.zip(lines.chunks_exact(stride)).take(within.len()) {
                    *cell = line.as_chunks().0.get(i).copied().unwrap_or_default();
                }
            }
            out.write_at(section, start + first as u64, piece)
        },
    )
}

/// Lets `edit` change the bytes of some rows of a column, in whole panels, in an image. Returns
/// whether it changed any.
///
/// # Errors
/// Storage errors.
pub fn change_column(
    layout: &PanelLayout,
    section: Section,
    column: usize,
    panels: Range<usize>,
    edit: impl FnOnce(&mut [u8]),
    out: &dyn Sink,
) -> Result<bool> {
    let start = |panel: usize| layout.offset(panel * PANEL_ROWS, column / TOGETHER * TOGETHER);
    let mut pieces = vec![0; panels.len() * PANEL_ROWS * TOGETHER];
    for (panel, piece) in panels.clone().zip(pieces.chunks_exact_mut(PANEL_ROWS * TOGETHER)) {
        out.read_at(section, start(panel) as u64, piece)?;
    }
    // Offset of each row's byte of the column in its piece.
    let places: Vec<usize> = (0..PANEL_ROWS).map(|row| layout.offset(row, column) - start(0)).collect();
    let places = || places.iter().copied();
    let of_piece = |piece: &[u8]| places().filter_map(|at| piece.get(at).copied()).collect::<Vec<u8>>();
    let old: Vec<u8> = pieces.chunks_exact(PANEL_ROWS * TOGETHER).flat_map(of_piece).collect();
    let mut new = old.clone();
    edit(&mut new);
    if new == old {
        return Ok(false);
    }
    let pieces = pieces.chunks_exact_mut(PANEL_ROWS * TOGETHER);
    for ((panel, piece), bytes) in panels.zip(pieces).zip(new.chunks_exact(PANEL_ROWS)) {
        for (at, byte) in places().zip(bytes) {
            piece.get_mut(at).into_iter().for_each(|to| *to = *byte);
        }
        out.write_at(section, start(panel) as u64, piece)?;
    }
    Ok(true)
}
