//! A scheme that fits, with all that it would cost.

use crate::choice::PlanChoice;
use crate::leakage::LeakageStatement;
use crate::workload::RankBy;
use serde::Serialize;

/// A scheme and layout that fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// What an encoder is to be told.
    pub choice: PlanChoice,
    /// The scheme in a line.
    pub title: &'static str,
    /// Servers, each of another operator.
    pub servers: usize,
    /// Digests of the parameters of its tables.
    pub params_digests: Vec<String>,
    /// Tables that a request asks.
    pub tables: u64,
    /// Queries of a request to each server.
    pub queries: u64,
    /// Bytes of all queries of a request.
    pub up_bytes: u64,
    /// Bytes of all answers.
    pub down_bytes: u64,
    /// Bytes that a client fetches before its first request: artifacts, trees, what a catalog says of keys.
    pub once_bytes: u64,
    /// Bytes of keys that it uploads, for a day.
    pub keys_bytes: u64,
    /// Bytes that go both ways in an epoch for hints that a server makes.
    pub hints_bytes: u64,
    /// Bytes that a client fetches for a new epoch.
    pub update_bytes: u64,
    /// Bytes of a request with its share of the rest.
    pub bytes_in_all: f64,
    /// Core-seconds of all servers for a request alone.
    pub server_s: f64,
    /// Seconds of the client.
    pub client_s: f64,
    /// Seconds on the link.
    pub link_s: f64,
    /// Seconds of a request to an idle server, the client and the link counted.
    pub latency_s: f64,
    /// The same at peak, for half of the requests.
    pub loaded_p50_s: f64,
    /// And for all but one in a hundred.
    pub loaded_p99_s: f64,
    /// Machines of each server that take turns at peak.
    pub replicas: u64,
    /// Requests that share a pass at peak.
    pub pass: f64,
    /// Requests a second that one machine takes.
    pub capacity: f64,
    /// Bytes in the memory of each machine.
    pub memory_bytes: u64,
    /// Bytes on the disk of each server: two epochs, and clients' keys.
    pub disk_bytes: u64,
    /// Bytes that a client keeps.
    pub client_bytes: u64,
    /// Whether they are a state, which must not be lost or copied.
    pub client_state: bool,
    /// Core-seconds of encoding, if that was measured.
    pub encode_s: Option<f64>,
    /// Dollars of a million requests.
    pub dollars: f64,
    /// Bits of security; none for what no computing breaks.
    pub security_bits: Option<f64>,
    /// What they rest on.
    pub security_model: String,
    /// log2 of a bound on how often a request fails; none if it cannot.
    pub failure_log2: Option<f64>,
    /// What servers learn.
    pub leaks: Vec<LeakageStatement>,
    /// Whether times are by measurement on this machine.
    pub calibrated: bool,
    /// The table over several machines, if asked for. All of it is modeled.
    pub modeled: Option<SplitEstimate>,
}

/// A table that is cut over machines. Nothing here was measured as a whole: it is computed from the time of one part, of joining,
/// and of sending partials over a link of 10 Gbit/s.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SplitEstimate {
    /// How many.
    pub machines: u32,
    /// Bytes in the memory of each.
    pub memory_bytes: u64,
    /// Seconds of a request to idle machines.
    pub latency_s: f64,
    /// Core-seconds of all machines.
    pub server_s: f64,
    /// Bytes of all partials of a request, between machines.
    pub partials_bytes: u64,
    /// Dollars of a million requests.
    pub dollars: f64,
    /// Whether a part was measured on this machine.
    pub from_parts: bool,
}

impl Candidate {
    /// What an aim would have least of.
    pub fn by(&self, aim: RankBy) -> f64 {
        match (aim, &self.modeled) {
            (RankBy::Dollars, Some(cut)) => cut.dollars,
            (RankBy::Latency, Some(cut)) => cut.latency_s,
            (RankBy::ServerTime, Some(cut)) => cut.server_s,
            (RankBy::Dollars, None) => self.dollars,
            (RankBy::Latency, None) => self.loaded_p50_s,
            (RankBy::ServerTime, None) => self.server_s,
            (RankBy::Bytes, _) => self.bytes_in_all,
        }
    }
}
