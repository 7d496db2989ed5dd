//! Artifacts: static, query-independent files of a table, written by the encoder, immutable, and
//! named by digest.

use serde::{Deserialize, Serialize};

/// The kind of a static file. Any cache can serve it, since it is the same for every client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Artifact {
    /// The digest of the table that a client of a hint scheme downloads once per epoch; of a
    /// downloadable table, its records.
    Hint,
    /// The delta from the previous epoch's [`Artifact::Hint`] to this one's.
    HintDelta,
    /// The records themselves, concatenated: a client streams them once to make its own hints.
    Rows,
    /// The changes of [`Artifact::Rows`] since an earlier epoch.
    RowsDelta,
    /// The nodes of the Merkle tree over the rows. The catalog's root is the digest of this tree.
    Tree,
    /// The delta from the previous epoch's [`Artifact::Tree`] to this one's.
    TreeDelta,
}

impl Artifact {
    /// The artifact's name in catalogs and messages.
    pub fn name(self) -> &'static str {
        match self {
            Artifact::Hint => "hint",
            Artifact::HintDelta => "hint-delta",
            Artifact::Rows => "rows",
            Artifact::RowsDelta => "rows-delta",
            Artifact::Tree => "tree",
            Artifact::TreeDelta => "tree-delta",
        }
    }

    /// Whether the artifact is a delta from an earlier epoch to this one, which is of no use by
    /// itself.
    pub fn is_delta(self) -> bool {
        matches!(self, Artifact::HintDelta | Artifact::RowsDelta | Artifact::TreeDelta)
    }

    /// Whether the artifact belongs to the Merkle tree, which every table has whatever its scheme.
    pub fn is_tree(self) -> bool {
        matches!(self, Artifact::Tree | Artifact::TreeDelta)
    }
}

/// An artifact a client needs before it can query, and its exact size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArtifactNeed {
    /// Kind of the artifact.
    pub artifact: Artifact,
    /// Exact bytes of the artifact.
    pub bytes: u64,
}
