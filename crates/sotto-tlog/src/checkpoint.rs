//! Checkpoints of logs (`c2sp.org/tlog-checkpoint`): name, length and root, under the log's
//! signature.
#![deny(clippy::indexing_slicing)]

use crate::note::SignedNote;
use crate::text::{base64, decimal, hash};
use crate::{LogError, LogKey, Result};
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
