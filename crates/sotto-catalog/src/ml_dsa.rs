//! ML-DSA-44 keys and signatures (FIPS 204), which stand beside Ed25519.
//!
//! Ed25519 falls to a large quantum computer, and lattice signatures are young: a document that has
//! both is as good as the better one. Signatures are FIPS 204's deterministic variant with an empty
//! context, as C2SP's cosignatures are; what is signed begins with the name of its format.

use crate::hex::{Hex, Hex32};
use ml_dsa::{Keypair, MlDsa44, Signature, Signer, Verifier, VerifyingKey};
use serde::{Deserialize, Serialize};
use sotto_core::CryptoRng;
use std::fmt;
use zeroize::Zeroizing;

/// Size of a public key in bytes (FIPS 204, table 2).
pub const PUBLIC_KEY_BYTES: usize = 1312;

/// Size of a signature in bytes (FIPS 204, table 2).
pub const SIGNATURE_BYTES: usize = 2420;

/// An ML-DSA-44 public key. All bytes of the right length are one.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MlDsaPublicKey(Box<Hex<PUBLIC_KEY_BYTES>>);

/// An unverified ML-DSA-44 signature, with the key that verifies it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MlDsaSignature {
    /// Key of the signer.
    pub public_key: MlDsaPublicKey,
    /// The signature.
    pub signature: Box<Hex<SIGNATURE_BYTES>>,
}

/// An ML-DSA-44 signing key. Wiped on drop; it does not print itself.
pub struct MlDsaSigningKey {
    key: ml_dsa::SigningKey<MlDsa44>,
    public: MlDsaPublicKey,
}

impl MlDsaPublicKey {
    /// Makes a key from its bytes; `None` if they are not 1,312.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(|bytes: [u8; PUBLIC_KEY_BYTES]| MlDsaPublicKey(Box::new(Hex(bytes))))
    }

    /// Bytes of the key (FIPS 204, algorithm 22).
    pub fn as_bytes(&self) -> &[u8; PUBLIC_KEY_BYTES] {
        &self.0.0
    }

    /// BLAKE3 digest of the key, by which pins name it.
    pub fn digest(&self) -> Hex32 {
        blake3::hash(self.as_bytes()).into()
    }

    /// Whether bytes are a signature of the message under this key. Builds for browsers have it once.
    #[inline(never)]
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let key = VerifyingKey::<MlDsa44>::decode(&self.0.0.into());
        Signature::try_from(signature).is_ok_and(|signature| key.verify(message, &signature).is_ok())
    }
}

impl MlDsaSignature {
    /// Whether this is a signature of the message under its own key.
    pub fn verifies(&self, message: &[u8]) -> bool {
        self.public_key.verifies(message, &self.signature.0)
    }
}

impl MlDsaSigningKey {
    /// Generates a key.
    pub fn generate(rng: &mut dyn CryptoRng) -> Self {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(seed.as_mut_slice());
        Self::from_seed(&seed)
    }

    /// Makes the key of a seed (FIPS 204, algorithm 6).
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let key = ml_dsa::SigningKey::<MlDsa44>::from_seed(seed.into());
        let public = MlDsaPublicKey(Box::new(Hex(key.verifying_key().encode().into())));
        MlDsaSigningKey { key, public }
    }

    /// Seed that the key is made from, which key files hold.
    pub fn seed(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new((*self.key.as_seed()).into())
    }

    /// Public key that verifies signatures of this key.
    pub fn public(&self) -> &MlDsaPublicKey {
        &self.public
    }

    /// Signs a message. Each attempt is rejected with a probability of about 3/4, so the limit of 814
    /// attempts (FIPS 204, appendix C) is never reached.
    pub fn sign(&self, message: &[u8]) -> MlDsaSignature {
        let signature = Box::new(Hex(self.key.sign(message).encode().into()));
        MlDsaSignature { public_key: self.public.clone(), signature }
    }
}

impl fmt::Debug for MlDsaPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MlDsaPublicKey({})", self.digest())
    }
}

impl fmt::Debug for MlDsaSigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MlDsaSigningKey(for {:?})", self.public)
    }
}
