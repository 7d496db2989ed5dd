//! Public masks of tables, by the literal's bytes.

use super::{canonical, checked, literal};
use crate::{Masked, Place, Result};

/// How a scheme's tables are masked. `params` are as in a [`super::SchemeEntry`].
#[derive(Clone, Copy)]
pub struct MaskEntry {
    /// See [`Masked::with_mask`]; gives canonical JSON.
    pub with_mask: fn(&[u8], [u8; 32]) -> Result<Vec<u8>>,
    /// See [`Masked::place`], of many records.
    pub places: fn(&[u8], &[u64]) -> Result<Vec<Place>>,
    /// See [`Masked::most_written`].
    pub most_written: fn(&[u8]) -> Result<u64>,
}

impl MaskEntry {
    pub(super) const fn of<S: Masked>() -> Self {
        MaskEntry {
            with_mask: |params, seed| canonical::<S>(&S::with_mask(literal::<S>(params)?, seed)),
            places: |params, records| {
                let params = checked::<S>(params)?;
                Ok(records.iter().map(|record| S::place(&params, *record)).collect())
            },
            most_written: |params| Ok(S::most_written(&checked::<S>(params)?)),
        }
    }
}
