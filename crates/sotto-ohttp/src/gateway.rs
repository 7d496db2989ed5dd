//! A gateway's half: keys, and what is done with a request that came.

use crate::config::KeyConfig;
use crate::suite::{self, Aead, HEAD, KEY, ResponseContext, TAG};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// A private key, and what it is called.
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
    /// A new key.
    pub fn generate(id: u8, rng: &mut dyn CryptoRng) -> Option<Self> {
        let mut secret = Zeroizing::new([0; KEY]);
        rng.fill_bytes(&mut *secret);
        GatewayKey::of(id, &secret)
    }

    /// The key of these bytes.
    pub fn of(id: u8, secret: &[u8; KEY]) -> Option<Self> {
        Some(GatewayKey { id, secret: Zeroizing::new(*secret), public: suite::public(secret)? })
    }

    /// What it is called.
    pub fn id(&self) -> u8 {
        self.id
    }

    /// Its bytes, for a place that nobody else reads.
    pub fn secret(&self) -> &[u8; KEY] {
        &self.secret
    }

    /// What everybody may know of it.
    pub fn config(&self) -> KeyConfig {
        KeyConfig::new(self.id, self.public)
    }
}

/// Why a request was not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// It is no such request.
    #[error("the request is cut off")]
    Malformed,
    /// It is for a key, or sealed in a way, that the gateway does not know.
    #[error("no key of this gateway has this id and these algorithms")]
    UnknownKey,
    /// It was sealed for another key of that id, or changed on the way.
    #[error("the request was not sealed for this key")]
    Unopened,
}

/// A request, opened.
pub struct OpenedRequest {
    /// What it says.
    pub plain: Vec<u8>,
    /// What its response is sealed by.
    pub reply: ResponseSealer,
}

/// What one response is sealed by.
pub struct ResponseSealer(ResponseContext);

/// Bytes of a request beside what it says.
pub const OVERHEAD: usize = HEAD + KEY + TAG;

/// Opens a request with the key that it is for.
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
    /// What the request had that no other has, unless it is the same request.
    pub fn request(&self) -> &[u8; KEY] {
        self.0.encapsulated()
    }

    /// Seals a response. `None` if it is too long for the cipher.
    pub fn seal(self, response: &[u8], rng: &mut dyn CryptoRng) -> Option<Vec<u8>> {
        let mut nonce = vec![0; self.0.aead().nonce_bytes()];
        rng.fill_bytes(&mut nonce);
        let sealed = self.0.seal(&nonce, response)?;
        nonce.extend_from_slice(&sealed);
        Some(nonce)
    }
}
