//! The rows of each bucket: the server's half of a batch code.
//!
//! Nothing is sorted, and there is no map of the table: the inverse of one permutation gives the
//! row at any place of any bucket. So buckets can be written in any order, by several threads, and
//! from any position.

use super::BatchCode;
use super::permutation::InversePermutation;
use sotto_core::{Misuse, Result};

/// The rows of a code's buckets.
#[derive(Debug)]
pub struct Placement {
    /// Buckets of each copy.
    buckets: u64,
    bucket_rows: u64,
    /// Places of the domain.
    places: u64,
    inverses: Vec<InversePermutation>,
}

impl Placement {
    /// The placement of a code: some square roots of the table in memory.
    pub fn new(code: &BatchCode) -> Self {
        let (sizes, permutations) = (code.sizes(), code.permutations());
        Placement {
            buckets: sizes.buckets as u64,
            bucket_rows: code.bucket_rows(),
            places: permutations.domain().len(),
            inverses: (0..sizes.copies).map(|copy| permutations.inverse(copy)).collect(),
        }
    }

    /// The table's rows in a bucket, from the bucket's row `from` on. A number past the end of the
    /// table stands for a row of zeros.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`] for a bucket or rows that do not exist.
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
        // Row `r` is position `r g + first` of its permutation, and the last one may be past the
        // end.
        let inside = self.places.saturating_sub(first).div_ceil(self.buckets).saturating_sub(from);
        let (inside, outside) = out.split_at_mut(inside.min(out.len() as u64) as usize);
        if let Some(inverse) = self.inverses.get(copy as usize) {
            inverse.items(from * self.buckets + first, self.buckets, inside);
        }
        outside.fill(u64::MAX);
        Ok(())
    }
}
