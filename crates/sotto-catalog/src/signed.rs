//! A document as it travels: the exact text that was signed, the key, the signature.
//!
//! The text rides along as a string, so there is no canonical form to agree on: what was signed is what
//! is parsed, byte for byte.

use crate::document::{self, Document, json, limit};
use crate::succession::{self, Statement, Succession};
use crate::{Catalog, CatalogError, Hex32, Hex64, PublicKey, Result, SigningKey, Stack};
use serde::{Deserialize, Deserializer};
use std::marker::PhantomData;

/// A catalog with its signature.
pub type SignedCatalog = SignedDocument<Catalog>;

/// A stack with its signature.
pub type SignedStack = SignedDocument<Stack>;

/// Most bytes of a signed catalog.
pub const MAX_SIGNED_BYTES: usize = SignedCatalog::MAX_BYTES;

/// A document with its signature.
#[derive(Debug, Clone, PartialEq)]
pub struct SignedDocument<D> {
    /// The document's JSON text, exactly as signed.
    pub text: String,
    /// Ed25519 public key of the publisher.
    pub public_key: Hex32,
    /// Ed25519 signature of the format, a zero byte, and the text.
    pub signature: Hex64,
    /// Changes of the key, oldest first, for whoever knows an older one.
    pub successions: Vec<Succession>,
    document: PhantomData<fn() -> D>,
}

/// An envelope; the text has the name of its document.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope {
    #[serde(default, deserialize_with = "some")]
    catalog: Option<String>,
    #[serde(default, deserialize_with = "some")]
    stack: Option<String>,
    public_key: Hex32,
    signature: Hex64,
    #[serde(default)]
    successions: Vec<Succession>,
}

fn some<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    String::deserialize(from).map(Some)
}

impl<D: Document> SignedDocument<D> {
    /// Most bytes of an envelope: the largest text, every byte of it escaped, and the rest.
    pub const MAX_BYTES: usize = 2 * D::MAX_BYTES + 12_288;

    /// An envelope of these parts. Says nothing about the signature.
    pub fn new(text: String, public_key: Hex32, signature: Hex64) -> Self {
        SignedDocument { text, public_key, signature, successions: Vec::new(), document: PhantomData }
    }

    /// Signs a document.
    ///
    /// # Errors
    /// As [`Document::check`]: what could not be parsed is not signed.
    pub fn sign(document: &D, key: &SigningKey) -> Result<Self> {
        let text = document::text(document)?;
        let signature = key.sign(&message::<D>(&text));
        Ok(SignedDocument::new(text, key.public().0, signature))
    }

    /// Reads an envelope. Says nothing about the signature.
    ///
    /// # Errors
    /// [`CatalogError::TooLarge`], [`CatalogError::Malformed`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        limit(D::SIGNED, bytes.len(), Self::MAX_BYTES)?;
        let Envelope { catalog, stack, public_key, signature, successions } = json(D::SIGNED, bytes)?;
        Succession::check_size(&successions)?;
        let text = match (catalog, stack) {
            (Some(text), None) if D::NAME == Catalog::NAME => text,
            (None, Some(text)) if D::NAME == Stack::NAME => text,
            _ => {
                let missing = serde::de::Error::missing_field(D::NAME);
                return Err(CatalogError::malformed(D::SIGNED, &missing));
            }
        };
        Ok(SignedDocument { successions, ..SignedDocument::new(text, public_key, signature) })
    }

    /// The envelope as JSON.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut value = serde_json::json!({
            (D::NAME): self.text,
            "public_key": self.public_key.to_string(),
            "signature": self.signature.to_string(),
        });
        if !self.successions.is_empty()
            && let Some(fields) = value.as_object_mut()
        {
            fields.insert("successions".to_owned(), serde_json::json!(self.successions));
        }
        value.to_string().into_bytes()
    }

    /// The key it claims to be signed with.
    pub fn public_key(&self) -> PublicKey {
        PublicKey(self.public_key)
    }

    /// Checks key and signature, then parses the text that was signed.
    ///
    /// Without a pin this only says that the bytes were not damaged: anyone can sign with a key of
    /// their own. A client without a pin should keep [`SignedDocument::public_key`] as the pin of later calls.
    ///
    /// # Errors
    /// [`CatalogError::WrongKey`], [`CatalogError::BadSignature`], and those of [`Document::check`].
    pub fn verify(&self, pin: Option<&PublicKey>) -> Result<D> {
        let found = self.public_key();
        if let Some(pinned) = pin.filter(|pinned| **pinned != found) {
            return Err(CatalogError::WrongKey { pinned: *pinned, found });
        }
        found.verify(&message::<D>(&self.text), &self.signature)?;
        document::parse(self.text.as_bytes())
    }
}

impl<D: Document> SignedDocument<D> {
    /// As [`SignedDocument::verify`] with a pin; but a document may be signed by a key that has taken the pinned one's place, if
    /// that is told with it: the statements by which it did, none where the pinned key signed. Whether it may still be followed
    /// is for whoever knows the time ([`Statement::until`]).
    ///
    /// # Errors
    /// As [`SignedDocument::verify`], and those of [`Succession::verify`]; [`CatalogError::Invalid`] for an epoch before that of
    /// the last change.
    pub fn verify_from(&self, pin: &PublicKey) -> Result<(D, Vec<Statement>)> {
        let found = self.public_key();
        if found == *pin || self.successions.is_empty() {
            return Ok((self.verify(Some(pin))?, Vec::new()));
        }
        let document = self.verify(None)?;
        match self.path(&document, pin)? {
            Some(path) => Ok((document, path)),
            None => Err(CatalogError::WrongKey { pinned: *pin, found }),
        }
    }

    /// The statements that lead from a key to the one that signed this, if any do.
    ///
    /// # Errors
    /// As [`SignedDocument::verify_from`].
    pub fn path(&self, document: &D, from: &PublicKey) -> Result<Option<Vec<Statement>>> {
        let path = succession::path(&self.successions, document.name(), *from, self.public_key())?;
        let first = path.as_ref().and_then(|path| path.last()).map(|last| last.from_epoch);
        match first.is_some_and(|first| document.epoch() < first) {
            true => Err(CatalogError::invalid("epoch", "no earlier than the key's first")),
            false => Ok(path),
        }
    }
}

/// What a signature is of.
fn message<D: Document>(text: &str) -> Vec<u8> {
    [D::FORMAT.as_bytes(), b"\0", text.as_bytes()].concat()
}
