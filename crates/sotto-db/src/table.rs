//! Tables of fixed-width rows, and the records that a scheme sees of them.
//!
//! | module | contents |
//! |---|---|
//! | [`raw`] | rows one after the other in a file |
//! | [`band`] | rows whose sums encode the values of keys |
//! | [`ranges`] | sorted ranges of keys, expanded to blocks while they are read |
//! | [`buckets`] | the tables of a batch code: rows of another table in another order |
//! | [`concat`](mod@concat) | tables one after the other, each as long as the longest |
//! | [`packed_records`] | rows as records: narrow ones packed, wide ones split |

pub mod band;
pub mod buckets;
pub mod concat;
pub mod packed_records;
pub mod ranges;
pub mod raw;

pub use band::BandTable;
pub use buckets::{Bucket, Buckets, MappedTable};
pub use concat::{ConcatTable, grouped};
pub use packed_records::PackedRecords;
pub use ranges::{BlockRule, RangeTable};
pub use raw::RawFile;

use sotto_core::{Misuse, Result};

/// Rows of one width, readable in any order and by several threads.
pub trait TableSource: Sync {
    /// Number of rows.
    fn rows(&self) -> u64;

    /// Bytes of each row; at least 1.
    fn row_bytes(&self) -> usize;

    /// Reads whole rows from `first` on into `out`, whose length is a multiple of `row_bytes`.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`]; storage errors.
    fn read(&self, first: u64, out: &mut [u8]) -> Result<()>;

    /// Reads bytes of one row from `offset` on into `out`. The default reads the whole row first;
    /// tables whose rows can be large should override it.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`]; storage errors.
    fn read_part(&self, row: u64, offset: u64, out: &mut [u8]) -> Result<()> {
        check_part(row, self.rows(), offset, out, self.row_bytes())?;
        let mut whole = vec![0; self.row_bytes()];
        self.read(row, &mut whole)?;
        let part = whole.iter().skip(usize::try_from(offset).unwrap_or(usize::MAX));
        out.iter_mut().zip(part).for_each(|(out, byte)| *out = *byte);
        Ok(())
    }

    /// The table that the rows were computed from, if updates need that instead of the rows.
    fn made_of(&self) -> Option<&dyn TableSource> {
        None
    }
}

/// Checks that a byte range of an item exists.
pub(crate) fn check_part(item: u64, len: u64, offset: u64, out: &[u8], width: usize) -> Result<()> {
    if item >= len {
        return Err(Misuse::IndexPastEnd { index: item, len }.into());
    }
    let (end, width) = (offset.saturating_add(out.len() as u64), width as u64);
    if end > width {
        return Err(Misuse::IndexPastEnd { index: end, len: width }.into());
    }
    Ok(())
}

/// Checks that `out` is a whole number of items, all of which exist.
pub(crate) fn check_read(first: u64, out: &[u8], width: usize, len: u64) -> Result<()> {
    if width == 0 || !out.len().is_multiple_of(width) {
        return Err(Misuse::Rule("the buffer does not hold whole rows").into());
    }
    let end = first.saturating_add((out.len() / width) as u64);
    if end > len {
        return Err(Misuse::IndexPastEnd { index: end, len }.into());
    }
    Ok(())
}
