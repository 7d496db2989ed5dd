//! Signed documents: the exact text that was signed, the key, the signature.
//!
//! The text is embedded as a string, so no canonical form is needed: what was signed is what is
//! parsed, byte for byte.

use crate::document::{self, Document, json, limit};
use crate::ml_dsa::MlDsaSignature;
use crate::succession::{self, Statement, Succession};
use crate::{Catalog, CatalogError, Hex32, Hex64, PublicKey, Result, SigningKey, Stack};
use serde::{Deserialize, Deserializer};
use std::marker::PhantomData;

/// A catalog with its signature.
pub type SignedCatalog = SignedDocument<Catalog>;

/// A stack with its signature.
pub type SignedStack = SignedDocument<Stack>;

/// Largest size of a signed catalog in bytes.
pub const MAX_SIGNED_BYTES: usize = SignedCatalog::MAX_BYTES;

/// A document with its signature.
#[derive(Debug, Clone, PartialEq)]
pub struct SignedDocument<D> {
    /// JSON text of the document, exactly as signed.
    pub text: String,
    /// Ed25519 public key of the publisher.
    pub public_key: Hex32,
    /// Ed25519 signature of the format, a zero byte, and the text.
    pub signature: Hex64,
    /// ML-DSA-44 signature of the same bytes, if the publisher has such a key.
    pub ml_dsa: Option<MlDsaSignature>,
    /// Statements about earlier keys, oldest first, for clients that know an older one.
    pub successions: Vec<Succession>,
    document: PhantomData<fn() -> D>,
}

/// JSON envelope of a signed document; the field of the text has the name of the document.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope {
    #[serde(default, deserialize_with = "some")]
    catalog: Option<String>,
    #[serde(default, deserialize_with = "some")]
    stack: Option<String>,
    public_key: Hex32,
    signature: Hex64,
    #[serde(default, deserialize_with = "some")]
    ml_dsa_44: Option<MlDsaSignature>,
    #[serde(default)]
    successions: Vec<Succession>,
}

fn some<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

impl<D: Document> SignedDocument<D> {
    /// Largest size of an envelope in bytes: the largest text with every byte escaped, and the
    /// rest, which is nine ML-DSA-44 keys with their signatures and less than 20 KiB.
    pub const MAX_BYTES: usize = 2 * D::MAX_BYTES + 90_112;

    /// Assembles an envelope with an Ed25519 signature. It is not checked.
    pub fn new(text: String, public_key: Hex32, signature: Hex64) -> Self {
        let (ml_dsa, successions) = (None, Vec::new());
        SignedDocument { text, public_key, signature, ml_dsa, successions, document: PhantomData }
    }

    /// Signs a document.
    ///
    /// # Errors
    /// The errors of [`Document::check`]: what could not be parsed is not signed.
    pub fn sign(document: &D, key: &SigningKey) -> Result<Self> {
        let text = document::text(document)?;
        let (signature, ml_dsa) = key.sign(&message::<D>(&text));
        Ok(SignedDocument { ml_dsa, ..SignedDocument::new(text, key.public().ed25519, signature) })
    }

    /// Parses an envelope. The signature is not checked.
    ///
    /// # Errors
    /// [`CatalogError::TooLarge`], [`CatalogError::Malformed`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        limit(D::SIGNED, bytes.len(), Self::MAX_BYTES)?;
        let Envelope { catalog, stack, public_key, signature, ml_dsa_44: ml_dsa, successions } =
            json(D::SIGNED, bytes)?;
        Succession::check_size(&successions)?;
        let text = match (catalog, stack) {
            (Some(text), None) if D::NAME == Catalog::NAME => text,
            (None, Some(text)) if D::NAME == Stack::NAME => text,
            _ => {
                let missing = serde::de::Error::missing_field(D::NAME);
                return Err(CatalogError::malformed(D::SIGNED, &missing));
            }
        };
        Ok(SignedDocument { ml_dsa, successions, ..SignedDocument::new(text, public_key, signature) })
    }

    /// The envelope as JSON.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut value = serde_json::json!({
            (D::NAME): self.text,
            "public_key": self.public_key.to_string(),
            "signature": self.signature.to_string(),
        });
        let ml_dsa = self.ml_dsa.as_ref().map(|signature| ("ml_dsa_44", serde_json::json!(signature)));
        let successions = (!self.successions.is_empty()).then(|| serde_json::json!(self.successions));
        if let Some(fields) = value.as_object_mut() {
            let optional = ml_dsa.into_iter().chain(successions.map(|all| ("successions", all)));
            fields.extend(optional.map(|(name, field)| (name.to_owned(), field)));
        }
        value.to_string().into_bytes()
    }

    /// Public key in the envelope. It is not verified.
    pub fn public_key(&self) -> PublicKey {
        let ml_dsa = self.ml_dsa.as_ref().map(|signature| signature.public_key.digest());
        PublicKey { ed25519: self.public_key, ml_dsa }
    }

    /// Checks key and signatures, then parses the text that was signed.
    ///
    /// Without a pin this only proves that the bytes are undamaged: anyone can sign with a key of
    /// their own. A client without a pin should keep [`SignedDocument::public_key`] as the pin of
    /// later calls.
    ///
    /// # Errors
    /// [`CatalogError::WrongKey`], [`CatalogError::NoMlDsaSignature`], [`CatalogError::BadSignature`],
    /// [`CatalogError::BadMlDsaSignature`], and the errors of [`Document::check`].
    pub fn verify(&self, pin: Option<&PublicKey>) -> Result<D> {
        let found = self.public_key();
        if let Some(pinned) = pin.filter(|pinned| !pinned.accepts(&found)) {
            return Err(pinned.refusal(found));
        }
        found.verify(&message::<D>(&self.text), &self.signature, self.ml_dsa.as_ref())?;
        document::parse(self.text.as_bytes())
    }
}

impl<D: Document> SignedDocument<D> {
    /// Verifies a document whose signing key may be a successor of the pinned one. It returns the
    /// statements of the succession, or none where the pinned key signed. Whether the succession
    /// may still be followed depends on the time, and is up to the caller ([`Statement::until`]).
    ///
    /// # Errors
    /// The errors of [`SignedDocument::verify`] and of [`Succession::verify`];
    /// [`CatalogError::Invalid`] for an epoch before that of the last change.
    pub fn verify_from(&self, pin: &PublicKey) -> Result<(D, Vec<Statement>)> {
        let found = self.public_key();
        if pin.accepts(&found) || self.successions.is_empty() {
            return Ok((self.verify(Some(pin))?, Vec::new()));
        }
        let document = self.verify(None)?;
        match self.path(&document, pin)? {
            Some(path) => Ok((document, path)),
            None => Err(pin.refusal(found)),
        }
    }

    /// The statements that lead from a key to the one that signed this document, if any do.
    ///
    /// # Errors
    /// The errors of [`SignedDocument::verify_from`].
    pub fn path(&self, document: &D, from: &PublicKey) -> Result<Option<Vec<Statement>>> {
        let path = succession::path(&self.successions, document.name(), *from, self.public_key())?;
        let first = path.as_ref().and_then(|path| path.last()).map(|last| last.from_epoch);
        match first.is_some_and(|first| document.epoch() < first) {
            true => Err(CatalogError::invalid("epoch", "expected an epoch no earlier than the key's first")),
            false => Ok(path),
        }
    }
}

/// The message that is signed.
fn message<D: Document>(text: &str) -> Vec<u8> {
    [D::FORMAT.as_bytes(), b"\0", text.as_bytes()].concat()
}
