//! What a caller stores between processes: a half-done preparation to resume, and the view of a
//! setup for code that stores the rest.

#[cfg(feature = "cache")]
use super::super::config::SetupConfig;
#[cfg(feature = "cache")]
use super::super::trust::KnownSigner;
use super::super::verified_table::VerifiedTable;
#[cfg(feature = "cache")]
use super::{SessionSetup, SetupStage, out_of_order};
use crate::{ClientError, Result};
use sotto_catalog::Hex32;
#[cfg(feature = "cache")]
use sotto_catalog::{Catalog, PublicKey, SignerChange};
#[cfg(feature = "cache")]
use sotto_core::AnyClient;
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
    pub(super) fn prepare(self, table: &VerifiedTable) -> Result<Box<dyn AnyPrepare>> {
        let same = table.catalog.digest_of_rows() == Some(self.rows);
        if !same || table.pin(0).digest != self.params {
            return Err(ClientError::EpochChanged { asked: self.epoch, newest: None });
        }
        Ok(self.prepare)
    }
}

#[cfg(feature = "cache")]
impl SessionSetup {
    /// Continues with a client from disk instead of the artifacts that one is prepared from, or
    /// instead of a new one that was made with the catalog because it needs no artifacts.
    pub(crate) fn supply_client(&mut self, client: Box<dyn AnyClient>) -> Result<()> {
        if matches!(self.stage, SetupStage::Catalog(_) | SetupStage::Reused) {
            return Err(out_of_order());
        }
        self.settle_on(client)
    }

    /// How the state of the table's clients is read, once the catalog has arrived, and if the state
    /// is durable.
    pub(crate) fn state(&self) -> Option<(&'static sotto_core::StateEntry, &[u8])> {
        let table = self.table.as_ref().filter(|table| table.needs_state())?;
        Some((table.scheme.state.as_ref()?, &table.params))
    }

    /// The configuration of this setup.
    pub(crate) fn config(&self) -> &SetupConfig {
        &self.config
    }

    /// The key that signed the catalog.
    pub(crate) fn signer(&self) -> Option<PublicKey> {
        self.table.as_ref().map(|table| table.key)
    }

    /// How the key came to be trusted, if another one was known.
    pub(crate) fn change(&self) -> Option<SignerChange> {
        self.table.as_ref().and_then(|table| table.change)
    }

    /// The accepted catalog, what is known of the table, and the catalog with its signature.
    pub(crate) fn accepted(&self) -> Option<(&Catalog, &KnownSigner, &[u8])> {
        self.table.as_ref().map(|table| (&table.catalog, &table.known, &*table.signed))
    }
}
