//! What whoever keeps things between processes asks of an opening, and tells it.

use super::super::config::SetupConfig;
use super::super::trust::KnownSigner;
use super::{SessionSetup, SetupStage, out_of_order};
use crate::Result;
use sotto_catalog::{PublicKey, SignerChange};
use sotto_core::AnyClient;

impl SessionSetup {
    /// Goes on with a client that is there already, instead of the artifacts one is made from; or instead of a fresh one,
    /// where none are needed and it was made as soon as the catalog was there.
    pub(crate) fn supply_client(&mut self, client: Box<dyn AnyClient>) -> Result<()> {
        if matches!(self.stage, SetupStage::Catalog(_) | SetupStage::Reused) {
            return Err(out_of_order());
        }
        self.settle_on(client)
    }

    /// How the state of the table's clients is read, once the catalog is there and if it has to be kept.
    pub(crate) fn state(&self) -> Option<(&'static sotto_core::StateEntry, &[u8])> {
        let agreed = self.agreed.as_ref().filter(|agreed| agreed.needs_state())?;
        Some((agreed.scheme.state.as_ref()?, &agreed.params))
    }

    /// What is being opened.
    pub(crate) fn config(&self) -> &SetupConfig {
        &self.config
    }

    /// Whose catalog it is.
    pub(crate) fn signer(&self) -> Option<PublicKey> {
        self.agreed.as_ref().map(|agreed| agreed.key)
    }

    /// What is known of the table, once the catalog is there.
    pub(crate) fn known(&self) -> Option<&KnownSigner> {
        self.agreed.as_ref().map(|agreed| &agreed.known)
    }

    /// How that came to be believed, if another key was known.
    pub(crate) fn change(&self) -> Option<SignerChange> {
        self.agreed.as_ref().and_then(|agreed| agreed.change)
    }

    /// The catalog as it came, under its signature.
    pub(crate) fn signed(&self) -> Option<&[u8]> {
        self.agreed.as_ref().map(|agreed| &*agreed.signed)
    }
}
