//! Past epochs, for which no queries are answered: their catalogs, and the rows deltas that lead to
//! them.
//!
//! Clients with state advance from epoch to epoch along these (`spec/artifacts.md`). Nothing of
//! them is resident: the files are mapped, and only the requested parts are read.

use crate::table_epoch::{Retirement, StaticFile, etag};
use bytes::Bytes;
use sotto_catalog::Hex32;
use sotto_core::{Artifact, Epoch, Section};
use sotto_db::{ImageFile, TableDir};
use std::sync::Arc;

/// A past epoch of a table.
pub struct PastEpoch {
    epoch: Epoch,
    signed: Bytes,
    etag: String,
    delta: Hex32,
    image: Arc<ImageFile>,
}

impl PastEpoch {
    /// The epochs of a folder before `newest` on a delta chain to it, the latest first: each has a
    /// rows delta, and at most `keep` deltas are served, that of `newest` included.
    pub fn all(dir: &TableDir, newest: Epoch, keep: u64) -> Vec<Arc<PastEpoch>> {
        let first = newest.0.saturating_sub(keep.saturating_sub(1)).max(1);
        let older = (first..newest.0).rev().map(Epoch);
        older.map_while(|epoch| PastEpoch::open(dir, epoch)).map(Arc::new).collect()
    }

    /// Opens one epoch; `None` if it does not exist, or no delta leads to it: then the chain ends
    /// here.
    fn open(dir: &TableDir, epoch: Epoch) -> Option<Self> {
        let image = match dir.open_delta_source(epoch) {
            Ok(image) => image,
            Err(sotto_db::DbError::NoEpoch { .. }) => return None,
            Err(error) => {
                tracing::warn!(%epoch, %error, "the delta of an old epoch is not served");
                return None;
            }
        };
        let entries = &image.catalog().artifacts;
        let delta = entries.iter().find(|entry| entry.artifact == Artifact::RowsDelta)?.digest;
        let signed = Bytes::from(image.signed_catalog().to_bytes());
        Some(PastEpoch { epoch, signed, etag: etag(image.signed_catalog()), delta, image })
    }

    /// The number of the epoch.
    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The signed catalog, and its entity tag.
    pub(crate) fn signed(&self) -> (Bytes, &str) {
        (self.signed.clone(), &self.etag)
    }

    /// The file of the artifact with this digest, if it is the delta.
    pub(crate) fn artifact(&self, digest: &Hex32) -> Option<StaticFile> {
        // Nothing of it is in memory, so a slow reader holds none.
        let retired = Retirement::default;
        let file = || StaticFile {
            image: self.image.clone(),
            section: DELTA,
            file: Some(self.image.clone()),
            retired: retired(),
        };
        (self.delta == *digest).then(file)
    }
}

const DELTA: Section = Section::Public(Artifact::RowsDelta);
