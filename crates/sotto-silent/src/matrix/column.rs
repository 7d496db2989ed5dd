//! Reading, changing and writing back a range of one column.

use sotto_core::{Result, Section, Sink};
use sotto_math::matrix::PanelLayout;
use sotto_math::matrix::layout::PANEL_ROWS;
use std::ops::Range;

/// Columns that are stored together in a panel.
const TOGETHER: usize = 4;

/// Lets `edit` change the bytes of some rows of a column, in whole panels, in an image. Returns
/// whether it changed any.
///
/// # Errors
/// Storage errors.
pub fn change_column(
    layout: &PanelLayout,
    (section, out): (Section, &dyn Sink),
    column: usize,
    panels: Range<usize>,
    edit: impl FnOnce(&mut [u8]),
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
