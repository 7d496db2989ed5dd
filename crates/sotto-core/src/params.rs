//! Parameters: a *literal* is what is written down, `Params` is what was checked.

use crate::{ParamsDigest, Result};
use serde::{Serialize, de::DeserializeOwned};

/// Smallest security any encoder or client accepts, in bits.
pub const REQUIRED_SECURITY_BITS: u32 = 128;

/// log2 of the largest failure probability of one request any encoder or client accepts: of a lookup, or of all lookups
/// that a layer makes of a request.
pub const REQUIRED_FAILURE_LOG2: i32 = -40;

/// The table a scheme is asked to fit, and what matters most to whoever asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableShape {
    /// Rows in the table, at least 1.
    pub rows: u64,
    /// Bytes in a row, at least 1.
    pub row_bytes: u64,
    /// How many lookups one client is expected to make per epoch. Weighs one-time bytes against
    /// bytes per query; it does not limit anything.
    pub lookups_per_client: u64,
    /// How many lookups one request makes, in this table and in others like it, at least 1. The request fails if any
    /// of them does, so each has to fail that many times less often.
    pub lookups_per_request: u64,
    /// Nodes of 32 bytes at the end of each record, which are among its bytes: node l is the same in all records whose numbers
    /// agree but for their l lowest bits. A scheme may make use of that.
    pub proof_nodes: u32,
    /// Equal parts of the table, of each of which a query asks for one record; 1 unless the scheme is [`crate::BatchScheme`].
    /// `rows` is the total of all parts, a multiple of it.
    pub buckets: u64,
    /// What to spend least of.
    pub goal: Goal,
    /// One of the scheme's named parameter sets ([`Params::sets`]) instead of whichever is best.
    pub set: Option<String>,
}

impl TableShape {
    /// A table of `rows` rows, each looked up for itself, with the default goal and no set named.
    pub const fn new(rows: u64, row_bytes: u64, lookups_per_client: u64) -> Self {
        let (together, path, buckets, goal, set) = (1, 0, 1, Goal::ServerTime, None);
        TableShape {
            rows,
            row_bytes,
            lookups_per_client,
            lookups_per_request: together,
            proof_nodes: path,
            buckets,
            goal,
            set,
        }
    }

    /// log2 of the largest failure probability of a lookup: a request's, divided among its lookups.
    pub fn required_failure_log2(&self) -> f64 {
        f64::from(REQUIRED_FAILURE_LOG2) - (self.lookups_per_request.max(1) as f64).log2()
    }
}

/// What parameters are chosen for, where a scheme has a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Goal {
    /// Least time on the server; bytes only break ties.
    #[default]
    ServerTime,
    /// Fewest bytes in a query.
    QueryBytes,
    /// Fewest bytes in a query and its answer.
    TotalBytes,
    /// Most of the wanted row in each byte of an answer, whatever the query costs: for large rows.
    Rate,
}

impl Goal {
    /// Every goal.
    pub const ALL: [Goal; 4] = [Goal::ServerTime, Goal::QueryBytes, Goal::TotalBytes, Goal::Rate];

    /// The name a person types.
    pub const fn name(self) -> &'static str {
        match self {
            Goal::ServerTime => "server-time",
            Goal::QueryBytes => "query-bytes",
            Goal::TotalBytes => "total-bytes",
            Goal::Rate => "rate",
        }
    }
}

/// A parameter set that a person can ask for by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedSet {
    /// What is typed.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
}

/// Checked, immutable, public parameters of one scheme for one table.
///
/// A value of this type *is* the proof that security and correctness were checked by code.
pub trait Params: Clone + Send + Sync + 'static {
    /// The form that is written into a catalog: public fields, integers and strings only, unknown
    /// fields refused, so that its compact JSON is canonical.
    type Literal: Clone + Serialize + DeserializeOwned + Send + Sync + 'static;

    /// The sets that [`TableShape::set`] may name; none unless said otherwise.
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

    /// The literal these parameters were checked from.
    fn literal(&self) -> &Self::Literal;

    /// What these parameters promise and cost.
    fn report(&self) -> ParamsReport;
}

/// What checked parameters promise and cost; the same for every scheme.
#[derive(Debug, Clone)]
pub struct ParamsReport {
    /// Digest of scheme id and literal. Filled in by the adaptor.
    pub digest: ParamsDigest,
    /// How many records the scheme serves.
    pub records: u64,
    /// Bytes in a record.
    pub record_bytes: u64,
    /// Exact bytes and estimated work.
    pub costs: Costs,
    /// Estimated security.
    pub security: Security,
    /// log2 of the bound on the probability that *any* byte of one recovered record is wrong; of any record of an answer, where
    /// it brings one of each bucket.
    pub failure_log2: f64,
    /// Scheme-specific facts worth showing to a person: (name, value).
    pub details: Vec<(&'static str, String)>,
}

/// Works out what is worth showing to a person, for [`ParamsReport::details`]; in a browser nothing, since its programs show none
/// and every byte of them is loaded.
pub fn report_details(work: impl FnOnce() -> Vec<(&'static str, String)>) -> Vec<(&'static str, String)> {
    if cfg!(all(target_arch = "wasm32", target_os = "unknown")) { Vec::new() } else { work() }
}

/// Estimated security of the hardest assumption a parameter set rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Security {
    /// Bits, by the model named in `model`. `f64::INFINITY` for information-theoretic schemes.
    pub bits: f64,
    /// Which estimate this is, and what it assumes.
    pub model: String,
    /// For lattices, core-SVP of the primal attack as well: 0.292 times the block size, one classical sieve. A lower
    /// figure by a cruder model, so it is never compared with what is required, nor with `bits`. `None` for schemes
    /// without lattices.
    pub core_svp: Option<f64>,
}

/// Exact bytes, estimated work. Byte counts are compared with the wire by the conformance kit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Costs {
    /// Bytes of static artifacts a client needs once per epoch.
    pub artifact_bytes: u64,
    /// Bytes of keys a client registers once per session.
    pub keys_bytes: u64,
    /// Bytes of one query to each server.
    pub query_bytes: u64,
    /// Bytes of one answer from each server.
    pub answer_bytes: u64,
    /// Estimated work of one answer, in the unit of [`crate::work`].
    pub server_ops: u64,
    /// Estimated work of making one query and reading its answer, in the same unit. Not what is done once.
    pub client_ops: u64,
    /// Bytes the server keeps resident for the table, artifacts included.
    pub resident_bytes: u64,
    /// Bytes of state a client keeps and must not lose; 0 if it can be made anew from the artifacts at any time.
    pub client_bytes: u64,
    /// Queries a client can make before it has to prepare again; 0 for as many as it likes.
    pub budget: u64,
}
