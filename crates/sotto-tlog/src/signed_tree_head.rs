//! Signed tree heads of RFC 6962 servers (section 4.3): JSON without the log's name.
#![deny(clippy::indexing_slicing)]

use crate::checkpoint::Checkpoint;
use crate::note::{NoteSignature, SignedNote};
use crate::{LogError, LogKey, Result};
use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;
use sotto_tree::log::Hash;

/// Largest size of a signed tree head in bytes.
pub const MAX_HEAD_BYTES: usize = 4096;

/// Base64 without required padding, since programs that store tree heads omit it.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// An unverified signed tree head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedTreeHead {
    size: u64,
    timestamp: u64,
    root: Hash,
    signature: Vec<u8>,
}

#[derive(Deserialize)]
struct TreeHeadJson {
    tree_size: u64,
    timestamp: u64,
    sha256_root_hash: String,
    tree_head_signature: String,
}

impl SignedTreeHead {
    /// Parses a response to `get-sth`.
    ///
    /// # Errors
    /// [`LogError::TooLarge`], [`LogError::Malformed`].
    pub fn parse(json: &[u8]) -> Result<Self> {
        let refuse = |why: &str| LogError::malformed("signed tree head", why);
        if json.len() > MAX_HEAD_BYTES {
            return Err(LogError::TooLarge { what: "signed tree head".into(), limit: MAX_HEAD_BYTES as u64 });
        }
        let head: TreeHeadJson = serde_json::from_slice(json)
            .map_err(|_| refuse("expected tree_size, timestamp, sha256_root_hash and tree_head_signature"))?;
        let bytes = |text: &str| LENIENT.decode(text).map_err(|_| refuse("invalid base64"));
        let root =
            bytes(&head.sha256_root_hash)?.try_into().map_err(|_| refuse("expected a root of 32 bytes"))?;
        let signature = bytes(&head.tree_head_signature)?;
        Ok(SignedTreeHead { size: head.tree_size, timestamp: head.timestamp, root, signature })
    }

    /// Verifies the head under this key, and returns the equivalent checkpoint.
    ///
    /// # Errors
    /// [`LogError::KeyText`] for an Ed25519 key, [`LogError::BadSignature`].
    pub fn verify(&self, key: &LogKey) -> Result<Checkpoint> {
        key.verify_head(self.timestamp, self.size, &self.root, &self.signature)?;
        Ok(Checkpoint {
            origin: key.origin().into(),
            size: self.size,
            root: self.root,
            extensions: Vec::new(),
        })
    }

    /// Converts the head into a signed checkpoint (static-ct-api, "Checkpoints"), which needs no
    /// private key.
    ///
    /// # Errors
    /// The errors of [`Self::verify`].
    pub fn to_note(&self, key: &LogKey) -> Result<SignedNote> {
        let text = self.verify(key)?.to_string();
        let bytes = [&self.timestamp.to_be_bytes(), self.signature.as_slice()].concat();
        Ok(SignedNote {
            text,
            signatures: vec![NoteSignature { name: key.name().into(), id: key.id(), bytes }],
        })
    }
}
