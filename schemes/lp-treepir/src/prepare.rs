//! Becoming a client: a key is drawn, and with it all sets. Their parities are ordered afterwards.

use crate::TreePir;
use crate::client::Client;
use crate::params::Params;
use sotto_core::{CryptoRng, Result};
use zeroize::Zeroizing;

/// A client that is about to be.
pub struct Prepare {
    params: Params,
    pub(crate) key: Zeroizing<[u8; 16]>,
}

impl Prepare {
    pub(crate) fn with_key(params: &Params, key: Zeroizing<[u8; 16]>) -> Self {
        Prepare { params: params.clone(), key }
    }
}

impl sotto_core::Prepare<TreePir> for Prepare {
    fn begin(params: &Params, rng: &mut dyn CryptoRng) -> Result<Self> {
        let mut key = Zeroizing::new([0; 16]);
        rng.fill_bytes(key.as_mut());
        Ok(Prepare::with_key(params, key))
    }

    fn finish(self) -> Result<Client> {
        Client::new(self.params, self.key)
    }
}
