//! A preparation that was begun earlier, perhaps by another process.

use super::epoch_agreement::VerifiedTable;
use crate::{ClientError, Result};
use sotto_catalog::Hex32;
use sotto_core::{AnyPrepare, Epoch, ParamsDigest};

/// A half-done preparation, and the version of the rows that it is made from.
pub struct SavedPreparation {
    /// Epoch of the rows.
    pub epoch: Epoch,
    /// Digest of the parameters.
    pub params: ParamsDigest,
    /// Digest of the rows.
    pub rows: Hex32,
    /// The preparation, as [`sotto_core::StateEntry::resume`] returns it.
    pub prepare: Box<dyn AnyPrepare>,
}

impl SavedPreparation {
    /// The preparation, if its rows are those of the catalog.
    pub(super) fn prepare(self, agreed: &VerifiedTable) -> Result<Box<dyn AnyPrepare>> {
        let same = agreed.catalog.digest_of_rows() == Some(self.rows);
        if !same || agreed.pin(0).digest != self.params {
            return Err(ClientError::EpochChanged { asked: self.epoch, newest: None });
        }
        Ok(self.prepare)
    }
}
