//! Synthetic rows: the content of each row, at each epoch, is computed and stored nowhere.
//!
//! So an answer is compared with what the publisher wrote, and not with what another part of the
//! program read from an image.

use sotto_core::Misuse;
use sotto_db::TableSource;

/// Context of the hash that generates rows.
const CONTENT: &str = "sotto 2026 soak rows v1";

/// One row in this many changes with an epoch.
const CHANGES: u64 = 1000;

/// A table of which some rows change with each epoch.
#[derive(Debug, Clone, Copy)]
pub(super) struct SoakRows {
    pub(super) rows: u64,
    pub(super) row_bytes: usize,
}

impl SoakRows {
    /// Whether a row has changed with this epoch.
    fn changes(row: u64, epoch: u64) -> bool {
        // The first row changes each time, so that no epoch is without changes.
        epoch > 1 && (row == 0 || mixed(row ^ mixed(epoch)).is_multiple_of(CHANGES))
    }

    /// The rows that an epoch changes.
    pub(super) fn changed(&self, epoch: u64) -> impl Iterator<Item = u64> {
        (0..self.rows).filter(move |row| SoakRows::changes(*row, epoch))
    }

    /// The content of a row at an epoch.
    pub(super) fn content(&self, row: u64, epoch: u64) -> Vec<u8> {
        let written = (2..=epoch).rev().find(|at| SoakRows::changes(row, *at)).unwrap_or(1);
        let mut hasher = blake3::Hasher::new_derive_key(CONTENT);
        hasher.update(&row.to_le_bytes()).update(&written.to_le_bytes());
        let mut bytes = vec![0; self.row_bytes];
        hasher.finalize_xof().fill(&mut bytes);
        bytes
    }
}

/// The finalizer of SplitMix64, which spreads consecutive numbers.
pub(super) fn mixed(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The rows of one epoch, as an encoder reads them.
pub(super) struct RowsAtEpoch {
    pub(super) rows: SoakRows,
    pub(super) epoch: u64,
}

impl TableSource for RowsAtEpoch {
    fn rows(&self) -> u64 {
        self.rows.rows
    }

    fn row_bytes(&self) -> usize {
        self.rows.row_bytes
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        let (rows, width) = (self.rows, self.rows.row_bytes.max(1));
        let end = first.saturating_add((out.len() / width) as u64);
        if end > rows.rows {
            return Err(Misuse::IndexPastEnd { index: end, len: rows.rows }.into());
        }
        let out = out.chunks_exact_mut(width);
        (first..end).zip(out).for_each(|(row, out)| out.copy_from_slice(&rows.content(row, self.epoch)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_rows_change_and_what_is_in_them_stays_until_then() {
        let rows = SoakRows { rows: 20_000, row_bytes: 24 };
        for epoch in 2..5 {
            let changed: Vec<_> = rows.changed(epoch).collect();
            assert!((5..50).contains(&changed.len()), "{} rows", changed.len());
            for row in 0..rows.rows {
                let same = rows.content(row, epoch) == rows.content(row, epoch - 1);
                assert_eq!(same, changed.binary_search(&row).is_err(), "row {row} at epoch {epoch}");
            }
        }
        let mut whole = vec![0; 24 * 10];
        let at = RowsAtEpoch { rows, epoch: 3 };
        at.read(90, &mut whole).unwrap();
        assert_eq!(whole[24..48], rows.content(91, 3));
        assert!(at.read(19_999, &mut whole).is_err(), "past the end");
    }
}
