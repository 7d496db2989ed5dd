//! Static, query-independent files of a table: written by the encoder, immutable, named by digest.

use serde::{Deserialize, Serialize};

/// Which static file. Servable by any cache: it is the same for every client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Artifact {
    /// What a client of a hint scheme downloads once per epoch.
    Hint,
    /// What turns the previous epoch's [`Artifact::Hint`] into this one's.
    HintDelta,
    /// The records themselves, one after the other: what a client streams once to make its own hints.
    Rows,
    /// What changed in [`Artifact::Rows`] since an earlier epoch.
    RowsDelta,
    /// The nodes of the Merkle tree over the rows that the catalog's root is the digest of.
    Tree,
    /// What turns the previous epoch's [`Artifact::Tree`] into this one's.
    TreeDelta,
}

impl Artifact {
    /// Its name in catalogs and messages.
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

    /// Whether it leads from an earlier epoch to this one, and is of no use by itself.
    pub fn is_delta(self) -> bool {
        matches!(self, Artifact::HintDelta | Artifact::RowsDelta | Artifact::TreeDelta)
    }

    /// Whether it is of the table's tree, which is not the scheme's: every table has one.
    pub fn is_tree(self) -> bool {
        matches!(self, Artifact::Tree | Artifact::TreeDelta)
    }
}

/// An artifact a client needs before it can query, and its exact size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArtifactNeed {
    /// Which one.
    pub artifact: Artifact,
    /// Exact bytes.
    pub bytes: u64,
}
