//! Ciphersuites that seal messages: X25519, HKDF with SHA-256, and one of three ciphers (RFC 9180).
//!
//! ```text
//! request    id u8 | KEM u16 | KDF u16 | AEAD u16 | encapsulated key | sealed request        RFC 9458 section 4.3
//! response   nonce, as long as the cipher's key or nonce | sealed response                   section 4.4
//! ```

use aes_gcm::aead::{Aead as _, KeyInit};
use aes_gcm::{Aes128Gcm, Aes256Gcm};
use chacha20poly1305::ChaCha20Poly1305;
use hkdf::Hkdf;
use hpke::aead::{AeadCtxR, AeadCtxS};
use hpke::kdf::HkdfSha256;
use hpke::kem::X25519HkdfSha256;
use hpke::{Deserializable, Kem as _, OpModeR, OpModeS, Serializable};
use rand_core::CryptoRng;
use sha2::Sha256;
use zeroize::Zeroizing;

/// Id of DHKEM(X25519, HKDF-SHA256).
pub const KEM: u16 = 0x0020;
/// Id of HKDF-SHA256.
pub const KDF: u16 = 0x0001;
/// Bytes of a key of the KEM: public, private or encapsulated.
pub const KEY: usize = 32;
/// Bytes of a request before its encapsulated key.
pub const HEAD: usize = 7;
/// Bytes that a cipher adds to a message.
pub const TAG: usize = 16;
/// Bytes of a cipher's nonce.
const NONCE: usize = 12;

type Kem = X25519HkdfSha256;

/// An authenticated cipher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aead {
    /// AES-128-GCM.
    Aes128Gcm,
    /// AES-256-GCM.
    Aes256Gcm,
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305,
}

/// Error of sealing or opening a message. It deliberately says no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot be decrypted with this key")]
pub struct AeadError;

impl Aead {
    /// All ciphers, the fastest on servers first.
    pub const ALL: [Aead; 3] = [Aead::Aes128Gcm, Aead::Aes256Gcm, Aead::ChaCha20Poly1305];

    /// Id of the cipher.
    pub fn id(self) -> u16 {
        match self {
            Aead::Aes128Gcm => 1,
            Aead::Aes256Gcm => 2,
            Aead::ChaCha20Poly1305 => 3,
        }
    }

    /// Cipher with this id.
    pub fn find(id: u16) -> Option<Self> {
        Aead::ALL.into_iter().find(|aead| aead.id() == id)
    }

    fn key_bytes(self) -> usize {
        if self == Aead::Aes128Gcm { 16 } else { 32 }
    }

    /// Bytes of a response's nonce, and of the secret that seals it: the longer of the cipher's key
    /// and nonce.
    pub(crate) fn nonce_bytes(self) -> usize {
        self.key_bytes().max(NONCE)
    }
}

/// First bytes of a request, which name its key and its ciphersuite.
pub(crate) fn head(id: u8, aead: Aead) -> [u8; HEAD] {
    let ([a, b], [c, d], [e, f]) = (KEM.to_be_bytes(), KDF.to_be_bytes(), aead.id().to_be_bytes());
    [id, a, b, c, d, e, f]
}

fn info(head: &[u8; HEAD]) -> Vec<u8> {
    [&b"message/bhttp request"[..], &[0], head].concat()
}

/// Secret of a request that both ends keep, to seal and open its response.
pub(crate) struct ResponseContext {
    aead: Aead,
    encapsulated: [u8; KEY],
    secret: Zeroizing<Vec<u8>>,
}

impl ResponseContext {
    pub(crate) fn aead(&self) -> Aead {
        self.aead
    }

    /// Encapsulated key of the request, which no other request has.
    pub(crate) fn encapsulated(&self) -> &[u8; KEY] {
        &self.encapsulated
    }

    /// Key and nonce of the response's cipher (RFC 9458, section 4.4).
    fn keyed(&self, nonce: &[u8]) -> Option<(Zeroizing<Vec<u8>>, [u8; NONCE])> {
        let salt = [&self.encapsulated[..], nonce].concat();
        let derived = Hkdf::<Sha256>::new(Some(&salt), &self.secret);
        let mut key = Zeroizing::new(vec![0; self.aead.key_bytes()]);
        let mut iv = [0; NONCE];
        derived.expand(b"key", &mut key).ok()?;
        derived.expand(b"nonce", &mut iv).ok()?;
        Some((key, iv))
    }

    /// Seals a response. `None` if it is too long for the cipher.
    pub(crate) fn seal(&self, nonce: &[u8], plain: &[u8]) -> Option<Vec<u8>> {
        let (key, iv) = self.keyed(nonce)?;
        match self.aead {
            Aead::Aes128Gcm => Aes128Gcm::new_from_slice(&key).ok()?.encrypt(&iv.into(), plain).ok(),
            Aead::Aes256Gcm => Aes256Gcm::new_from_slice(&key).ok()?.encrypt(&iv.into(), plain).ok(),
            Aead::ChaCha20Poly1305 => {
                ChaCha20Poly1305::new_from_slice(&key).ok()?.encrypt(&iv.into(), plain).ok()
            }
        }
    }

    /// Opens a response.
    pub(crate) fn open(&self, nonce: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (key, iv) = self.keyed(nonce)?;
        match self.aead {
            Aead::Aes128Gcm => Aes128Gcm::new_from_slice(&key).ok()?.decrypt(&iv.into(), sealed).ok(),
            Aead::Aes256Gcm => Aes256Gcm::new_from_slice(&key).ok()?.decrypt(&iv.into(), sealed).ok(),
            Aead::ChaCha20Poly1305 => {
                ChaCha20Poly1305::new_from_slice(&key).ok()?.decrypt(&iv.into(), sealed).ok()
            }
        }
    }
}

/// Public key of a private key. `None` for bytes that are not a key.
pub(crate) fn public(secret: &[u8; KEY]) -> Option<[u8; KEY]> {
    let secret = <Kem as hpke::Kem>::PrivateKey::from_bytes(secret).ok()?;
    Some(Kem::sk_to_pk(&secret).to_bytes().into())
}

/// Seals a request for a public key.
pub(crate) fn seal(
    head: &[u8; HEAD],
    aead: Aead,
    public: &[u8; KEY],
    plain: &[u8],
    rng: &mut dyn CryptoRng,
) -> Option<(Vec<u8>, ResponseContext)> {
    match aead {
        Aead::Aes128Gcm => seal_with::<hpke::aead::AesGcm128>(head, aead, public, plain, rng),
        Aead::Aes256Gcm => seal_with::<hpke::aead::AesGcm256>(head, aead, public, plain, rng),
        Aead::ChaCha20Poly1305 => seal_with::<hpke::aead::ChaCha20Poly1305>(head, aead, public, plain, rng),
    }
}

fn seal_with<A: hpke::aead::Aead>(
    head: &[u8; HEAD],
    aead: Aead,
    public: &[u8; KEY],
    plain: &[u8],
    mut rng: &mut dyn CryptoRng,
) -> Option<(Vec<u8>, ResponseContext)> {
    let public = <Kem as hpke::Kem>::PublicKey::from_bytes(public).ok()?;
    let set =
        hpke::setup_sender_with_rng::<A, HkdfSha256, Kem>(&OpModeS::Base, &public, &info(head), &mut rng);
    let (encapsulated, mut context): (_, AeadCtxS<A, HkdfSha256, Kem>) = set.ok()?;
    let encapsulated: [u8; KEY] = encapsulated.to_bytes().into();
    let sealed = context.seal(plain, b"").ok()?;
    let mut secret = Zeroizing::new(vec![0; aead.nonce_bytes()]);
    context.export(b"message/bhttp response", &mut secret).ok()?;
    Some(([&head[..], &encapsulated, &sealed].concat(), ResponseContext { aead, encapsulated, secret }))
}

/// Opens a request with a private key.
pub(crate) fn open(
    head: &[u8; HEAD],
    aead: Aead,
    secret: &[u8; KEY],
    encapsulated: &[u8; KEY],
    sealed: &[u8],
) -> Option<(Vec<u8>, ResponseContext)> {
    match aead {
        Aead::Aes128Gcm => open_with::<hpke::aead::AesGcm128>(head, aead, secret, encapsulated, sealed),
        Aead::Aes256Gcm => open_with::<hpke::aead::AesGcm256>(head, aead, secret, encapsulated, sealed),
        Aead::ChaCha20Poly1305 => {
            open_with::<hpke::aead::ChaCha20Poly1305>(head, aead, secret, encapsulated, sealed)
        }
    }
}

fn open_with<A: hpke::aead::Aead>(
    head: &[u8; HEAD],
    aead: Aead,
    secret: &[u8; KEY],
    encapsulated: &[u8; KEY],
    sealed: &[u8],
) -> Option<(Vec<u8>, ResponseContext)> {
    let secret = <Kem as hpke::Kem>::PrivateKey::from_bytes(secret).ok()?;
    let point = <Kem as hpke::Kem>::EncappedKey::from_bytes(encapsulated).ok()?;
    let set = hpke::setup_receiver::<A, HkdfSha256, Kem>(&OpModeR::Base, &secret, &point, &info(head));
    let mut context: AeadCtxR<A, HkdfSha256, Kem> = set.ok()?;
    let plain = context.open(sealed, b"").ok()?;
    let mut secret = Zeroizing::new(vec![0; aead.nonce_bytes()]);
    context.export(b"message/bhttp response", &mut secret).ok()?;
    Some((plain, ResponseContext { aead, encapsulated: *encapsulated, secret }))
}
