//! A rectangle of a matrix, written: what else its panels hold stays.

use rayon::prelude::*;
use sotto_core::{Result, Section, Sink};
use sotto_math::matrix::PanelLayout;
use sotto_math::matrix::layout::PANEL_ROWS;
use std::ops::Range;

/// Columns that lie together.
const FOUR: usize = 4;

/// Writes some rows of some columns of a matrix, which begins at a byte of its section. `byte` says what a row and a column have.
/// Memory is a panel's bytes of these columns for each thread.
///
/// # Errors
/// Storage errors.
pub fn write_part(
    layout: PanelLayout,
    (out, section, start): (&dyn Sink, Section, u64),
    rows: Range<usize>,
    cols: Range<usize>,
    byte: impl Fn(usize, usize) -> u8 + Sync,
) -> Result<()> {
    let first_col = cols.start / FOUR * FOUR;
    let width = cols.end.next_multiple_of(FOUR) - first_col;
    (rows.start / PANEL_ROWS..rows.end.div_ceil(PANEL_ROWS)).into_par_iter().try_for_each_init(
        || vec![0; width * PANEL_ROWS],
        |piece, panel| {
            let first = layout.offset(panel * PANEL_ROWS, first_col);
            let within = rows.start.max(panel * PANEL_ROWS)..rows.end.min((panel + 1) * PANEL_ROWS);
            // Read first, for the rows and columns that stay, unless there are none.
            if within.len() * cols.len() < piece.len() {
                out.read_at(section, start + first as u64, piece)?;
            }
            for row in within {
                for col in cols.clone() {
                    if let Some(cell) = piece.get_mut(layout.offset(row, col) - first) {
                        *cell = byte(row, col);
                    }
                }
            }
            out.write_at(section, start + first as u64, piece)
        },
    )
}
