//! A preparation that was under way, perhaps in another process.

use super::epoch_agreement::VerifiedTable;
use crate::{ClientError, Result};
use sotto_catalog::Hex32;
use sotto_core::{AnyPrepare, Epoch, ParamsDigest};

/// A preparation that was under way, and what it was made of.
pub struct SavedPreparation {
    /// The epoch of the table.
    pub epoch: Epoch,
    /// The digest of its parameters.
    pub params: ParamsDigest,
    /// The digest of its rows.
    pub rows: Hex32,
    /// The preparation, as [`sotto_core::StateEntry::resume`] gives it.
    pub prepare: Box<dyn AnyPrepare>,
}

impl SavedPreparation {
    /// The preparation, if the catalog is that of its rows.
    pub(super) fn prepare(self, agreed: &VerifiedTable) -> Result<Box<dyn AnyPrepare>> {
        let same = agreed.catalog.digest_of_rows() == Some(self.rows);
        if !same || agreed.pin(0).digest != self.params {
            return Err(ClientError::EpochChanged { asked: self.epoch, newest: None });
        }
        Ok(self.prepare)
    }
}
