//! Trees of hashes: the results of a run, beside published figures.

use serde::{Deserialize, Serialize};
use sotto_tree::PerfectTree;

/// A perfect tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tree {
    /// The number of leaves as a power of the arity: `2^20`.
    pub name: String,
    /// Children of a node, q.
    pub arity_count: u64,
    /// Layers below the root, h.
    pub height_count: u64,
    /// Nodes below the root.
    pub nodes_count: u64,
}

impl Tree {
    pub(crate) fn of(shape: PerfectTree) -> Self {
        let (arity_count, height_count) = (shape.arity(), shape.height() as u64);
        Tree {
            name: format!("{arity_count}^{height_count}"),
            arity_count,
            height_count,
            nodes_count: shape.nodes(),
        }
    }
}

/// The results for one tree, one method, and one scheme if any.
#[derive(Debug, Clone, Serialize)]
pub struct TreeMeasured {
    /// The tree of the line.
    pub tree: Tree,
    /// Title of the line in the report.
    pub line: String,
    /// Name of the method: `colors` or `buckets`.
    #[serde(rename = "way")]
    pub method: &'static str,
    /// Name of the scheme, for proofs.
    pub scheme: Option<String>,
    /// Name of the parameter set, if one was named.
    pub set: Option<String>,
    /// The scheme's literal parameters, for the first table.
    pub params: Option<serde_json::Value>,
    /// Threads of the server.
    pub threads_count: usize,
    /// Number of repetitions of each figure.
    pub repeated_count: usize,
    /// Number of tables, for proofs.
    pub tables_count: u64,
    /// Number of lookups of a proof.
    pub lookups_count: u64,
    /// Number of rows of all tables, or of places written.
    pub written_rows_count: u64,
    /// Number of rows compared with the tree's, including dummies; all were right.
    pub checked_answers_count: u64,
    /// Number of verified proofs.
    pub checked_proofs_count: u64,
    /// Medians of the figures.
    pub figures: TreeFigures,
}

impl TreeMeasured {
    pub(crate) fn new(tree: Tree, method: &'static str, line: String, repeated_count: usize) -> Self {
        TreeMeasured {
            tree,
            line,
            method,
            scheme: None,
            set: None,
            params: None,
            threads_count: 1,
            repeated_count,
            tables_count: 0,
            lookups_count: 0,
            written_rows_count: 0,
            checked_answers_count: 0,
            checked_proofs_count: 0,
            figures: TreeFigures::default(),
        }
    }
}

/// The figures of a tree's proofs. Each of them is a table of the papers, or half of one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TreeFigures {
    /// Milliseconds of making what building and querying need: a coloring, or a batch code's
    /// permutations.
    pub made_ms: Option<f64>,
    /// Milliseconds of making that and of writing the places of all nodes.
    pub setup_ms: Option<f64>,
    /// Milliseconds of indexing a proof in constant time.
    pub index_ms: Option<f64>,
    /// Milliseconds of finding a public leaf's rows.
    pub known_index_ms: Option<f64>,
    /// Milliseconds of the client: indexing a proof, and making the queries.
    pub query_ms: Option<f64>,
    /// Milliseconds of the client: reading the answers, and assembling the proof.
    pub extract_ms: Option<f64>,
    /// Milliseconds of the server, for the slowest of the tables.
    pub max_server_ms: Option<f64>,
    /// Milliseconds of the server, for all tables.
    pub total_server_ms: Option<f64>,
    /// Bytes of artifacts and keys of all tables, before the first proof.
    pub once_bytes: Option<u64>,
    /// Bytes of queries, for a proof.
    pub up_bytes: Option<u64>,
    /// Bytes of answers, for a proof.
    pub down_bytes: Option<u64>,
}

/// A line that did not run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TreeSkipped {
    /// The tree of the line.
    pub tree: Tree,
    /// Title of the line.
    pub line: String,
    /// The reason, and what would change it.
    pub reason: String,
}
