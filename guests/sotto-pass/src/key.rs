//! Keys of an issuer, and their ids.

use crate::message::{SIGNATURE, Token, sha256};
use blind_rsa_signatures::{KeyPairSha384PSSDeterministic, PublicKeySha384PSSDeterministic, Signature};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// Bits of the modulus.
const BITS: usize = 2048;

type Pair = KeyPairSha384PSSDeterministic;
type Secret = blind_rsa_signatures::SecretKeySha384PSSDeterministic;

/// Public key that verifies tokens.
#[derive(Debug, Clone)]
pub struct PublicKey {
    pub(crate) rsa: PublicKeySha384PSSDeterministic,
    spki: Vec<u8>,
    id: [u8; 32],
}

impl PublicKey {
    fn new(rsa: PublicKeySha384PSSDeterministic) -> Option<Self> {
        let spki = rsa.to_spki().ok()?;
        // A modulus of another length would not give signatures of the length in messages.
        (rsa.components().n().len() == SIGNATURE).then(|| PublicKey { id: sha256(&spki), rsa, spki })
    }

    /// Parses the bytes of [`PublicKey::spki`]; `None` if they are not such a key.
    pub fn take(spki: &[u8]) -> Option<Self> {
        let key = Self::new(PublicKeySha384PSSDeterministic::from_spki(spki).ok()?)?;
        (key.spki == spki).then_some(key)
    }

    /// The key as a `SubjectPublicKeyInfo` of RSASSA-PSS (RFC 9578 section 6.5).
    pub fn spki(&self) -> &[u8] {
        &self.spki
    }

    /// Id of the key: the SHA-256 of its `SubjectPublicKeyInfo`.
    pub fn id(&self) -> &[u8; 32] {
        &self.id
    }

    /// Last byte of the key's id, by which requests name it.
    pub fn short(&self) -> u8 {
        self.id[31]
    }

    /// Whether a blinded message is a number below the modulus, and so can be signed.
    pub fn takes(&self, blinded: &[u8; SIGNATURE]) -> bool {
        blinded[..] < self.rsa.components().n()[..]
    }

    /// Whether this key signed a token.
    pub fn verifies(&self, token: &Token) -> bool {
        token.key == self.id
            && self.rsa.verify(&Signature(token.signature.to_vec()), None, token.signed()).is_ok()
    }
}

/// Secret key that signs tokens.
pub struct IssuerKey {
    secret: Secret,
    public: PublicKey,
}

impl IssuerKey {
    /// Generates a key, which takes some tenths of a second. `None` if the library fails.
    pub fn generate(rng: &mut dyn CryptoRng) -> Option<Self> {
        let pair = Pair::generate(rng, BITS).ok()?;
        Some(IssuerKey { secret: pair.sk, public: PublicKey::new(pair.pk)? })
    }

    /// Parses the bytes of [`IssuerKey::to_der`], PKCS #8.
    pub fn from_der(der: &[u8]) -> Option<Self> {
        let secret = Secret::from_der(der).ok()?;
        let public = PublicKey::new(secret.public_key().ok()?)?;
        Some(IssuerKey { secret, public })
    }

    /// Parses a PEM file of PKCS #8.
    pub fn from_pem(pem: &str) -> Option<Self> {
        let secret = Secret::from_pem(pem).ok()?;
        let public = PublicKey::new(secret.public_key().ok()?)?;
        Some(IssuerKey { secret, public })
    }

    /// Bytes of the key, to be stored where no one else reads them.
    pub fn to_der(&self) -> Option<Zeroizing<Vec<u8>>> {
        self.secret.to_der().ok().map(Zeroizing::new)
    }

    /// Public key of this key.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Signs a blinded message; `None` if it is not a number below the modulus.
    pub fn sign(&self, blinded: &[u8; SIGNATURE], rng: &mut dyn CryptoRng) -> Option<Vec<u8>> {
        self.secret.blind_sign_with_rng(rng, blinded).ok().map(|signature| signature.0)
    }
}

impl std::fmt::Debug for IssuerKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key").field("public", &self.public.id).finish_non_exhaustive()
    }
}
