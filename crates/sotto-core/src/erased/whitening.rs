//! Erased whitening of tables, on the literal's bytes.

use super::{canonical, checked, literal};
use crate::{Result, WhiteningScheme, WriteSlot};

/// The whitening functions of a scheme. Their `params` are those of a [`super::SchemeEntry`].
#[derive(Clone, Copy)]
pub struct WhiteningEntry {
    /// See [`WhiteningScheme::with_whitening_seed`]; gives canonical JSON.
    pub with_mask: fn(&[u8], [u8; 32]) -> Result<Vec<u8>>,
    /// See [`WhiteningScheme::write_slot`], for many records.
    pub places: fn(&[u8], &[u64]) -> Result<Vec<WriteSlot>>,
    /// See [`WhiteningScheme::max_writes`].
    pub most_written: fn(&[u8]) -> Result<u64>,
}

impl WhiteningEntry {
    pub(super) const fn of<S: WhiteningScheme>() -> Self {
        WhiteningEntry {
            with_mask: |params, seed| canonical::<S>(&S::with_whitening_seed(literal::<S>(params)?, seed)),
            places: |params, records| {
                let params = checked::<S>(params)?;
                Ok(records.iter().map(|record| S::write_slot(&params, *record)).collect())
            },
            most_written: |params| Ok(S::max_writes(&checked::<S>(params)?)),
        }
    }
}
