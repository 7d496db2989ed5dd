//! Bytes and time, seen from here. Bytes are those of bodies; headers and TLS come on top.

use sotto_core::{Artifact, Epoch};
use sotto_wire::Timing;
use std::time::Duration;

/// Bytes of request and response bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Requests made. One that was sent again counts once.
    pub requests: u64,
    /// Bytes sent.
    pub up: u64,
    /// Bytes received.
    pub down: u64,
}

impl Traffic {
    pub(crate) fn add(&mut self, up: u64, down: u64) {
        self.requests += 1;
        self.up += up;
        self.down += down;
    }
}

/// Everything so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Catalogs.
    pub catalog: Traffic,
    /// Artifacts that came over the network, deltas included.
    pub artifacts: Traffic,
    /// Keys.
    pub keys: Traffic,
    /// Asks.
    pub asks: Traffic,
    /// Streams.
    pub streams: Traffic,
    /// Bytes of artifacts that came from the cache.
    pub cached_bytes: u64,
    /// Bytes of artifacts that came from an older epoch's and a delta.
    pub patched_bytes: u64,
    /// Rows looked up.
    pub rows: u64,
    /// How often a request was sent again.
    pub retries: u64,
    /// Time of all openings.
    pub opening: Duration,
}

/// One lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupStats {
    /// The epoch that was asked.
    pub epoch: Epoch,
    /// Rows wanted.
    pub rows: usize,
    /// Queries sent for them.
    pub queries: u16,
    /// Bytes of the ask.
    pub up: u64,
    /// Bytes of the answer.
    pub down: u64,
    /// Making the query.
    pub query: Duration,
    /// From the first byte sent to the last received, retries included.
    pub round_trip: Duration,
    /// Reading the answer.
    pub recover: Duration,
    /// What the server says of its own time, if it does.
    pub server: Option<Timing>,
    /// The first bytes of the query, as the server saw them.
    pub seen: Vec<u8>,
}

/// One row, streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamStats {
    /// The number of the epoch that was asked.
    pub epoch: u64,
    /// Bytes of the row.
    pub row_bytes: u64,
    /// Units that came.
    pub units: u64,
    /// Requests it took: one, unless connections broke or keys had to be registered again.
    pub requests: u64,
    /// Bytes of the requests.
    pub up: u64,
    /// Bytes of the responses.
    pub down: u64,
    /// Making the query.
    pub query: Duration,
    /// From the start of that to the last unit.
    pub time: Duration,
}

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Fetching the catalog.
    Catalog,
    /// Waiting for another process that downloads the same artifact.
    Waiting,
    /// Reading or fetching an artifact.
    Artifact(Artifact),
    /// Registering keys.
    Keys,
    /// Ready to be asked.
    Ready,
    /// Fetching a row piece by piece.
    Row,
}

/// How far an opening is, or a row that is streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// Bytes done.
    pub done: u64,
    /// Bytes in all; 0 if that is not known.
    pub total: u64,
}
