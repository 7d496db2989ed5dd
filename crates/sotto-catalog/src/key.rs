//! Signing keys, public keys, and their text forms.

pub use crate::hex::PublicKey;
use crate::hex::{HYBRID_PREFIX, PUBLIC_PREFIX, decode};
use crate::ml_dsa::{MlDsaSignature, MlDsaSigningKey};
use crate::{CatalogError, Hex32, Hex64, Result};
use ed25519_dalek::Signer;
use sotto_core::CryptoRng;
use std::fmt;
use std::str::FromStr;
use zeroize::{Zeroize, Zeroizing};

const SECRET_PREFIX: &str = "sotto-sk:";
const ML_DSA_PREFIX: &str = "sotto-sk-ml-dsa-44:";
const FILE_HEADER: &str = "# sotto signing key, version 1. Whoever reads this file can publish in your name.";

/// Key derivation context of whitening seeds.
const MASK_CONTEXT: &str = "sotto 2026 table mask v1";

/// Signing key of a publisher: Ed25519, and ML-DSA-44 beside it if the publisher has such a key.
/// Wiped on drop; it does not print itself.
pub struct SigningKey {
    ed25519: ed25519_dalek::SigningKey,
    ml_dsa: Option<MlDsaSigningKey>,
}

impl SigningKey {
    /// Generates an Ed25519 key.
    pub fn generate(rng: &mut dyn CryptoRng) -> Self {
        let mut secret = Zeroizing::new([0; 32]);
        rng.fill_bytes(secret.as_mut_slice());
        SigningKey { ed25519: ed25519_dalek::SigningKey::from_bytes(&secret), ml_dsa: None }
    }

    /// Adds an ML-DSA-44 key, unless there is one. Clients that know the Ed25519 key alone accept
    /// what both sign.
    #[must_use]
    pub fn with_ml_dsa(mut self, rng: &mut dyn CryptoRng) -> Self {
        self.ml_dsa.get_or_insert_with(|| MlDsaSigningKey::generate(rng));
        self
    }

    /// The ML-DSA-44 key, for signing the log of a publisher's catalogs.
    pub fn ml_dsa(&self) -> Option<&MlDsaSigningKey> {
        self.ml_dsa.as_ref()
    }

    /// Public key that verifies signatures of this key.
    pub fn public(&self) -> PublicKey {
        let ml_dsa = self.ml_dsa.as_ref().map(|key| key.public().digest());
        PublicKey { ed25519: Hex32::from(self.ed25519.verifying_key().to_bytes()), ml_dsa }
    }

    /// Text of a key file: a comment line, the key, and the seed of the ML-DSA-44 key on a line of
    /// its own. The caller writes it with mode 0600.
    pub fn to_file(&self) -> Zeroizing<String> {
        let line = ML_DSA_PREFIX.len() + 65;
        let mut text = Zeroizing::new(String::with_capacity(FILE_HEADER.len() + 1 + 2 * line));
        text.push_str(FILE_HEADER);
        text.push('\n');
        let ml_dsa = self.ml_dsa.as_ref().map(|key| (ML_DSA_PREFIX, key.seed()));
        for (prefix, secret) in [(SECRET_PREFIX, self.secret())].into_iter().chain(ml_dsa) {
            text.push_str(prefix);
            for byte in secret.iter() {
                for digit in [byte >> 4, byte & 15] {
                    text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
                }
            }
            text.push('\n');
        }
        text
    }

    /// Reads the text of a key file.
    ///
    /// # Errors
    /// [`CatalogError::KeyText`].
    pub fn from_file(text: &str) -> Result<Self> {
        let refuse = |why| CatalogError::KeyText { what: "signing key file", why };
        let (header, keys) = text.split_once('\n').ok_or(refuse("expected two or three lines"))?;
        if header.trim_end() != FILE_HEADER {
            return Err(refuse("the first line is not that of a sotto signing key, version 1"));
        }
        let secret = |digits: &str| {
            let bytes = Zeroizing::new(decode(digits).unwrap_or_default());
            let secret = <[u8; 32]>::try_from(bytes.as_slice()).map(Zeroizing::new);
            secret.map_err(|_| refuse("expected 64 lower-case hex digits"))
        };
        let mut lines = keys.trim_end().split('\n').map(str::trim_end);
        let digits = lines.next().and_then(|line| line.strip_prefix(SECRET_PREFIX));
        let digits = digits.ok_or(refuse("the second line does not start with sotto-sk:"))?;
        let ed25519 = ed25519_dalek::SigningKey::from_bytes(&*secret(digits)?);
        let Some(line) = lines.next() else { return Ok(SigningKey { ed25519, ml_dsa: None }) };
        let digits = line.strip_prefix(ML_DSA_PREFIX);
        let digits = digits.ok_or(refuse("the third line does not start with sotto-sk-ml-dsa-44:"))?;
        let ml_dsa = Some(MlDsaSigningKey::from_seed(&*secret(digits)?));
        match lines.next() {
            Some(_) => Err(refuse("expected two or three lines")),
            None => Ok(SigningKey { ed25519, ml_dsa }),
        }
    }

    /// Seed of the public whitening of a table, derived from a digest of its rows. It is the same
    /// for the same rows, and no one without this key can predict it. It is published, and reveals
    /// nothing about the key.
    pub fn mask_seed(&self, rows: &Hex32) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key(MASK_CONTEXT);
        hasher.update(self.secret().as_slice()).update(&rows.0);
        if let Some(key) = &self.ml_dsa {
            hasher.update(key.seed().as_slice());
        }
        let seed = *hasher.finalize().as_bytes();
        hasher.zeroize();
        seed
    }

    /// Secret bytes of the Ed25519 key, for signing the log of a publisher's catalogs
    /// ([`crate::document`] says why neither signature can pass for the other).
    pub fn secret(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.ed25519.to_bytes())
    }

    /// Signs a message with both keys, or with the only one.
    pub(crate) fn sign(&self, message: &[u8]) -> (Hex64, Option<MlDsaSignature>) {
        let ml_dsa = self.ml_dsa.as_ref().map(|key| key.sign(message));
        (Hex64::from(self.ed25519.sign(message).to_bytes()), ml_dsa)
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey(for {})", self.public())
    }
}

impl PublicKey {
    /// Verifies the signatures of a message: of Ed25519 strictly, so that a signature has one form
    /// and keys of small order are refused, and of ML-DSA-44 if this key has one.
    ///
    /// # Errors
    /// [`CatalogError::BadSignature`], [`CatalogError::BadMlDsaSignature`],
    /// [`CatalogError::NoMlDsaSignature`].
    pub(crate) fn verify(
        &self,
        message: &[u8],
        signature: &Hex64,
        ml_dsa: Option<&MlDsaSignature>,
    ) -> Result<()> {
        let key = ed25519_dalek::VerifyingKey::from_bytes(&self.ed25519.0);
        let key = key.map_err(|_| CatalogError::BadSignature)?;
        let signature = ed25519_dalek::Signature::from_bytes(&signature.0);
        key.verify_strict(message, &signature).map_err(|_| CatalogError::BadSignature)?;
        match (self.ml_dsa, ml_dsa) {
            (None, None) => Ok(()),
            (Some(_), None) => Err(CatalogError::NoMlDsaSignature { expected: *self }),
            (digest, Some(found)) => {
                let is_valid = digest == Some(found.public_key.digest()) && found.verifies(message);
                if is_valid { Ok(()) } else { Err(CatalogError::BadMlDsaSignature) }
            }
        }
    }

    /// The error for a document of another signer than this key accepts.
    pub fn refusal(&self, found: PublicKey) -> CatalogError {
        match self.ed25519 == found.ed25519 && found.ml_dsa.is_none() {
            true => CatalogError::NoMlDsaSignature { expected: *self },
            false => CatalogError::WrongKey { pinned: Box::new(*self), found },
        }
    }
}

impl FromStr for PublicKey {
    type Err = CatalogError;
    fn from_str(text: &str) -> Result<Self> {
        let refuse = |why| CatalogError::KeyText { what: "public key", why };
        let text = text.trim();
        if let Some(digits) = text.strip_prefix(HYBRID_PREFIX) {
            let halves = digits.split_at_checked(64).and_then(|(first, second)| {
                Some(PublicKey { ed25519: first.parse().ok()?, ml_dsa: Some(second.parse().ok()?) })
            });
            return halves.ok_or(refuse("expected 128 lower-case hex digits"));
        }
        let digits = text.strip_prefix(PUBLIC_PREFIX);
        let digits = digits.ok_or(refuse("expected a public key that starts with sotto-pk: or sotto-pq:"))?;
        let key = digits.parse().map_err(|_| refuse("expected 64 lower-case hex digits"))?;
        Ok(PublicKey::of_ed25519(key))
    }
}
