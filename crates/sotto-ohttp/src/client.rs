//! A client's half: seals a request, and opens the response.

use crate::config::KeyConfig;
use crate::suite::{self, Aead, Shared, Unopened};
use rand_core::CryptoRng;

/// What it takes to open one response.
pub struct Pending(Shared);

/// Seals a request for a key, by the first of its ciphers. Each try of a request is sealed anew, or a gateway takes it for a
/// replay.
///
/// # Errors
/// [`Unopened`] for a key that nothing can be sealed for.
pub fn seal(
    config: &KeyConfig,
    request: &[u8],
    rng: &mut dyn CryptoRng,
) -> Result<(Vec<u8>, Pending), Unopened> {
    let aead: Aead = *config.aeads.first().ok_or(Unopened)?;
    let head = suite::head(config.id, aead);
    let (bytes, shared) = suite::seal(&head, aead, &config.public, request, rng).ok_or(Unopened)?;
    Ok((bytes, Pending(shared)))
}

impl Pending {
    /// Opens a response.
    ///
    /// # Errors
    /// [`Unopened`].
    pub fn open(self, response: &[u8]) -> Result<Vec<u8>, Unopened> {
        let (nonce, sealed) = response.split_at_checked(self.0.aead().nonce_bytes()).ok_or(Unopened)?;
        self.0.open(nonce, sealed).ok_or(Unopened)
    }
}
