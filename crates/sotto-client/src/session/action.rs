//! The next step of a setup or of a delta chain.

use crate::transport::Request;
use sotto_catalog::Hex32;
use sotto_core::{Artifact, Epoch};
use std::ops::Range;

/// The next step that a caller carries out.
#[derive(Debug)]
pub enum Action {
    /// Send a request for a catalog, or for the proof that it is in its publisher's log, and feed
    /// the response.
    Catalog {
        /// Number of the server, counted from 0.
        server: u8,
        /// Request to send.
        request: Request,
    },
    /// Look for an artifact of an older epoch, and pass it to
    /// [`super::SessionSetup::cached_artifact`].
    Recall(LoadCached),
    /// Offer these bytes if they are cached, or send the request to any server and feed the
    /// response.
    Fetch(FetchRange),
    /// Send a request that registers keys, and feed the response.
    Keys {
        /// Number of the server, counted from 0.
        server: u8,
        /// Request to send.
        request: Request,
    },
    /// Nothing is left to do: call [`super::SessionSetup::finish`].
    Ready,
}

/// An artifact of an older epoch, from which a delta leads to the current epoch's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadCached {
    /// Name of the artifact.
    pub artifact: Artifact,
    /// The older epoch.
    pub epoch: Epoch,
    /// Digest of the current epoch's artifact. A caller that has this one already passes `None`.
    pub digest: Hex32,
    /// Size of the artifact in bytes, the same in both epochs.
    pub bytes: u64,
    /// Size of the delta in bytes.
    pub delta_bytes: u64,
}

/// A range of an artifact that a caller fetches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchRange {
    /// Name of the artifact.
    pub artifact: Artifact,
    /// Digest of the artifact, which is its name on the server.
    pub digest: Hex32,
    /// Size of the artifact in bytes.
    pub bytes: u64,
    /// Range of bytes to fetch: whole chunks.
    pub range: Range<u64>,
    /// Request to send for the range.
    pub request: Request,
}
