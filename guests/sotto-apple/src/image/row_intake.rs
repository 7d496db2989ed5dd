//! Converts keys and values into rows: hashes them, or, for a symmetric table, seals many at once.
//!
//! Sealing takes a scalar multiplication for each row, which dominates the time to encode such a
//! table.

use crate::image::error::ImageError;
use crate::keyword::bucket::ROW;
use crate::keyword::{hash, shard};
use crate::symmetric::{TAG_BYTES, sealed};
use rayon::prelude::*;
use sotto_db::encode::in_pool;
use sotto_oprf::OprfError;
use sotto_oprf::p384::{PublicKey, SecretKey};
use std::collections::{BTreeMap, HashSet};

/// Number of rows that are sealed together: their keys and values wait in memory.
const TOGETHER: usize = 4096;

/// A changed key and its new value; `None` removes the key.
pub type KeyChange = (Vec<u8>, Option<Vec<u8>>);

/// Changed keys, by the hashes under which the table stores them; `None` removes a key.
pub(super) type KeyChanges = BTreeMap<u64, Option<Vec<u8>>>;

/// Hashes changed keys. If there is a key to seal with, each is evaluated, on the current thread
/// pool.
pub(super) fn hash_changes(
    keys: Vec<KeyChange>,
    sealing: Option<&SecretKey>,
) -> Result<KeyChanges, ImageError> {
    let Some(sealing) = sealing else {
        return Ok(keys.into_iter().map(|(key, value)| (hash(&key), value)).collect());
    };
    let seal = |(key, value): &KeyChange| {
        let (hash, sealed) = sealed(sealing, key, value.as_deref().unwrap_or_default())?;
        Ok((hash, value.is_some().then_some(sealed)))
    };
    let changes: Result<KeyChanges, OprfError> = keys.par_iter().map(seal).collect();
    changes.map_err(|why| ImageError::Asked(format!("cannot seal a key: {why}")))
}

/// Converts keys and values into rows of a table.
pub struct RowIntake<'a> {
    rows: KeywordRows,
    sealing: Option<&'a SecretKey>,
    threads: Option<usize>,
    waiting: Vec<(Vec<u8>, Vec<u8>)>,
}

impl<'a> RowIntake<'a> {
    /// Rows of a table, which is symmetric if there is a key to seal with, on `threads` threads.
    pub fn new(sealing: Option<&'a SecretKey>, threads: Option<usize>) -> Self {
        let rows = sealing.map_or_else(KeywordRows::default, |key| KeywordRows::sealed(key.public()));
        RowIntake { rows, sealing, threads, waiting: Vec::new() }
    }

    /// Largest size of a value in bytes.
    pub fn most_bytes(&self) -> usize {
        MAX_VALUE_BYTES - if self.sealing.is_some() { TAG_BYTES } else { 0 }
    }

    /// Adds a row with this key and value.
    ///
    /// # Errors
    /// The errors of [`KeywordRows::push`]; [`ImageError::Asked`] if its key is longer than the
    /// function accepts.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), ImageError> {
        if self.sealing.is_none() {
            return self.rows.push(key, value);
        }
        self.waiting.push((key.to_vec(), value.to_vec()));
        if self.waiting.len() >= TOGETHER { self.seal() } else { Ok(()) }
    }

    fn seal(&mut self) -> Result<(), ImageError> {
        let Some(key) = self.sealing else { return Ok(()) };
        let waiting = std::mem::take(&mut self.waiting);
        let seal = |(of, value): &(Vec<u8>, Vec<u8>)| sealed(key, of, value);
        let all: Result<Vec<_>, OprfError> =
            in_pool(self.threads, || waiting.par_iter().map(seal).collect())?;
        let all = all.map_err(|why| ImageError::Asked(format!("cannot seal a key: {why}")))?;
        all.iter().try_for_each(|(hash, value)| self.rows.push_hashed(*hash, value))
    }

    /// All rows, in the order in which they were added.
    ///
    /// # Errors
    /// The errors of [`RowIntake::push`].
    pub fn finish(mut self) -> Result<KeywordRows, ImageError> {
        self.seal()?;
        Ok(self.rows)
    }
}

/// Largest number of rows of a table.
pub const MAX_ROWS: u64 = u32::MAX as u64;

/// Largest size of a value in bytes.
pub const MAX_VALUE_BYTES: usize = u16::MAX as usize;

/// Rows of a keyword table, in the order in which they were added.
#[derive(Debug, Default)]
pub struct KeywordRows {
    hashes: Vec<u64>,
    /// End of each value.
    ends: Vec<u64>,
    values: Vec<u8>,
    /// Public key of the function that seals the values of a symmetric table.
    oprf: Option<PublicKey>,
}

/// The rows of one shard.
pub(super) struct ShardRows {
    /// Numbers of the rows among all rows.
    pub(super) numbers: Vec<u32>,
    pub(super) hashes: Vec<u64>,
    /// Bytes of each row in a bucket.
    pub(super) sizes: Vec<u32>,
}

impl KeywordRows {
    /// Starts rows of a symmetric table, whose values are already sealed with this key.
    pub(super) fn sealed(oprf: PublicKey) -> Self {
        KeywordRows { oprf: Some(oprf), ..KeywordRows::default() }
    }

    /// Public key of the function that seals the values.
    pub(super) fn oprf(&self) -> Option<PublicKey> {
        self.oprf
    }

    /// Adds a row with this key and value.
    ///
    /// # Errors
    /// [`ImageError::TooMany`]; [`ImageError::TooLong`] if its value is longer than a bucket can
    /// represent.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), ImageError> {
        self.push_hashed(hash(key), value)
    }

    /// Adds a row whose key has this hash.
    ///
    /// # Errors
    /// The errors of [`KeywordRows::push`].
    pub fn push_hashed(&mut self, hash: u64, value: &[u8]) -> Result<(), ImageError> {
        if self.hashes.len() as u64 >= MAX_ROWS {
            return Err(ImageError::TooMany { limit: MAX_ROWS });
        }
        if value.len() > MAX_VALUE_BYTES {
            let (row, bytes) = (self.hashes.len() as u64 + 1, ROW + value.len());
            return Err(ImageError::TooLong { row, bytes, bucket: ROW + MAX_VALUE_BYTES });
        }
        self.hashes.push(hash);
        self.values.extend_from_slice(value);
        self.ends.push(self.values.len() as u64);
        Ok(())
    }

    /// Removes rows whose key occurred before, for a table of keys alone, and returns their number.
    pub(super) fn drop_repeated(&mut self) -> u64 {
        let mut seen = HashSet::with_capacity(self.len());
        let (mut values, mut start, mut at) = (Vec::new(), 0, 0);
        let (before, ends) = (self.len(), std::mem::take(&mut self.ends));
        let old = std::mem::take(&mut self.values);
        self.hashes.retain(|hash| {
            let end = ends.get(at).copied().unwrap_or(start);
            let is_new = seen.insert(*hash);
            if is_new {
                values.extend_from_slice(old.get(start as usize..end as usize).unwrap_or_default());
                self.ends.push(values.len() as u64);
            }
            (at, start) = (at + 1, end);
            is_new
        });
        self.values = values;
        (before - self.len()) as u64
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Bytes of the longest value, before it was sealed.
    pub(super) fn longest(&self) -> u64 {
        let starts = [0].iter().chain(&self.ends);
        let longest = starts.zip(&self.ends).map(|(start, end)| end - start).max().unwrap_or(0);
        longest.saturating_sub(if self.oprf.is_some() { TAG_BYTES as u64 } else { 0 })
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Hash and value of a row; `None` past the end.
    pub(super) fn row(&self, row: u32) -> Option<(u64, &[u8])> {
        let row = row as usize;
        let start = row.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        let value = self.values.get(start as usize..*self.ends.get(row)? as usize)?;
        Some((*self.hashes.get(row)?, value))
    }

    /// Divides the rows into shards.
    pub(super) fn shards(&self, shards: usize) -> Vec<ShardRows> {
        let capacity = self.len().div_ceil(shards.max(1)).saturating_mul(17) / 16;
        let empty = || ShardRows {
            numbers: Vec::with_capacity(capacity),
            hashes: Vec::with_capacity(capacity),
            sizes: Vec::with_capacity(capacity),
        };
        let mut all: Vec<ShardRows> = (0..shards).map(|_| empty()).collect();
        let mut start = 0;
        for ((number, hash), end) in (0..).zip(&self.hashes).zip(&self.ends) {
            if let Some(of) = all.get_mut(shard(*hash, shards)) {
                of.numbers.push(number);
                of.hashes.push(*hash);
                of.sizes.push(ROW as u32 + (end - start) as u32);
            }
            start = *end;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_each_key_once() {
        let mut rows = KeywordRows::default();
        for (key, value) in [("a", "1"), ("b", "22"), ("a", "333"), ("c", ""), ("b", "4")] {
            rows.push(key.as_bytes(), value.as_bytes()).unwrap();
        }
        assert_eq!((rows.drop_repeated(), rows.len()), (2, 3));
        let expected = [("a", "1"), ("b", "22"), ("c", "")].map(|(key, value)| (hash(key.as_bytes()), value));
        for (row, (hash, value)) in (0..).zip(expected) {
            assert_eq!(rows.row(row), Some((hash, value.as_bytes())));
        }
        assert_eq!(rows.row(3), None);
        assert_eq!(rows.drop_repeated(), 0);
    }
}
