//! Writing a rectangle of a matrix, without changing other bytes of its panels.

use rayon::prelude::*;
use sotto_core::{Result, Section, Sink};
use sotto_math::matrix::PanelLayout;
use sotto_math::matrix::layout::PANEL_ROWS;
use std::ops::Range;

/// Columns that are stored together.
const FOUR: usize = 4;

/// Writes some rows of some columns of a matrix, which begins at a byte of its section. `fill`
/// supplies the bytes of a row in these columns. Memory is a panel's bytes of these columns for
/// each thread.
///
/// # Errors
/// Storage errors.
/// Storage errors.
pub fn write_part(
    layout: PanelLayout,
    (out, section, start): (&dyn Sink, Section, u64),
    rows: Range<usize>,
    cols: Range<usize>,
    fill: impl Fn(usize, &mut [u8]) + Sync,
) -> Result<()> {
    let first_col = cols.start / FOUR * FOUR;
    let width = cols.end.next_multiple_of(FOUR) - first_col;
    (rows.start / PANEL_ROWS..rows.end.div_ceil(PANEL_ROWS)).into_par_iter().try_for_each_init(
        || (vec![0; width * PANEL_ROWS], vec![0; width]),
        |(piece, line), panel| {
            let first = layout.offset(panel * PANEL_ROWS, first_col);
            let within = rows.start.max(panel * PANEL_ROWS)..rows.end.min((panel + 1) * PANEL_ROWS);
            // The piece is read first for the rows and columns that stay, if there are any.
            if within.len() * cols.len() < piece.len() {
                out.read_at(section, start + first as u64, piece)?;
            }
            for row in within {
                layout.row_of_panel(piece, row % PANEL_ROWS, line);
                fill(row, line.get_mut(cols.start - first_col..cols.end - first_col).unwrap_or_default());
                let at = row % PANEL_ROWS * FOUR;
                for (group, four) in piece.chunks_exact_mut(FOUR * PANEL_ROWS).zip(line.chunks_exact(FOUR)) {
                    group.iter_mut().skip(at).zip(four).for_each(|(cell, byte)| *cell = *byte);
                }
            }
            out.write_at(section, start + first as u64, piece)
        },
    )
}
