//! Bytes and time, as seen by the client. Bytes are those of bodies; headers and TLS are
//! additional.

use sotto_core::{Artifact, Epoch};
use sotto_wire::Timing;
use std::time::Duration;

/// Bytes of request and response bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Number of requests. One that was sent again counts once.
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

/// Statistics of a table since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Traffic of catalogs.
    pub catalog: Traffic,
    /// Traffic of artifacts that came over the network, deltas included.
    pub artifacts: Traffic,
    /// Traffic of key registrations.
    pub keys: Traffic,
    /// Traffic of query requests.
    pub query_requests: Traffic,
    /// Traffic of hint requests.
    pub hint_requests: Traffic,
    /// Traffic of evaluations of symmetric tables.
    pub evaluations: Traffic,
    /// Traffic of row streams.
    pub streams: Traffic,
    /// Bytes of artifacts that came from the cache.
    pub cached_bytes: u64,
    /// Bytes of artifacts that were patched from an older epoch's by a delta.
    pub patched_bytes: u64,
    /// Number of rows looked up.
    pub rows: u64,
    /// Number of requests that were sent again.
    pub retries: u64,
    /// Duration of all openings.
    pub opening: Duration,
}

/// Statistics of the last call that looked something up: the sum over all its requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupStats {
    /// Epoch of the last request.
    pub epoch: Epoch,
    /// Number of requests to each server.
    pub requests: u64,
    /// Number of fetched rows: one for a row, as many as it may be in for a key.
    pub rows: usize,
    /// Number of queries to each server.
    pub queries: u64,
    /// Bytes of the query requests to all servers.
    pub up: u64,
    /// Bytes of the answers of all servers.
    pub down: u64,
    /// Share of each server, in their order.
    pub servers: Vec<ServerStats>,
    /// Time to make the queries.
    pub query: Duration,
    /// Time from the first byte sent to the last received, retries included.
    pub round_trip: Duration,
    /// Time to recover the rows from the answers.
    pub recover: Duration,
    /// Evaluations that opened the rows, if the table is symmetric.
    pub evaluations: Option<EvaluationStats>,
    /// First bytes of the first query, as the first server saw them.
    pub query_prefix: Vec<u8>,
}

impl LookupStats {
    /// Adds a later request of the same call, or a later call.
    pub fn add(&mut self, later: LookupStats) {
        self.epoch = later.epoch;
        self.requests += later.requests;
        self.rows += later.rows;
        self.queries += later.queries;
        self.up += later.up;
        self.down += later.down;
        for (share, more) in self.servers.iter_mut().zip(&later.servers) {
            share.add(more);
        }
        self.query += later.query;
        self.round_trip += later.round_trip;
        self.recover += later.recover;
        if let Some(evaluations) = later.evaluations {
            self.evaluations.get_or_insert_default().add(&evaluations);
        }
    }

    /// The times that the slowest server reports; `None` if one of the servers reports none.
    pub fn timing(&self) -> Option<Timing> {
        let each = self.servers.iter().map(|share| share.timing).collect::<Option<Vec<_>>>();
        each.and_then(|each| each.into_iter().max_by_key(|timing| timing.queue + timing.pass))
    }
}

/// Statistics of the evaluations that opened rows of a symmetric table. The server learns nothing
/// of them beyond these numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EvaluationStats {
    /// Number of evaluations: one for each row.
    pub count: u64,
    /// Bytes of the requests.
    pub up: u64,
    /// Bytes of the answers.
    pub down: u64,
    /// Time from blinding to the last opened row.
    pub time: Duration,
}

impl EvaluationStats {
    pub(super) fn add(&mut self, later: &EvaluationStats) {
        self.count += later.count;
        self.up += later.up;
        self.down += later.down;
        self.time += later.time;
    }
}

/// One server's share of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerStats {
    /// Bytes sent to the server.
    pub up: u64,
    /// Bytes received from the server.
    pub down: u64,
    /// Times that the server reports, if it does.
    pub timing: Option<Timing>,
}

impl ServerStats {
    fn add(&mut self, later: &ServerStats) {
        self.up += later.up;
        self.down += later.down;
        self.timing = self
            .timing
            .zip(later.timing)
            .map(|(timing, more)| Timing { queue: timing.queue + more.queue, pass: timing.pass + more.pass });
    }
}

/// Statistics of one streamed row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamStats {
    /// Number of the epoch.
    pub epoch: u64,
    /// Bytes of the row.
    pub row_bytes: u64,
    /// Number of received units.
    pub units: u64,
    /// Number of requests: one, unless connections broke or keys had to be registered again.
    pub requests: u64,
    /// Bytes of the requests.
    pub up: u64,
    /// Bytes of the responses.
    pub down: u64,
    /// Time to make the query.
    pub query: Duration,
    /// Time from the start of the query to the last unit.
    pub time: Duration,
}

/// The current activity of an opening or a streamed row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Fetching the catalog.
    Catalog,
    /// Waiting for another process that downloads the same artifact.
    Waiting,
    /// Reading or fetching an artifact.
    Artifact(Artifact),
    /// Streaming rows in the background, for the next client.
    NextClient,
    /// Registering keys.
    Keys,
    /// Waiting for hints that a server makes.
    Hints,
    /// The table is ready for lookups.
    Ready,
    /// Fetching a row piece by piece.
    Row,
}

/// The progress of an opening, or of a streamed row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Current activity.
    pub stage: Stage,
    /// Bytes done.
    pub done: u64,
    /// Bytes in all; 0 if unknown.
    pub total: u64,
}
