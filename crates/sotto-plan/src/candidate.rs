//! Candidates: schemes that fit a workload, with all their costs.

use crate::choice::PlanChoice;
use crate::leakage::LeakageStatement;
use crate::workload::RankBy;
use serde::Serialize;

/// A scheme and layout that fit a workload, with their costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Candidate {
    /// Choices that an encoder needs.
    pub choice: PlanChoice,
    /// Description of the scheme in one line.
    pub title: &'static str,
    /// Number of servers, each of another operator.
    pub servers: usize,
    /// Digests of the parameters of its tables.
    pub params_digests: Vec<String>,
    /// Number of tables that a request queries.
    pub tables: u64,
    /// Number of queries of a request to each server.
    pub queries: u64,
    /// Bytes of all queries of a request.
    pub up_bytes: u64,
    /// Bytes of all answers of a request.
    pub down_bytes: u64,
    /// Bytes that a client downloads before its first request: artifacts, trees, and the catalog's
    /// description of keys.
    pub once_bytes: u64,
    /// Bytes of evaluation keys that a client uploads per day.
    pub keys_bytes: u64,
    /// Bytes of hint requests and hint responses per epoch.
    pub hints_bytes: u64,
    /// Bytes that a client downloads for a new epoch.
    pub update_bytes: u64,
    /// Bytes of a request, including its share of all other traffic.
    pub bytes_in_all: f64,
    /// Seconds of an epoch of one client: core-seconds of servers and client for all requests of an
    /// epoch, and [`SENT_BYTE_NANOSECONDS`](sotto_core::work::SENT_BYTE_NANOSECONDS) for each byte
    /// that is sent for them or once, in either direction. No machine, link or price enters.
    pub epoch_s: f64,
    /// Core-seconds of all servers for a request that shares no pass.
    pub server_s: f64,
    /// Seconds of the client's computation.
    pub client_s: f64,
    /// Seconds of the transfer.
    pub link_s: f64,
    /// Seconds of a request to an idle server, including client and transfer.
    pub latency_s: f64,
    /// Median latency at peak, in seconds.
    pub loaded_p50_s: f64,
    /// 99th percentile of the latency at peak, in seconds.
    pub loaded_p99_s: f64,
    /// Number of machines of each server that share the load at peak.
    pub replicas: u64,
    /// Number of requests that share a pass at peak.
    pub pass: f64,
    /// Requests per second that one machine can serve; `None` if no request is sent for a lookup.
    pub capacity: Option<f64>,
    /// Bytes in the memory of each machine.
    pub memory_bytes: u64,
    /// Bytes on the disk of each server: two epochs, and clients' keys.
    pub disk_bytes: u64,
    /// Bytes that a client stores.
    pub client_bytes: u64,
    /// Whether the stored bytes are durable state, which must be neither lost nor copied.
    pub client_state: bool,
    /// Core-seconds of encoding, if that was measured.
    pub encode_s: Option<f64>,
    /// Dollars per million requests.
    pub dollars: f64,
    /// Bits of security; `None` if the security is not computational.
    pub security_bits: Option<f64>,
    /// Name of the model that estimates the security.
    pub security_model: String,
    /// Base-2 logarithm of a bound on the probability that a request fails; `None` if it cannot
    /// fail.
    pub failure_log2: Option<f64>,
    /// Statements of what servers learn.
    pub leaks: Vec<LeakageStatement>,
    /// Whether times come from a measurement on this machine.
    pub calibrated: bool,
    /// Estimate for the table on several machines, if requested. All of it is modeled.
    pub modeled: Option<SplitEstimate>,
}

/// Estimate for a table whose parts are on several machines. It was not measured as a whole: it is
/// computed from the times of one part, of joining, and of sending partial answers over a link of
/// 10 Gbit/s.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SplitEstimate {
    /// Number of machines.
    pub machines: u32,
    /// Bytes in the memory of each machine.
    pub memory_bytes: u64,
    /// Seconds of a request to idle machines.
    pub latency_s: f64,
    /// Core-seconds of all machines.
    pub server_s: f64,
    /// Bytes of all partial answers of a request, between machines.
    pub partials_bytes: u64,
    /// Dollars per million requests.
    pub dollars: f64,
    /// Whether a part was measured on this machine.
    pub from_parts: bool,
}

impl Candidate {
    /// Cost that a ranking minimizes.
    pub fn by(&self, aim: RankBy) -> f64 {
        match (aim, &self.modeled) {
            (RankBy::Dollars, Some(cut)) => cut.dollars,
            (RankBy::Latency, Some(cut)) => cut.latency_s,
            (RankBy::ServerTime, Some(cut)) => cut.server_s,
            (RankBy::Dollars, None) => self.dollars,
            (RankBy::Latency, None) => self.loaded_p50_s,
            (RankBy::ServerTime, None) => self.server_s,
            (RankBy::Bytes, _) => self.bytes_in_all,
            (RankBy::Epoch, _) => self.epoch_s,
        }
    }
}
