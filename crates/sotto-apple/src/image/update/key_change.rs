//! Keys that change, as a table knows them: by their hashes, or, if it is symmetric, by those of their rows' names, with values
//! sealed.

use super::{KeyChanges, PreviousEpoch};
use crate::image::error::ImageError;
use crate::image::oprf::read_fitting;
use crate::keyword::hash;
use crate::symmetric::sealed;
use rayon::prelude::*;

/// A key that changes, and its value; `None` if it goes.
pub type KeyChange = (Vec<u8>, Option<Vec<u8>>);

impl PreviousEpoch<'_> {
    /// What is to become of keys. Of a symmetric table each takes the function at it, on the current pool's threads.
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
