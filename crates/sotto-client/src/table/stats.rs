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
    pub query_requests: Traffic,
    /// Orders of hints.
    pub hint_requests: Traffic,
    /// Evaluations of symmetric tables.
    pub evaluations: Traffic,
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

/// The last call that looked something up: the sum of all its requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupStats {
    /// The epoch that was asked, by the last of its requests.
    pub epoch: Epoch,
    /// Requests to each server.
    pub requests: u64,
    /// Rows fetched: one for a row, as many as its key may lie in for a key.
    pub rows: usize,
    /// Queries sent for them, to each server.
    pub queries: u64,
    /// Bytes of the asks, to all servers.
    pub up: u64,
    /// Bytes of the answers of all servers.
    pub down: u64,
    /// The part of each server, in their order.
    pub servers: Vec<ServerStats>,
    /// Making the query.
    pub query: Duration,
    /// From the first byte sent to the last received, retries included.
    pub round_trip: Duration,
    /// Reading the answer.
    pub recover: Duration,
    /// The evaluations that opened the rows, if the table is symmetric.
    pub evaluations: Option<EvaluationStats>,
    /// The first bytes of the first query, as the first server saw them.
    pub query_prefix: Vec<u8>,
}

impl LookupStats {
    /// Adds a later request of the same call.
    pub(super) fn add(&mut self, later: LookupStats) {
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

    /// What the slowest server says of its own time; `None` if one of them says nothing.
    pub fn timing(&self) -> Option<Timing> {
        let each = self.servers.iter().map(|share| share.timing).collect::<Option<Vec<_>>>();
        each.and_then(|each| each.into_iter().max_by_key(|timing| timing.queue + timing.pass))
    }
}

/// Evaluations that opened rows of a symmetric table. All that the server learns of them is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EvaluationStats {
    /// How many: one for each row.
    pub count: u64,
    /// Bytes of the requests.
    pub up: u64,
    /// Bytes of the answers.
    pub down: u64,
    /// From blinding to the last row that was opened.
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

/// What one server had to do with a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerStats {
    /// Bytes it was sent.
    pub up: u64,
    /// Bytes it sent.
    pub down: u64,
    /// What it says of its own time, if it does.
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
    /// Streaming rows in the background, for the next client.
    NextClient,
    /// Registering keys.
    Keys,
    /// Waiting for hints a server makes.
    Hints,
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
