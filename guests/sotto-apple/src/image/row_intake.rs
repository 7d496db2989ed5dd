//! Converts keys and values into rows: hashes them, or, for a symmetric table, seals many at once.
//!
//! Sealing takes a scalar multiplication for each row, which dominates the time to encode such a
//! table.

use super::error::ImageError;
use super::rows::{KeywordRows, MAX_VALUE_BYTES};
use crate::keyword::hash;
use crate::symmetric::{TAG_BYTES, sealed};
use rayon::prelude::*;
use sotto_db::encode::in_pool;
use sotto_oprf::OprfError;
use sotto_oprf::p384::SecretKey;
use std::collections::BTreeMap;

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
    changes.map_err(|why| ImageError::Asked(format!("a key cannot be sealed: {why}")))
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
        let all = all.map_err(|why| ImageError::Asked(format!("a key cannot be sealed: {why}")))?;
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
