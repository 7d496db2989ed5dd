//! Converts changed keys into the form in which a table stores them: hashes of keys, or, if it is
//! symmetric, hashes of the rows' names, with sealed values.

use super::{KeyChanges, PreviousEpoch};
use crate::image::error::ImageError;
use crate::image::oprf::read_fitting;
use crate::keyword::hash;
use crate::symmetric::sealed;
use rayon::prelude::*;

/// A changed key and its new value; `None` removes the key.
pub type KeyChange = (Vec<u8>, Option<Vec<u8>>);

impl PreviousEpoch<'_> {
    /// Hashes changed keys. For a symmetric table each key is evaluated, on the current thread
    /// pool.
    pub(super) fn known(&self, keys: Vec<KeyChange>) -> Result<KeyChanges, ImageError> {
        let Some(public) = &self.description.oprf else {
            return Ok(keys.into_iter().map(|(key, value)| (hash(&key), value)).collect());
        };
        let sealing = read_fitting(self.lock.dir(), public)?;
        let known = |(key, value): &KeyChange| {
            let (hash, sealed) = sealed(&sealing, key, value.as_deref().unwrap_or_default())?;
            Ok((hash, value.is_some().then_some(sealed)))
        };
        let known: Result<KeyChanges, sotto_oprf::OprfError> = keys.par_iter().map(known).collect();
        known.map_err(|why| ImageError::Asked(format!("a key cannot be sealed: {why}")))
    }
}
