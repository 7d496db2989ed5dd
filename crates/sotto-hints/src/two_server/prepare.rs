//! Preparing a client: draws a key, which determines all sets. Their parities are requested
//! afterwards.

use super::{Client, Family, Params, TwoServerScheme};
use sotto_core::{CryptoRng, Result};
use zeroize::Zeroizing;

/// A client in preparation.
pub struct Prepare<F> {
    params: Params<F>,
    pub(super) key: Zeroizing<[u8; 16]>,
}

impl<F: Family> Prepare<F> {
    pub(super) fn with_key(params: &Params<F>, key: Zeroizing<[u8; 16]>) -> Self {
        Prepare { params: params.clone(), key }
    }
}

impl<F: Family> sotto_core::Prepare<TwoServerScheme<F>> for Prepare<F> {
    fn begin(params: &Params<F>, rng: &mut dyn CryptoRng) -> Result<Self> {
        let mut key = Zeroizing::new([0; 16]);
        rng.fill_bytes(key.as_mut());
        Ok(Prepare::with_key(params, key))
    }

    fn finish(self) -> Result<Client<F>> {
        Client::new(self.params, self.key)
    }
}
