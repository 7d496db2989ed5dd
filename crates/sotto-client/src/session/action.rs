//! What an opening, or a way to a later epoch, wants done next.

use crate::transport::Request;
use sotto_catalog::Hex32;
use sotto_core::{Artifact, Epoch};
use std::ops::Range;

/// What to do next.
#[derive(Debug)]
pub enum Action {
    /// Send this to the server of this number, and feed the response: the catalog; or what shows that it is in its publisher's
    /// log.
    Catalog {
        /// Which server, counted from 0.
        server: u8,
        /// What to send.
        request: Request,
    },
    /// Look for an artifact of an older epoch, and say [`super::SessionSetup::recalled`].
    Recall(LoadCached),
    /// Offer these bytes if they are held, or send the request to any server and feed the response.
    Fetch(FetchRange),
    /// Send this to the server of this number, and feed the response: the keys.
    Keys {
        /// Which server, counted from 0.
        server: u8,
        /// What to send.
        request: Request,
    },
    /// Nothing: [`super::SessionSetup::finish`].
    Ready,
}

/// An artifact of an older epoch, from which a delta leads to this one's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadCached {
    /// Which artifact.
    pub artifact: Artifact,
    /// The older epoch.
    pub epoch: Epoch,
    /// The digest of this epoch's. Whoever holds this one already should say so by recalling nothing.
    pub digest: Hex32,
    /// Its size, in both epochs.
    pub bytes: u64,
    /// The size of the delta.
    pub delta_bytes: u64,
}

/// A part of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchRange {
    /// Which artifact.
    pub artifact: Artifact,
    /// Its digest, and so its name.
    pub digest: Hex32,
    /// Its size.
    pub bytes: u64,
    /// The part wanted: whole chunks.
    pub range: Range<u64>,
    /// What to send for it.
    pub request: Request,
}
