//! Signed tree heads, as servers of RFC 6962 say them (section 4.3): JSON, without the log's name.
#![deny(clippy::indexing_slicing)]

use crate::checkpoint::Checkpoint;
use crate::note::{NoteSignature, SignedNote};
use crate::{LogError, LogKey, Result};
use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;
use sotto_tree::log::Hash;

/// Most bytes of one.
pub const MAX_HEAD_BYTES: usize = 4096;

/// Programs that keep tree heads leave the padding out.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A signed tree head, of which nothing is verified yet.
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
    /// Reads the answer to `get-sth`.
    ///
    /// # Errors
    /// [`LogError::TooLarge`], [`LogError::Malformed`].
    pub fn parse(json: &[u8]) -> Result<Self> {
        let refuse = |why: &str| LogError::malformed("signed tree head", why);
        if json.len() > MAX_HEAD_BYTES {
            return Err(LogError::TooLarge { what: "signed tree head".into(), limit: MAX_HEAD_BYTES as u64 });
        }
        let head: TreeHeadJson = serde_json::from_slice(json).map_err(|_| {
            refuse("tree_size, timestamp, sha256_root_hash and tree_head_signature were expected")
        })?;
        let bytes = |text: &str| LENIENT.decode(text).map_err(|_| refuse("its base64 is not valid"));
        let root = bytes(&head.sha256_root_hash)?.try_into().map_err(|_| refuse("a root has 32 bytes"))?;
        let signature = bytes(&head.tree_head_signature)?;
        Ok(SignedTreeHead { size: head.tree_size, timestamp: head.timestamp, root, signature })
    }

    /// The checkpoint that says the same, if the head is signed with this key.
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

    /// The same as a signed checkpoint (static-ct-api, "Checkpoints"): no private key is needed for it.
    ///
    /// # Errors
    /// As [`Self::verify`].
    pub fn to_note(&self, key: &LogKey) -> Result<SignedNote> {
        let text = self.verify(key)?.to_string();
        let bytes = [&self.timestamp.to_be_bytes(), self.signature.as_slice()].concat();
        Ok(SignedNote {
            text,
            signatures: vec![NoteSignature { name: key.name().into(), id: key.id(), bytes }],
        })
    }
}
