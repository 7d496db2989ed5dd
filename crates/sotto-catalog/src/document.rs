//! Documents that a publisher signs: JSON text of a format, with a version and a size limit.

use crate::{Anchor, CatalogError, Hex32, Result, TableName};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sotto_core::Epoch;

/// A document that a publisher signs: a [`Catalog`](crate::Catalog) or a [`Stack`](crate::Stack).
pub trait Document: Serialize + DeserializeOwned {
    /// Name of the kind of document, also in its envelope.
    const NAME: &'static str;
    /// Name of the signed document in errors.
    const SIGNED: &'static str;
    /// Format that this build writes and reads. The signature covers the format and a zero byte
    /// before the text, so that it is valid for nothing else. The same key signs checkpoints of the
    /// publisher's log: those are lines of text, which never contain a zero byte.
    const FORMAT: &'static str;
    /// Largest size of the text in bytes.
    const MAX_BYTES: usize;

    /// Name of the table or stack that the document is about.
    fn name(&self) -> &TableName;

    /// Epoch that the document describes.
    fn epoch(&self) -> Epoch;

    /// State of another system that the epoch was made from, if the publisher names one.
    fn anchor(&self) -> Option<&Anchor>;

    /// BLAKE3 digest of the text: an epoch has exactly one.
    ///
    /// # Errors
    /// The errors of [`Document::check`].
    fn digest(&self) -> Result<Hex32> {
        digest(self)
    }

    /// Checks ranges, and that no two fields contradict each other.
    ///
    /// # Errors
    /// [`CatalogError`], with the problem.
    fn check(&self) -> Result<()>;

    /// Refuses additions of a later version to this format by name, before the full parser refuses
    /// them as unknown.
    ///
    /// # Errors
    /// The errors of [`Document::check`].
    fn check_header(_: &[u8]) -> Result<()> {
        Ok(())
    }
}

/// The field that tells versions apart.
#[derive(Deserialize)]
struct Header {
    format: String,
}

/// Parses and checks the text of a document. Total.
pub(crate) fn parse<D: Document>(bytes: &[u8]) -> Result<D> {
    limit(D::NAME, bytes.len(), D::MAX_BYTES)?;
    // A later version may add fields. "Upgrade" is more helpful than "unknown field".
    let Header { format } = json(D::NAME, bytes)?;
    if format != D::FORMAT {
        return Err(CatalogError::Version { found: format.chars().take(64).collect(), reads: D::FORMAT });
    }
    D::check_header(bytes)?;
    let document: D = json(D::NAME, bytes)?;
    document.check()?;
    Ok(document)
}

/// Text of a document, to be signed.
pub(crate) fn text<D: Document>(document: &D) -> Result<String> {
    document.check()?;
    let text = serde_json::to_string(document).map_err(|e| CatalogError::malformed(D::NAME, &e))?;
    limit(D::NAME, text.len(), D::MAX_BYTES)?;
    Ok(text)
}

/// BLAKE3 digest of a document's text.
pub(crate) fn digest<D: Document>(document: &D) -> Result<Hex32> {
    Ok(blake3::hash(text(document)?.as_bytes()).into())
}

/// Parses JSON from a peer.
pub(crate) fn json<T: DeserializeOwned>(what: &'static str, bytes: &[u8]) -> Result<T> {
    sotto_core::json::from_slice(bytes).map_err(|e| CatalogError::malformed(what, &e))
}

/// Refuses text that is longer than its limit.
pub(crate) fn limit(what: &'static str, bytes: usize, limit: usize) -> Result<()> {
    let (bytes, limit) = (bytes as u64, limit as u64);
    if bytes <= limit { Ok(()) } else { Err(CatalogError::TooLarge { what, bytes, limit }) }
}
