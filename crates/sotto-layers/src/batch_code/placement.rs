//! What lies where in the buckets: the server's half of a batch code.
//!
//! Nothing is sorted, and there is no map of the table: the row at any place of any bucket is one permutation walked
//! backwards. So buckets can be written in any order, by several threads, and from the middle.

use super::BatchCode;
use super::permutation::InversePermutation;
use sotto_core::{Misuse, Result};

/// The buckets of a code.
#[derive(Debug)]
pub struct Placement {
    /// Of each copy.
    buckets: u64,
    bucket_rows: u64,
    /// Of the domain.
    places: u64,
    inverses: Vec<InversePermutation>,
}

impl Placement {
    /// Those of a code: some square roots of the table in memory.
    pub fn new(code: &BatchCode) -> Self {
        let (sizes, permutations) = (code.sizes(), code.permutations());
        Placement {
            buckets: sizes.buckets as u64,
            bucket_rows: code.bucket_rows(),
            places: permutations.domain().len(),
            inverses: (0..sizes.copies).map(|copy| permutations.inverse(copy)).collect(),
        }
    }

    /// The table's rows that lie in a bucket from its row `from` on. A number that the table does not have stands for a
    /// row of zeros.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`] for a bucket or rows that there are not.
    pub fn rows(&self, bucket: usize, from: u64, out: &mut [u64]) -> Result<()> {
        let buckets = self.buckets * self.inverses.len() as u64;
        if bucket as u64 >= buckets {
            return Err(Misuse::IndexPastEnd { index: bucket as u64, len: buckets }.into());
        }
        let end = from.saturating_add(out.len() as u64);
        if end > self.bucket_rows {
            return Err(Misuse::IndexPastEnd { index: end, len: self.bucket_rows }.into());
        }
        let (copy, first) = (bucket as u64 / self.buckets, bucket as u64 % self.buckets);
        // Row `r` is position `r g + first` of its permutation, and the last one may be past the end.
        let inside = self.places.saturating_sub(first).div_ceil(self.buckets).saturating_sub(from);
        let (inside, outside) = out.split_at_mut(inside.min(out.len() as u64) as usize);
        if let Some(inverse) = self.inverses.get(copy as usize) {
            inverse.items(from * self.buckets + first, self.buckets, inside);
        }
        outside.fill(u64::MAX);
        Ok(())
    }
}
