//! One row for each key: a row begins where the one before is full, and these bounds are public.
//!
//! The hashes of keys are a line, of [`CELLS`] cells for each row on average. A row has a number of
//! consecutive cells, and these numbers give the row of any key: they are the fence keys of a
//! B-tree's root (Comer, *The Ubiquitous B-Tree*, 1979), in a byte each because hashes are spread
//! evenly. So one lookup finds a key in a table with hardly an empty slot, where rows that follow
//! from the hash alone have to leave space for the fullest, or need a second lookup.
//!
//! The numbers show how hashes are distributed, which every client of the table sees anyway, and no
//! client's key.

use super::tag::KeyDigest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// Cells for each row, on average. A row ends with a cell, so as many of its slots stay empty as
/// there are keys in half a cell: one in 128.
pub const CELLS: u64 = 64;

/// Maximum number of rows, so that a catalog can have a byte for each.
pub const MAX_CUT_ROWS: u64 = 1 << 20;

/// The number of cells of each row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RowBounds {
    widths: Vec<u8>,
    /// The first cell of each row.
    starts: Vec<u32>,
}

impl RowBounds {
    /// Rows with these numbers of cells; `None` unless the numbers sum to the cells of the table.
    pub fn new(widths: Vec<u8>) -> Option<Self> {
        let rows = widths.len() as u64;
        if !(1..=MAX_CUT_ROWS).contains(&rows) {
            return None;
        }
        let mut next = 0u32;
        let starts = widths.iter().map(|width| {
            let start = next;
            next += u32::from(*width);
            start
        });
        let starts = starts.collect();
        (u64::from(next) == CELLS * rows).then_some(RowBounds { widths, starts })
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.widths.len() as u64
    }

    /// The row of a key. Every row is read.
    pub(super) fn row_of(&self, digest: KeyDigest, attempt: u32) -> u64 {
        let cell = cell_of(digest, attempt, self.rows());
        // The cells are below 2^31, so the highest bit of the difference is the result of the
        // comparison.
        let begun = self.starts.iter().map(|start| (cell.wrapping_sub(*start) >> 31) ^ 1).sum::<u32>();
        u64::from(begun).saturating_sub(1)
    }

    /// The row of a public key, in less time.
    pub(super) fn row_of_public(&self, digest: KeyDigest, attempt: u32) -> u64 {
        let cell = cell_of(digest, attempt, self.rows());
        self.starts.partition_point(|start| *start <= cell).saturating_sub(1) as u64
    }

    /// The first cell of a row; past the last row, the number of cells.
    pub(super) fn start(&self, row: usize) -> u32 {
        self.starts.get(row).copied().unwrap_or((CELLS * self.rows()) as u32)
    }

    /// Replaces the numbers of cells of the rows from `first` on by others of the same sum.
    pub(super) fn recut(&self, first: usize, widths: &[u8]) -> Option<Self> {
        let mut all = self.widths.clone();
        all.get_mut(first..)?.get_mut(..widths.len())?.copy_from_slice(widths);
        RowBounds::new(all)
    }
}

/// The cell of a key, in a table of `rows` rows.
pub(super) fn cell_of(digest: KeyDigest, attempt: u32, rows: u64) -> u32 {
    digest.choice(attempt, 0, CELLS * rows) as u32
}

/// Divides cells into rows that have at most `slots` keys, and about equally many. `None` if that
/// is impossible.
pub(super) fn cut(keys_of_cells: &[u32], rows: usize, slots: u32) -> Option<Vec<u8>> {
    let keys = keys_of_cells.iter().map(|keys| u64::from(*keys)).sum::<u64>();
    // Doubled, since it is compared with the middle of a cell.
    let share = |row: usize| 2 * keys * (row as u64 + 1) / rows as u64;
    // Shares are kept as even as possible: where one part of the table is full to the last slot, a
    // key that comes to it later has to move those of many rows. Rows that take all cells that they
    // can need the fewest rows.
    let ahead = (0..).map(|step| (1u64 << step) - 1).take_while(|ahead| *ahead <= keys);
    let even = ahead.map(|ahead| part(keys_of_cells, rows, slots, |row| share(row) + 2 * ahead));
    even.chain([part(keys_of_cells, rows, slots, |_| u64::MAX)]).flatten().next()
}

/// Divides cells such that each row takes cells until the rows so far have their share of the keys,
/// or the row is full. Unneeded rows have no cells.
fn part(keys_of_cells: &[u32], rows: usize, slots: u32, share: impl Fn(usize) -> u64) -> Option<Vec<u8>> {
    let mut widths = Vec::with_capacity(rows);
    let (mut width, mut held, mut before) = (0u8, 0u32, 0u64);
    for keys in keys_of_cells {
        let with = held.saturating_add(*keys);
        let is_due = 2 * before + u64::from(*keys) > share(widths.len()) && widths.len() + 1 < rows;
        (width, held) = match width.checked_add(1).filter(|_| with <= slots && !is_due) {
            Some(wider) => (wider, with),
            None if *keys > slots || widths.len() + 1 >= rows => return None,
            None => {
                widths.push(width);
                (1, *keys)
            }
        };
        before += u64::from(*keys);
    }
    widths.push(width);
    widths.resize(rows, 0);
    Some(widths)
}

impl From<RowBounds> for String {
    fn from(cuts: RowBounds) -> String {
        STANDARD.encode(cuts.widths)
    }
}

impl TryFrom<String> for RowBounds {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        let widths = STANDARD.decode(text).map_err(|_| "cuts are base64, with its padding")?;
        RowBounds::new(widths).ok_or("cuts are a byte for each row, 64 for a row on average")
    }
}

#[cfg(test)]
mod tests {
    use super::super::tag::KeyHash;
    use super::*;
    use sotto_prg::PublicSeed;

    #[test]
    fn cells_are_shared_out_whole() {
        assert!(RowBounds::new(vec![64]).is_some() && RowBounds::new(vec![0, 128, 64]).is_some());
        assert!(
            RowBounds::new(vec![]).is_none()
                && RowBounds::new(vec![63]).is_none()
                && RowBounds::new(vec![64, 65]).is_none()
        );
        let cuts = RowBounds::new(vec![0, 100, 0, 156, 64]).unwrap();
        assert_eq!(RowBounds::try_from(String::from(cuts.clone())), Ok(cuts.clone()));
        assert_eq!([0, 1, 2, 3, 4, 5].map(|row| cuts.start(row)), [0, 0, 100, 100, 256, 320]);
        let moved = cuts.recut(1, &[90, 10]).unwrap();
        assert_eq!((moved.start(2), moved.start(3), moved.start(4)), (90, 100, 256));
        assert!(cuts.recut(1, &[90, 11]).is_none() && cuts.recut(4, &[1, 63]).is_none());
    }

    /// Both searches agree, also next to rows without cells.
    #[test]
    fn a_cell_lies_in_one_row() {
        let cuts = RowBounds::new(vec![0, 100, 0, 156, 128, 0]).unwrap();
        let hash = KeyHash::new(&PublicSeed([1; 32]), 8);
        for i in 0..2000u32 {
            let digest = hash.digest(&i.to_le_bytes()).unwrap();
            let row = cuts.row_of(digest, 3);
            let cell = cell_of(digest, 3, cuts.rows());
            assert!((cuts.start(row as usize)..cuts.start(row as usize + 1)).contains(&cell));
            assert_eq!(row, cuts.row_of_public(digest, 3));
        }
    }

    /// In tables that are nearly full, and where even shares are impossible, no range of rows is
    /// full to the last slot.
    #[test]
    fn room_is_spread_over_the_table() {
        let (rows, slots, keys) = (258u64, 8u32, 2000u32);
        for seed in 0..200 {
            let hash = KeyHash::new(&PublicSeed([seed; 32]), 8);
            let mut cells = vec![0u32; (CELLS * rows) as usize];
            for i in 0..keys {
                cells[cell_of(hash.digest(&i.to_le_bytes()).unwrap(), 0, rows) as usize] += 1;
            }
            let widths = cut(&cells, rows as usize, slots).unwrap();
            let mut cells = cells.iter();
            let held: Vec<u32> =
                widths.iter().map(|width| cells.by_ref().take((*width).into()).sum::<u32>()).collect();
            assert!(held.iter().all(|held| *held <= slots));
            let fullest = held.windows(64).map(|rows| rows.iter().sum::<u32>()).max().unwrap();
            assert!(fullest <= 64 * slots - 4, "seed {seed}: {fullest} of {} slots", 64 * slots);
        }
    }

    #[test]
    fn rows_are_about_as_full_as_each_other() {
        assert_eq!(cut(&[1, 1, 1, 1, 4, 0], 2, 9), Some(vec![4, 2]));
        assert_eq!(cut(&[1; 30], 4, 30), Some(vec![8, 7, 8, 7]));
        assert_eq!(cut(&[3, 3, 3], 3, 3), Some(vec![1, 1, 1]));
        assert_eq!(cut(&[3, 3, 3], 2, 5), None);
        assert_eq!(cut(&[6], 2, 5), None);
        // Where even shares leave too few slots at the end, rows may be ahead of their share, by no
        // more than necessary.
        assert_eq!(cut(&[5, 1, 6, 4], 3, 6), Some(vec![2, 1, 1]));
        // A row's number of cells is a byte.
        assert_eq!(cut(&[0; 256], 4, 5), Some(vec![255, 1, 0, 0]));
        assert_eq!(cut(&[0; 256], 1, 5), None);
    }
}
