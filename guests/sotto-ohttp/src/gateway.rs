//! The gateway's side: private keys, opening requests, and sealing responses.

use crate::config::KeyConfig;
use crate::suite::{self, Aead, HEAD, KEY, ResponseContext, TAG};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// Private key of a gateway, with its id.
#[derive(Clone)]
pub struct GatewayKey {
    id: u8,
    secret: Zeroizing<[u8; KEY]>,
    public: [u8; KEY],
}

impl std::fmt::Debug for GatewayKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key").field("id", &self.id).finish_non_exhaustive()
    }
}

impl GatewayKey {
    /// Generates a key.
    pub fn generate(id: u8, rng: &mut dyn CryptoRng) -> Option<Self> {
        let mut secret = Zeroizing::new([0; KEY]);
        rng.fill_bytes(&mut *secret);
        GatewayKey::of(id, &secret)
    }

    /// Makes a key from its secret bytes.
    pub fn of(id: u8, secret: &[u8; KEY]) -> Option<Self> {
        Some(GatewayKey { id, secret: Zeroizing::new(*secret), public: suite::public(secret)? })
    }

    /// Id of the key at the gateway.
    pub fn id(&self) -> u8 {
        self.id
    }

    /// Secret bytes of the key, to be stored where no one else reads them.
    pub fn secret(&self) -> &[u8; KEY] {
        &self.secret
    }

    /// Public configuration of the key.
    pub fn config(&self) -> KeyConfig {
        KeyConfig::new(self.id, self.public)
    }
}

/// Why a request was not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The bytes are not an encapsulated request.
    #[error("the request is truncated")]
    Malformed,
    /// The request names a key or a cipher that the gateway does not know.
    #[error("no key of this gateway has this id and these algorithms")]
    UnknownKey,
    /// The request was sealed for another key with the same id, or was changed on its path.
    #[error("the request was not sealed for this key")]
    Unopened,
}

/// An opened request, and what seals its response.
pub struct OpenedRequest {
    /// Plaintext of the request.
    pub plain: Vec<u8>,
    /// Seals the response to the request.
    pub reply: ResponseSealer,
}

/// Secret of one request, which seals its response.
pub struct ResponseSealer(ResponseContext);

/// Bytes that sealing adds to a request.
pub const OVERHEAD: usize = HEAD + KEY + TAG;

/// Opens a request with the key that it names.
///
/// # Errors
/// [`OpenError`].
pub fn open<'a>(
    mut keys: impl Iterator<Item = &'a GatewayKey>,
    bytes: &[u8],
) -> Result<OpenedRequest, OpenError> {
    let (head, rest) = bytes.split_first_chunk::<HEAD>().ok_or(OpenError::Malformed)?;
    let (encapsulated, sealed) = rest.split_first_chunk::<KEY>().ok_or(OpenError::Malformed)?;
    let [id, .., a, b] = *head;
    let aead = Aead::find(u16::from_be_bytes([a, b])).ok_or(OpenError::UnknownKey)?;
    let key = keys.find(|key| key.id == id).filter(|_| *head == suite::head(id, aead));
    let key = key.ok_or(OpenError::UnknownKey)?;
    let opened = suite::open(head, aead, &key.secret, encapsulated, sealed);
    let (plain, shared) = opened.ok_or(OpenError::Unopened)?;
    Ok(OpenedRequest { plain, reply: ResponseSealer(shared) })
}

impl ResponseSealer {
    /// Encapsulated key of the request, which is unique unless the request is a copy.
    pub fn request(&self) -> &[u8; KEY] {
        self.0.encapsulated()
    }

    /// Seals the response. `None` if it is too long for the cipher.
    pub fn seal(self, response: &[u8], rng: &mut dyn CryptoRng) -> Option<Vec<u8>> {
        let mut nonce = vec![0; self.0.aead().nonce_bytes()];
        rng.fill_bytes(&mut nonce);
        let sealed = self.0.seal(&nonce, response)?;
        nonce.extend_from_slice(&sealed);
        Some(nonce)
    }
}
