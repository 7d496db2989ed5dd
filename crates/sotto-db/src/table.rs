//! Tables of fixed-width rows, and the records a scheme sees of them.
//!
//! | module | what lives there |
//! |---|---|
//! | [`raw`] | rows one after the other in a file |
//! | [`ranges`] | sorted ranges of keys, expanded to blocks while they are read |
//! | [`packed`] | rows as records: narrow ones packed, wide ones split |

pub mod packed;
pub mod ranges;
pub mod raw;

pub use packed::Packed;
pub use ranges::{BlockRule, Ranges};
pub use raw::RawFile;

use sotto_core::{Misuse, Result};

/// Rows of one width, readable in any order and by several threads.
pub trait TableSource: Sync {
    /// How many rows.
    fn rows(&self) -> u64;

    /// Bytes in each; at least 1.
    fn row_bytes(&self) -> usize;

    /// Reads whole rows from `first` on into `out`, whose length is a multiple of `row_bytes`.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`]; storage errors.
    fn read(&self, first: u64, out: &mut [u8]) -> Result<()>;
}

/// Checks that `out` asks for whole items, all of which exist.
pub(crate) fn check_read(first: u64, out: &[u8], width: usize, len: u64) -> Result<()> {
    if width == 0 || !out.len().is_multiple_of(width) {
        return Err(Misuse::Rule("only whole rows are read").into());
    }
    let end = first.saturating_add((out.len() / width) as u64);
    if end > len {
        return Err(Misuse::IndexPastEnd { index: end, len }.into());
    }
    Ok(())
}
