//! Room for a key in a row that is full, where rows are cut: its neighbors take some of its keys.

use super::params::Params;
use super::row_bounds::{self, RowBounds};
use super::slot;
use super::tag::KeyDigest;
use std::ops::Range;

/// Rows that may be cut anew to make room for one key. Each of them is written again.
pub(super) const MAX_ROWS: usize = 64;

/// Rows that are neighbors, and one more key that is to lie in one of them.
pub(super) struct RowWindow<'a> {
    pub(super) params: &'a Params,
    pub(super) cuts: &'a RowBounds,
    pub(super) first: usize,
    /// The bytes of the rows.
    pub(super) rows: &'a [Vec<u8>],
    pub(super) digest: KeyDigest,
    /// The bytes of the key's slot.
    pub(super) entry: &'a [u8],
}

/// A key, and where it lies, if it does yet.
struct PlacedKey<'a> {
    cell: u32,
    bytes: &'a [u8],
    at: Option<(usize, usize)>,
}

/// The rows as they are then, and where all rows of the table begin.
pub(super) type Rebalanced = (Vec<Vec<u8>>, RowBounds);

/// Cuts these rows anew, so that all keys have room; `None` if they have not. The rows are left as evenly full as can
/// be, and keys that stay in their row stay in their slot.
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
