//! Freeing a slot in a full row, in tables with row bounds: its neighbors take some of its keys.

use super::params::Params;
use super::row_bounds::{self, RowBounds};
use super::slot;
use super::tag::KeyDigest;
use std::ops::Range;

/// Maximum number of rows whose bounds may move for one key. Each of them is written again.
pub(super) const MAX_ROWS: usize = 64;

/// Neighboring rows, and one more key to put into one of them.
pub(super) struct RowWindow<'a> {
    pub(super) params: &'a Params,
    pub(super) cuts: &'a RowBounds,
    pub(super) first: usize,
    /// The bytes of the rows.
    pub(super) rows: &'a [Vec<u8>],
    pub(super) digest: KeyDigest,
    /// The bytes of the new key's slot.
    pub(super) entry: &'a [u8],
}

/// A key and its current row and slot, if it has one.
struct PlacedKey<'a> {
    cell: u32,
    bytes: &'a [u8],
    at: Option<(usize, usize)>,
}

/// The changed rows, and the new bounds of all rows.
pub(super) type Rebalanced = (Vec<Vec<u8>>, RowBounds);

/// Moves the bounds of these rows so that all keys have slots; `None` if that is impossible. The
/// rows become as evenly full as possible, and keys that stay in their row stay in their slot.
pub(super) fn recut(window: &RowWindow<'_>) -> Option<Rebalanced> {
    let RowWindow { params, cuts, first, rows, digest, entry } = window;
    let cell = |digest| row_bounds::cell_of(digest, params.attempt, params.rows);
    let (begin, end) = (cuts.start(*first), cuts.start(first + rows.len()));
    let width = usize::try_from(params.slot_bytes()).ok()?;
    let mut held = vec![PlacedKey { cell: cell(*digest), bytes: entry, at: None }];
    for (row, bytes) in rows.iter().enumerate() {
        for (at, bytes) in bytes.chunks_exact(width).enumerate() {
            if let Some(digest) = slot::digest(params, bytes) {
                held.push(PlacedKey { cell: cell(digest), bytes, at: Some((row, at)) });
            }
        }
    }
    let mut keys_of_cells = vec![0u32; end.checked_sub(begin)? as usize];
    for key in &held {
        *keys_of_cells.get_mut(key.cell.checked_sub(begin)? as usize)? += 1;
    }
    let widths = row_bounds::cut(&keys_of_cells, rows.len(), params.slots)?;
    let cuts = cuts.recut(*first, &widths)?;

    let mut out: Vec<Vec<Option<&[u8]>>> = vec![vec![None; params.slots as usize]; rows.len()];
    let row_of = |key: &PlacedKey<'_>| {
        let is_in = |row: &usize| cells_of(&cuts, first + row).contains(&key.cell);
        (0..rows.len()).find(is_in)
    };
    let mut moved = Vec::new();
    for key in &held {
        let row = row_of(key)?;
        match key.at.filter(|(old, _)| *old == row) {
            Some((_, at)) => *out.get_mut(row)?.get_mut(at)? = Some(key.bytes),
            None => moved.push((row, key.bytes)),
        }
    }
    for (row, bytes) in moved {
        *out.get_mut(row)?.iter_mut().find(|slot| slot.is_none())? = Some(bytes);
    }
    let empty = vec![0; width];
    let row = |slots: Vec<Option<&[u8]>>| -> Vec<u8> {
        slots.into_iter().flat_map(|slot| slot.unwrap_or(&empty)).copied().collect()
    };
    Some((out.into_iter().map(row).collect(), cuts))
}

fn cells_of(cuts: &RowBounds, row: usize) -> Range<u32> {
    cuts.start(row)..cuts.start(row + 1)
}
