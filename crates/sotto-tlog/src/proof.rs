//! Inclusion proofs as text (`c2sp.org/tlog-proof@v1`).
//!
//! A proof contains the checkpoint that it leads to: anyone with the log's key can verify it
//! without the log.
#![deny(clippy::indexing_slicing)]

use crate::note::MAX_NOTE_BYTES;
use crate::note::{base64, decimal, hash, unbase64};
use crate::{Checkpoint, LogError, LogKey, Result};
use sotto_tree::log::{Hash, verify};
use std::fmt;

/// Largest size of a proof in bytes: that of a checkpoint, and as much again for the lines before
/// it.
pub const MAX_PROOF_BYTES: usize = 2 * MAX_NOTE_BYTES;

const FIRST_LINE: &str = "c2sp.org/tlog-proof@v1";

/// Largest number of hashes in a proof: no tree has more levels.
const MAX_HASHES: usize = 64;

/// An unverified proof that a log contains a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InclusionProof {
    /// Extra data of the application. It is not signed.
    pub extra: Option<Vec<u8>>,
    /// Index of the leaf.
    pub index: u64,
    /// Siblings of the leaf's path, from the leaf up.
    pub hashes: Vec<Hash>,
    /// Signed checkpoint, as the log published it.
    pub checkpoint: String,
}

impl InclusionProof {
    /// Parses a proof.
    ///
    /// # Errors
    /// [`LogError::TooLarge`], [`LogError::Malformed`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let refuse = |why: &str| LogError::malformed("inclusion proof", why);
        if bytes.len() > MAX_PROOF_BYTES {
            return Err(LogError::TooLarge { what: "inclusion proof".into(), limit: MAX_PROOF_BYTES as u64 });
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|_| refuse("not UTF-8").of_file("the inclusion proof", bytes))?;
        let (head, checkpoint) = text.split_once("\n\n").ok_or_else(|| refuse("expected an empty line"))?;
        let mut lines = head.split('\n').peekable();
        if lines.next() != Some(FIRST_LINE) {
            return Err(refuse("expected c2sp.org/tlog-proof@v1 in the first line"));
        }
        let extra =
            lines.next_if(|line| line.starts_with("extra ")).and_then(|line| line.strip_prefix("extra "));
        let extra = extra.map(|extra| unbase64(extra).ok_or_else(|| refuse("the extra data are not base64")));
        let index = lines.next().and_then(|line| line.strip_prefix("index ")).and_then(decimal);
        let index = index.ok_or_else(|| refuse("expected a line with the index"))?;
        let hashes = lines.by_ref().take(MAX_HASHES).map(hash).collect::<Option<Vec<_>>>();
        let hashes = hashes.ok_or_else(|| refuse("a line after the index is not a hash in base64"))?;
        if lines.next().is_some() {
            return Err(refuse("more hashes than a tree has levels"));
        }
        Ok(InclusionProof { extra: extra.transpose()?, index, hashes, checkpoint: checkpoint.into() })
    }

    /// Verifies that the log of this key has the leaf hash at the proof's index. Returns the
    /// checkpoint that proves it.
    ///
    /// # Errors
    /// The errors of [`Checkpoint::open`]; [`LogError::Tree`] if the proof does not lead to the
    /// checkpoint's root.
    pub fn verify(&self, leaf: &Hash, key: &LogKey) -> Result<Checkpoint> {
        let checkpoint = Checkpoint::open(self.checkpoint.as_bytes(), key)?;
        verify(leaf, self.index, checkpoint.size, &self.hashes, &checkpoint.root)?;
        Ok(checkpoint)
    }
}

/// Writes the text that verifiers parse.
impl fmt::Display for InclusionProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST_LINE}")?;
        self.extra.iter().try_for_each(|extra| writeln!(f, "extra {}", base64(extra)))?;
        writeln!(f, "index {}", self.index)?;
        self.hashes.iter().try_for_each(|hash| writeln!(f, "{}", base64(hash)))?;
        write!(f, "\n{}", self.checkpoint)
    }
}
