//! The client's side: seals a request, and opens the response.

use crate::config::KeyConfig;
use crate::suite::{self, Aead, AeadError, ResponseContext};
use rand_core::CryptoRng;

/// Secret of one request, which opens its response.
pub struct ResponseOpener(ResponseContext);

/// Seals a request for a gateway's key with the first of its ciphers. Each attempt of a request
/// must be sealed again, or a gateway takes it for a replay.
///
/// # Errors
/// [`AeadError`] for a key that nothing can be sealed for.
pub fn seal(
    config: &KeyConfig,
    request: &[u8],
    rng: &mut dyn CryptoRng,
) -> Result<(Vec<u8>, ResponseOpener), AeadError> {
    let aead: Aead = *config.aeads.first().ok_or(AeadError)?;
    let head = suite::head(config.id, aead);
    let (bytes, shared) = suite::seal(&head, aead, &config.public, request, rng).ok_or(AeadError)?;
    Ok((bytes, ResponseOpener(shared)))
}

impl ResponseOpener {
    /// Opens the response.
    ///
    /// # Errors
    /// [`AeadError`].
    pub fn open(self, response: &[u8]) -> Result<Vec<u8>, AeadError> {
        let (nonce, sealed) = response.split_at_checked(self.0.aead().nonce_bytes()).ok_or(AeadError)?;
        self.0.open(nonce, sealed).ok_or(AeadError)
    }
}
