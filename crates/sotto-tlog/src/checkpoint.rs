//! Checkpoints of logs (`c2sp.org/tlog-checkpoint`): name, length and root, under the log's
//! signature; and signed tree heads of RFC 6962 servers (section 4.3): JSON without the log's name.
#![deny(clippy::indexing_slicing)]

use crate::note::{NoteSignature, SignedNote, base64, decimal, hash};
use crate::{LogError, LogKey, Result};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, alphabet};
use serde::Deserialize;
use sotto_tree::log::Hash;
use std::fmt;

/// A log's name, its number of leaves, and their root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Name of the log.
    pub origin: String,
    /// Number of leaves.
    pub size: u64,
    /// Root of the leaves (RFC 6962, 2.1).
    pub root: Hash,
    /// Further lines, which this crate does not interpret.
    pub extensions: Vec<String>,
}

impl Checkpoint {
    /// Verifies a signed checkpoint under the log's pinned key, and parses it.
    ///
    /// # Errors
    /// [`LogError::TooLarge`], [`LogError::Malformed`], [`LogError::WrongOrigin`],
    /// [`LogError::NotSigned`], [`LogError::BadSignature`].
    pub fn open(bytes: &[u8], key: &LogKey) -> Result<Self> {
        let note = SignedNote::parse(bytes)?;
        let checkpoint = Self::parse_text(&note.text)?;
        if checkpoint.origin != key.origin() {
            let (pinned, found) = (key.origin().into(), checkpoint.origin);
            return Err(LogError::WrongOrigin { pinned, found });
        }
        key.verify_note(&note, checkpoint.size, &checkpoint.root)?;
        if key.signs_head_alone() && !checkpoint.extensions.is_empty() {
            return Err(LogError::malformed("checkpoint", "lines that the signature does not cover"));
        }
        Ok(checkpoint)
    }

    /// Parses a checkpoint's text. Signatures are not checked.
    ///
    /// # Errors
    /// [`LogError::Malformed`].
    pub fn parse_text(text: &str) -> Result<Self> {
        let refuse = |why: &str| LogError::malformed("checkpoint", why);
        let text = text.strip_suffix('\n').ok_or_else(|| refuse("expected a newline at the end"))?;
        let mut lines = text.split('\n');
        let mut next = |what| lines.next().filter(|line| !line.is_empty()).ok_or_else(|| refuse(what));
        let origin = next("expected the log's name in the first line")?.into();
        let size = next("expected the number of leaves in the second line")?;
        let size = decimal(size).ok_or_else(|| refuse("the second line is not a number of leaves"))?;
        let root = next("expected the root in the third line")?;
        let root = hash(root).ok_or_else(|| refuse("the third line is not a root in base64"))?;
        let extensions: Vec<String> = lines.map(String::from).collect();
        if extensions.iter().any(String::is_empty) {
            return Err(refuse("unexpected empty line"));
        }
        Ok(Checkpoint { origin, size, root, extensions })
    }
}

/// Writes the text that is signed.
impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}\n{}\n", self.origin, self.size, base64(&self.root))?;
        self.extensions.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

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
        let head: TreeHeadJson = sotto_core::json::from_slice(json)
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
