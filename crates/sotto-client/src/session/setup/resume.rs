//! The view of a setup for code that stores state between processes.

use super::super::config::SetupConfig;
use super::super::trust::KnownSigner;
use super::{SessionSetup, SetupStage, out_of_order};
use crate::Result;
use sotto_catalog::{PublicKey, SignerChange};
use sotto_core::AnyClient;

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
        let agreed = self.agreed.as_ref().filter(|agreed| agreed.needs_state())?;
        Some((agreed.scheme.state.as_ref()?, &agreed.params))
    }

    /// The configuration of this setup.
    pub(crate) fn config(&self) -> &SetupConfig {
        &self.config
    }

    /// The key that signed the catalog.
    pub(crate) fn signer(&self) -> Option<PublicKey> {
        self.agreed.as_ref().map(|agreed| agreed.key)
    }

    /// What is known of the table, once the catalog has arrived.
    pub(crate) fn known(&self) -> Option<&KnownSigner> {
        self.agreed.as_ref().map(|agreed| &agreed.known)
    }

    /// How the key came to be trusted, if another one was known.
    pub(crate) fn change(&self) -> Option<SignerChange> {
        self.agreed.as_ref().and_then(|agreed| agreed.change)
    }

    /// The catalog with its signature, as received.
    pub(crate) fn signed(&self) -> Option<&[u8]> {
        self.agreed.as_ref().map(|agreed| &*agreed.signed)
    }
}
