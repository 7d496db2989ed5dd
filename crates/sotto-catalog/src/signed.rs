//! The catalog as it travels: the exact text that was signed, the key, the signature.
//!
//! The text rides along as a string, so there is no canonical form to agree on: what was signed is what
//! is parsed, byte for byte.

use crate::{Catalog, CatalogError, Hex32, Hex64, PublicKey, Result, SigningKey};
use serde::{Deserialize, Serialize};

/// Most bytes of an envelope: the largest catalog, every byte of it escaped, and the rest.
pub const MAX_SIGNED_BYTES: usize = 2 * crate::catalog::MAX_CATALOG_BYTES + 4096;

/// Stands before the text under the signature, so that it is good for nothing else.
const CONTEXT: &[u8] = b"sotto-catalog/1\0";

/// A catalog with its signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedCatalog {
    /// The catalog's JSON text, exactly as signed.
    pub catalog: String,
    /// Ed25519 public key of the publisher.
    pub public_key: Hex32,
    /// Ed25519 signature of `sotto-catalog/1`, a zero byte, and the text.
    pub signature: Hex64,
}

impl SignedCatalog {
    /// Signs a catalog.
    ///
    /// # Errors
    /// As [`Catalog::check`]: what could not be parsed is not signed.
    pub fn sign(catalog: &Catalog, key: &SigningKey) -> Result<Self> {
        let catalog = catalog.to_text()?;
        let signature = key.sign(&message(CONTEXT, &catalog));
        Ok(SignedCatalog { catalog, public_key: key.public().0, signature })
    }

    /// Reads an envelope. Says nothing about the signature.
    ///
    /// # Errors
    /// [`CatalogError::TooLarge`], [`CatalogError::Malformed`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > MAX_SIGNED_BYTES {
            let (bytes, limit) = (bytes.len() as u64, MAX_SIGNED_BYTES as u64);
            return Err(CatalogError::TooLarge { what: "signed catalog", bytes, limit });
        }
        serde_json::from_slice(bytes).map_err(|e| CatalogError::malformed("signed catalog", &e))
    }

    /// The envelope as JSON.
    pub fn to_bytes(&self) -> Vec<u8> {
        let value = serde_json::json!({
            "catalog": self.catalog,
            "public_key": self.public_key.to_string(),
            "signature": self.signature.to_string(),
        });
        value.to_string().into_bytes()
    }

    /// The key it claims to be signed with.
    pub fn public_key(&self) -> PublicKey {
        PublicKey(self.public_key)
    }

    /// Checks key and signature, then parses the text that was signed.
    ///
    /// Without a pin this only says that the bytes were not damaged: anyone can sign with a key of
    /// their own. A client without a pin should keep [`SignedCatalog::public_key`] as the pin of later calls.
    ///
    /// # Errors
    /// [`CatalogError::WrongKey`], [`CatalogError::BadSignature`], and those of [`Catalog::parse`].
    pub fn verify(&self, pin: Option<&PublicKey>) -> Result<Catalog> {
        let found = self.public_key();
        if let Some(pinned) = pin.filter(|pinned| **pinned != found) {
            return Err(CatalogError::WrongKey { pinned: *pinned, found });
        }
        found.verify(&message(CONTEXT, &self.catalog), &self.signature)?;
        Catalog::parse(self.catalog.as_bytes())
    }
}

/// What a signature is of.
pub(crate) fn message(context: &[u8], text: &str) -> Vec<u8> {
    [context, text.as_bytes()].concat()
}
