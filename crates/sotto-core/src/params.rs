//! Parameters: a *literal* is the written form, and `Params` is its checked form.

use crate::{AbortLeakage, ParamsDigest, Result, SchemeMetadata};
use serde::{Serialize, de::DeserializeOwned};

/// Smallest security that any encoder or client accepts, in bits.
pub const REQUIRED_SECURITY_BITS: u32 = 128;

/// log2 of the largest failure probability of one request that any encoder or client accepts: of a
/// lookup, or of all lookups that a layer makes for a request.
pub const REQUIRED_FAILURE_LOG2: i32 = -40;

/// The shape of the table that parameters are selected for, and the goal of the selection.
///
/// ```
/// use sotto_core::{Goal, TableShape};
///
/// // A million rows of 32 bytes; a client makes about ten lookups before the table changes.
/// let shape = TableShape::new(1_000_000, 32, 10);
/// assert_eq!((shape.goal, shape.set.is_none()), (Goal::ServerTime, true));
///
/// // Sixteen lookups for each request: each may fail sixteen times less often.
/// let batch = TableShape { lookups_per_request: 16, goal: Goal::TotalBytes, ..shape };
/// assert_eq!(batch.required_failure_log2(), -44.0);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableShape {
    /// Rows in the table, at least 1.
    pub rows: u64,
    /// Bytes in a row, at least 1.
    pub row_bytes: u64,
    /// Lookups that one client is expected to make per epoch. The number weighs one-time bytes
    /// against bytes per query, and limits nothing.
    pub lookups_per_client: u64,
    /// Lookups that one request makes in this table and in others like it, at least 1. The request
    /// fails if any of them does, so each must fail that many times less often.
    pub lookups_per_request: u64,
    /// Nodes of 32 bytes at the end of each record, included in its bytes. Node l is the same in
    /// all records whose numbers differ only in their l lowest bits, which a scheme may exploit.
    pub proof_nodes: u32,
    /// Equal buckets of the table, of each of which a query asks for one record; 1 unless the
    /// scheme is a [`crate::BatchScheme`]. `rows` is the total of all buckets, a multiple of their
    /// number.
    pub buckets: u64,
    /// Whether queries ask for sums of records ([`crate::SumScheme`]). Parameters that allow no sums
    /// may be cheaper.
    pub sums: bool,
    /// The cost to minimize.
    pub goal: Goal,
    /// Name of one of the scheme's parameter sets ([`Params::sets`]); `None` selects the best one.
    pub set: Option<String>,
}

impl TableShape {
    /// Makes the shape of a table of `rows` rows that are looked up one by one, with the default
    /// goal and no named set.
    pub const fn new(rows: u64, row_bytes: u64, lookups_per_client: u64) -> Self {
        let (together, path, buckets, sums, goal, set) = (1, 0, 1, false, Goal::ServerTime, None);
        TableShape {
            rows,
            row_bytes,
            lookups_per_client,
            lookups_per_request: together,
            proof_nodes: path,
            buckets,
            sums,
            goal,
            set,
        }
    }

    /// log2 of the largest failure probability of a lookup: that of a request, divided by the
    /// number of its lookups.
    pub fn required_failure_log2(&self) -> f64 {
        f64::from(REQUIRED_FAILURE_LOG2) - (self.lookups_per_request.max(1) as f64).log2()
    }
}

/// The cost that a parameter choice minimizes, where a scheme has a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Goal {
    /// Least time on the server; bytes only break ties.
    #[default]
    ServerTime,
    /// Fewest bytes in a query.
    QueryBytes,
    /// Fewest bytes in a query and its answer.
    TotalBytes,
    /// Most bytes of the requested row in each byte of an answer, whatever the query costs: for
    /// large rows.
    Rate,
}

impl Goal {
    /// All goals.
    pub const ALL: [Goal; 4] = [Goal::ServerTime, Goal::QueryBytes, Goal::TotalBytes, Goal::Rate];

    /// The name of the goal on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Goal::ServerTime => "server-time",
            Goal::QueryBytes => "query-bytes",
            Goal::TotalBytes => "total-bytes",
            Goal::Rate => "rate",
        }
    }
}

/// A parameter set that can be chosen by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedSet {
    /// Name of the set on the command line.
    pub name: &'static str,
    /// Description of the set in one line.
    pub about: &'static str,
}

/// Checked, immutable, public parameters of one scheme for one table.
///
/// A value of this type is the proof that code checked security and correctness.
pub trait Params: Clone + Send + Sync + 'static {
    /// The form that is written into a catalog: public fields, integers and strings only, unknown
    /// fields refused, so that its compact JSON is canonical.
    type Literal: Clone + Serialize + DeserializeOwned + Send + Sync + 'static;

    /// The sets that [`TableShape::set`] may name; none by default.
    fn sets() -> Vec<NamedSet> {
        Vec::new()
    }

    /// Chooses a literal for a table. A set that `shape` names is one of [`Params::sets`].
    ///
    /// # Errors
    /// [`crate::ParamsError::NoFit`] if no parameters of this scheme fit.
    fn select(shape: &TableShape) -> Result<Self::Literal>;

    /// Checks a literal: ranges, security, failure probability.
    ///
    /// # Errors
    /// [`crate::Error::Params`] with the bound that is not met. Must be total: a literal comes from a peer.
    fn check(literal: Self::Literal) -> Result<Self>;

    /// The literal that these parameters were checked from.
    fn literal(&self) -> &Self::Literal;

    /// Reports the guarantees and costs of these parameters.
    fn report(&self) -> ParamsReport;
}

/// Guarantees and costs of checked parameters, in the same form for every scheme.
#[derive(Debug, Clone)]
pub struct ParamsReport {
    /// Digest of the scheme's id and literal. Filled in by the adaptor.
    pub digest: ParamsDigest,
    /// Number of records that the scheme serves.
    pub records: u64,
    /// Bytes in a record.
    pub record_bytes: u64,
    /// Exact bytes and estimated work.
    pub costs: Costs,
    /// Estimated security.
    pub security: Security,
    /// log2 of the bound on the probability that *any* byte of one recovered record is wrong; for
    /// an answer with a record of each bucket, any byte of any of them.
    pub failure_log2: f64,
    /// What a refusal of an answer reveals, where that is more than
    /// [`SchemeMetadata::abort_leakage`](crate::SchemeMetadata::abort_leakage): parameters may pay for
    /// fewer bytes with it.
    pub abort_leakage: Option<AbortLeakage>,
    /// Scheme-specific facts worth showing to a person: (name, value).
    pub details: Vec<(&'static str, String)>,
}

impl ParamsReport {
    /// What a refusal of an answer reveals under these parameters of a scheme.
    pub fn abort_leakage(&self, scheme: &SchemeMetadata) -> AbortLeakage {
        self.abort_leakage.unwrap_or(scheme.abort_leakage)
    }
}

/// Computes the details of a [`ParamsReport`] that are worth showing to a person. In a browser
/// there are none: its programs show none, and every byte of them is downloaded.
pub fn report_details(work: impl FnOnce() -> Vec<(&'static str, String)>) -> Vec<(&'static str, String)> {
    if cfg!(all(target_arch = "wasm32", target_os = "unknown")) { Vec::new() } else { work() }
}

/// Estimated security of the hardest assumption a parameter set rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Security {
    /// Bits of security by the model named in `model`. `f64::INFINITY` for information-theoretic
    /// schemes.
    pub bits: f64,
    /// Name and assumptions of the estimate.
    pub model: String,
    /// For lattices, also the core-SVP cost of the primal attack: 0.292 times the block size, one
    /// classical sieve. It is a lower figure by a cruder model, so it is never compared with the
    /// required bits, nor with `bits`. `None` for schemes without lattices.
    pub core_svp: Option<f64>,
}

/// Exact bytes and estimated work of a scheme. The conformance kit compares the byte counts with
/// the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Costs {
    /// Bytes of static artifacts that a client needs once per epoch.
    pub artifact_bytes: u64,
    /// Bytes of keys that a client registers once per session.
    pub keys_bytes: u64,
    /// Bytes of one query to each server.
    pub query_bytes: u64,
    /// Bytes of one answer from each server.
    pub answer_bytes: u64,
    /// Estimated work of one answer, in the unit of [`crate::work`].
    pub server_ops: u64,
    /// Estimated work of making one query and reading its answer, in the unit of [`crate::work`].
    /// Excludes one-time work.
    pub client_ops: u64,
    /// Bytes that the server keeps resident for the table, artifacts included.
    pub resident_bytes: u64,
    /// Bytes of state that a client must not lose; 0 if it can be rebuilt from the artifacts at any
    /// time.
    pub client_bytes: u64,
    /// Queries that a client can make before it must prepare again; 0 if there is no limit.
    pub budget: u64,
}
