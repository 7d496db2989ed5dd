//! The live epochs of one table; and past ones, for which no queries are answered: their catalogs,
//! and the rows deltas that lead to them.
//!
//! Clients with state advance from epoch to epoch along these (`spec/artifacts.md`). Nothing of a
//! past epoch is resident: the files are mapped, and only the requested parts are read.

use crate::TableEpoch;
use crate::table_epoch::{Retirement, StaticFile, etag};
use bytes::Bytes;
use sotto_catalog::Hex32;
use sotto_core::{Artifact, Epoch, Section};
use sotto_db::{ImageFile, TableDir};
use sotto_wire::{FrameError, FrameHeader, Problem, ProblemCode, hints};
use std::sync::Arc;

/// The live epochs of a table: the newest, and the previous one for clients that have not moved
/// yet.
pub(crate) struct LiveEpochs {
    newest: Arc<TableEpoch>,
    previous: Option<Arc<TableEpoch>>,
    /// Epochs before the newest that clients with state pass through, the previous one included.
    past: Vec<Arc<PastEpoch>>,
}

impl LiveEpochs {
    pub(crate) fn new(
        newest: Arc<TableEpoch>,
        previous: Option<Arc<TableEpoch>>,
        past: Vec<Arc<PastEpoch>>,
    ) -> Self {
        LiveEpochs { newest, previous, past }
    }

    pub(crate) fn newest(&self) -> &Arc<TableEpoch> {
        &self.newest
    }

    pub(crate) fn previous(&self) -> Option<&Arc<TableEpoch>> {
        self.previous.as_ref()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<TableEpoch>> {
        std::iter::once(&self.newest).chain(&self.previous)
    }

    pub(crate) fn find(&self, epoch: Epoch) -> Option<&Arc<TableEpoch>> {
        self.all().find(|live| live.pin().epoch == epoch)
    }

    /// A past epoch of a delta chain.
    pub(crate) fn find_past(&self, epoch: Epoch) -> Option<&Arc<PastEpoch>> {
        self.past.iter().find(|past| past.epoch() == epoch)
    }

    /// The file of the artifact with this digest.
    pub(crate) fn artifact(&self, digest: &Hex32) -> Option<StaticFile> {
        let live = self.all().find_map(|live| live.artifact(digest));
        live.or_else(|| self.past.iter().find_map(|past| past.artifact(digest)))
    }

    /// The epoch of the table that a frame is for.
    ///
    /// # Errors
    /// The problem that names where to go.
    pub(crate) fn admit(&self, pin: &FrameHeader) -> Result<&Arc<TableEpoch>, Problem> {
        let newest = self.newest.pin().epoch;
        // Every epoch is served in one role, so a frame for another server is refused whatever its
        // epoch.
        let role = self.newest.pin().server;
        if pin.server != role {
            let error = FrameError::Server { got: pin.server, want: role };
            return Err(Problem::new(error.code(), error.to_string()));
        }
        let Some(live) = self.find(pin.epoch) else {
            let (code, when) = match pin.epoch > newest {
                true => (ProblemCode::EpochAhead, "not served yet"),
                false => (ProblemCode::StaleEpoch, "no longer served"),
            };
            return Err(Problem::new(code, format!("epoch {} is {when}", pin.epoch)).with_epoch(newest));
        };
        match live.pin().check(pin) {
            // Checked last, since it concerns this server, and the other checks the frame.
            Ok(()) => {
                live.check().map(|()| live).map_err(|code| Problem::new(code, "the table's image is lost"))
            }
            Err(error) => Err(Problem::new(error.code(), error.to_string()).with_epoch(newest)),
        }
    }

    /// Maximum length of a query request over all live epochs.
    pub(crate) fn max_query(&self) -> u64 {
        self.all().map(|live| live.sizes().max_query_frame_bytes()).max().unwrap_or(0)
    }

    /// Maximum length of a registration over all live epochs.
    pub(crate) fn max_keys(&self) -> u64 {
        self.all().map(|live| live.sizes().keys_frame_bytes()).max().unwrap_or(0)
    }

    /// Maximum length of a hint request over all live epochs.
    pub(crate) fn max_hint_request(&self) -> u64 {
        let bytes = |live: &Arc<TableEpoch>| {
            live.server().hint_server().map_or(0, |hint_server| hint_server.hint_request_bytes())
        };
        hints::frame_bytes(self.all().map(bytes).max().unwrap_or(0) as u64)
    }

    /// Maximum length of a stream request over all live epochs.
    pub(crate) fn max_stream(&self) -> u64 {
        self.all().map(|live| live.sizes().stream_bytes()).max().unwrap_or(0)
    }
}

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
