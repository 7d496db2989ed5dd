//! Signing keys, public keys, and their text forms.

use crate::hex::PUBLIC_PREFIX;
pub use crate::hex::PublicKey;
use crate::hex::decode;
use crate::{CatalogError, Hex32, Hex64, Result};
use ed25519_dalek::Signer;
use sotto_core::CryptoRng;
use std::fmt;
use std::str::FromStr;
use zeroize::{Zeroize, Zeroizing};

const SECRET_PREFIX: &str = "sotto-sk:";
const FILE_HEADER: &str = "# sotto signing key, version 1. Whoever reads this file can publish in your name.";

/// Key derivation context of whitening seeds.
const MASK_CONTEXT: &str = "sotto 2026 table mask v1";

/// An Ed25519 signing key. Wiped on drop; it does not print itself.
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// Generates a key.
    pub fn generate(rng: &mut dyn CryptoRng) -> Self {
        let mut secret = Zeroizing::new([0; 32]);
        rng.fill_bytes(secret.as_mut_slice());
        SigningKey(ed25519_dalek::SigningKey::from_bytes(&secret))
    }

    /// Public key that verifies signatures of this key.
    pub fn public(&self) -> PublicKey {
        PublicKey(Hex32::from(self.0.verifying_key().to_bytes()))
    }

    /// Text of a key file: a comment line and the key. The caller writes it with mode 0600.
    pub fn to_file(&self) -> Zeroizing<String> {
        let secret = Zeroizing::new(self.0.to_bytes());
        let mut text = Zeroizing::new(String::with_capacity(FILE_HEADER.len() + SECRET_PREFIX.len() + 66));
        text.push_str(FILE_HEADER);
        text.push('\n');
        text.push_str(SECRET_PREFIX);
        for byte in secret.iter() {
            for digit in [byte >> 4, byte & 15] {
                text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
            }
        }
        text.push('\n');
        text
    }

    /// Reads the text of a key file.
    ///
    /// # Errors
    /// [`CatalogError::KeyText`].
    pub fn from_file(text: &str) -> Result<Self> {
        let refuse = |why| CatalogError::KeyText { what: "signing key file", why };
        let (header, key) = text.split_once('\n').ok_or(refuse("expected two lines"))?;
        if header.trim_end() != FILE_HEADER {
            return Err(refuse("the first line is not that of a sotto signing key, version 1"));
        }
        let digits = key.trim_end().strip_prefix(SECRET_PREFIX);
        let digits = digits.ok_or(refuse("the second line does not start with sotto-sk:"))?;
        let bytes = Zeroizing::new(decode(digits).ok_or(refuse("expected 64 lower-case hex digits"))?);
        let secret: &[u8; 32] =
            bytes.as_slice().try_into().map_err(|_| refuse("expected 64 lower-case hex digits"))?;
        Ok(SigningKey(ed25519_dalek::SigningKey::from_bytes(secret)))
    }

    /// Seed of the public whitening of a table, derived from a digest of its rows. It is the same
    /// for the same rows, and no one without this key can predict it. It is published, and reveals
    /// nothing about the key.
    pub fn mask_seed(&self, rows: &Hex32) -> [u8; 32] {
        let secret = Zeroizing::new(self.0.to_bytes());
        let mut hasher = blake3::Hasher::new_derive_key(MASK_CONTEXT);
        hasher.update(secret.as_slice()).update(&rows.0);
        let seed = *hasher.finalize().as_bytes();
        hasher.zeroize();
        seed
    }

    /// Secret bytes of the key, for signing the log of a publisher's catalogs ([`crate::document`]
    /// says why neither signature can pass for the other).
    pub fn secret(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.0.to_bytes())
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Hex64 {
        Hex64::from(self.0.sign(message).to_bytes())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey(for {})", self.public())
    }
}

impl PublicKey {
    /// Verifies a signature strictly: a signature has one form, and keys of small order are
    /// refused.
    pub(crate) fn verify(&self, message: &[u8], signature: &Hex64) -> Result<()> {
        let key = ed25519_dalek::VerifyingKey::from_bytes(&self.0.0);
        let key = key.map_err(|_| CatalogError::BadSignature)?;
        let signature = ed25519_dalek::Signature::from_bytes(&signature.0);
        key.verify_strict(message, &signature).map_err(|_| CatalogError::BadSignature)
    }
}

impl FromStr for PublicKey {
    type Err = CatalogError;
    fn from_str(text: &str) -> Result<Self> {
        let refuse = |why| CatalogError::KeyText { what: "public key", why };
        let digits = text.trim().strip_prefix(PUBLIC_PREFIX);
        let digits = digits.ok_or(refuse("expected a public key that starts with sotto-pk:"))?;
        Ok(PublicKey(digits.parse().map_err(|_| refuse("expected 64 lower-case hex digits"))?))
    }
}
