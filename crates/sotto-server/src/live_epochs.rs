//! The live epochs of one table.

use crate::table_epoch::StaticFile;
use crate::{PastEpoch, TableEpoch};
use sotto_catalog::Hex32;
use sotto_core::Epoch;
use sotto_wire::{Code, FrameError, FrameHeader, Problem, hints};
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
                true => (Code::EpochAhead, "not served yet"),
                false => (Code::StaleEpoch, "no longer served"),
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
        let bytes =
            |live: &Arc<TableEpoch>| live.server().supplier().map_or(0, |supplier| supplier.order_bytes());
        hints::frame_bytes(self.all().map(bytes).max().unwrap_or(0) as u64)
    }

    /// Maximum length of a stream request over all live epochs.
    pub(crate) fn max_stream(&self) -> u64 {
        self.all().map(|live| live.sizes().stream_bytes()).max().unwrap_or(0)
    }
}
