//! What a publisher signs: JSON text of a format, with a version and a limit.

use crate::{CatalogError, Hex32, Result, TableName};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sotto_core::Epoch;

/// What is signed: a [`Catalog`](crate::Catalog) or a [`Stack`](crate::Stack).
pub trait Document: Serialize + DeserializeOwned {
    /// What it is called, in its envelope too.
    const NAME: &'static str;
    /// What it is called with its signature.
    const SIGNED: &'static str;
    /// The format this build writes and reads. It stands before the text under the signature, with a zero byte, so that
    /// the signature is good for nothing else. The same key signs checkpoints of the publisher's log: those are lines of text,
    /// which never hold a zero byte.
    const FORMAT: &'static str;
    /// Most bytes of its text.
    const MAX_BYTES: usize;

    /// The name of what it is about.
    fn name(&self) -> &TableName;

    /// Which snapshot of that.
    fn epoch(&self) -> Epoch;

    /// BLAKE3 of its text: there is one in an epoch.
    ///
    /// # Errors
    /// As [`Document::check`].
    fn digest(&self) -> Result<Hex32> {
        digest(self)
    }

    /// Checks ranges, and that no two fields contradict each other.
    ///
    /// # Errors
    /// [`CatalogError`], with what is wrong.
    fn check(&self) -> Result<()>;

    /// Refuses what a later version may add to this format, before anything is refused for being unknown.
    ///
    /// # Errors
    /// As [`Document::check`].
    fn check_header(_: &[u8]) -> Result<()> {
        Ok(())
    }
}

/// Only what tells versions apart.
#[derive(Deserialize)]
struct Header {
    format: String,
}

/// Parses and checks a text. Total.
pub(crate) fn parse<D: Document>(bytes: &[u8]) -> Result<D> {
    limit(D::NAME, bytes.len(), D::MAX_BYTES)?;
    // A later version may add fields. Saying "upgrade" is of more use than "unknown field".
    let Header { format } = json(D::NAME, bytes)?;
    if format != D::FORMAT {
        return Err(CatalogError::Version { found: format.chars().take(64).collect(), reads: D::FORMAT });
    }
    D::check_header(bytes)?;
    let document: D = json(D::NAME, bytes)?;
    document.check()?;
    Ok(document)
}

/// The text to sign.
pub(crate) fn text<D: Document>(document: &D) -> Result<String> {
    document.check()?;
    let text = serde_json::to_string(document).map_err(|e| CatalogError::malformed(D::NAME, &e))?;
    limit(D::NAME, text.len(), D::MAX_BYTES)?;
    Ok(text)
}

/// BLAKE3 of the text.
pub(crate) fn digest<D: Document>(document: &D) -> Result<Hex32> {
    Ok(blake3::hash(text(document)?.as_bytes()).into())
}

/// JSON of a peer.
pub(crate) fn json<T: DeserializeOwned>(what: &'static str, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|e| CatalogError::malformed(what, &e))
}

/// Refuses what is too long to be read.
pub(crate) fn limit(what: &'static str, bytes: usize, limit: usize) -> Result<()> {
    let (bytes, limit) = (bytes as u64, limit as u64);
    if bytes <= limit { Ok(()) } else { Err(CatalogError::TooLarge { what, bytes, limit }) }
}
