//! Verification of rows: the hash tree that proves them, and the error for rows that it does not
//! prove.

use super::artifacts::{ArtifactConsumer, ArtifactDownload};
use super::query_request::Session;
use super::verified_table::VerifiedTable;
use crate::{ClientError, Result};
use sotto_catalog::rows_root;
use sotto_core::erased::PatchFn;
use sotto_core::{Artifact, ArtifactNeed, PeerMisbehaved, Record};
use std::sync::Arc;

/// Collects the nodes of a table's tree.
pub(super) struct TreeDownload {
    need: ArtifactNeed,
    bytes: Vec<u8>,
}

impl ArtifactConsumer for TreeDownload {
    fn needs(&self) -> Vec<ArtifactNeed> {
        vec![self.need]
    }

    fn absorb(&mut self, _: Artifact, chunk: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(chunk);
        Ok(())
    }
}

impl VerifiedTable {
    /// The download of the tree; `None` if rows are not verified by one.
    pub(super) fn nodes(&self) -> Result<Option<(TreeDownload, ArtifactDownload)>> {
        let (root, rows) = (&self.catalog.rows_root, self.catalog.rows);
        if !root.needs_tree(rows) {
            return Ok(None);
        }
        let need = ArtifactNeed { artifact: Artifact::Tree, bytes: root.tree_bytes(rows) };
        let nodes = TreeDownload { need, bytes: Vec::new() };
        let patch: PatchFn = |_, _, cached, delta| rows_root::patch(cached, delta);
        let patch = Some((Artifact::Tree, patch, Vec::new()));
        let download = ArtifactDownload::new(self, &nodes, Artifact::TreeDelta, patch)?;
        Ok(Some((nodes, download)))
    }

    /// Stores the tree, if its root is the rows' root in the catalog.
    ///
    /// # Errors
    /// [`PeerMisbehaved::Digest`] for a catalog that contradicts itself.
    pub(super) fn keep(&mut self, nodes: TreeDownload) -> Result<()> {
        if rows_root::root(&nodes.bytes) != self.catalog.rows_root.root {
            let contradicts = PeerMisbehaved::Digest(Artifact::Tree.name());
            return Err(sotto_core::Error::from(contradicts).into());
        }
        self.tree = Arc::from(nodes.bytes);
        Ok(())
    }
}

impl Session {
    /// Whether each lookup's rows are compared with what the publisher has signed, or come from a
    /// download that was.
    pub fn is_verified(&self) -> bool {
        self.scheme().is_downloadable() || self.table.catalog.rows_root.path.is_some()
    }

    /// Whether the records of a row are the publisher's; `true` for tables without proofs.
    pub(super) fn is_proved(&self, row: u64, records: &[Record]) -> Result<bool> {
        let root = &self.table.catalog.rows_root;
        if root.path.is_none() {
            return Ok(true);
        }
        Ok(root.verifies(self.packing(), row, records, &self.table.tree)?)
    }

    /// Whether a leaf that was hashed piece by piece is the publisher's, as for
    /// [`Self::is_proved`].
    pub(super) fn is_leaf_proved(&self, row: u64, leaf: rows_root::Node, path: &[u8]) -> Result<bool> {
        let root = &self.table.catalog.rows_root;
        Ok(root.proves(self.packing(), row, leaf, path, &self.table.tree)?)
    }

    /// The error for rows that are not the publisher's.
    pub(super) fn row_proof_error(&self) -> ClientError {
        ClientError::RowProofInvalid { table: self.catalog().table.clone(), epoch: self.epoch() }
    }
}
