//! Trees of hashes: the results of a run, beside published figures.

use serde::{Deserialize, Serialize};
use sotto_tree::PerfectTree;

/// All results about trees.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Trees {
    /// Lines that were measured in this run.
    pub measured: Vec<TreeMeasured>,
    /// Published lines, of trees and kinds of figures of this run.
    pub published: Vec<PublishedTree>,
    /// Lines that did not run, with the reasons.
    pub skipped: Vec<TreeSkipped>,
}

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

/// A published line about one tree.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedTree {
    /// The tree of the line.
    pub tree: Tree,
    /// The line's name in its source.
    pub line: String,
    /// The published figures; fields that the source does not give are absent, never estimated.
    pub figures: TreeFigures,
    /// The machine of the measurement.
    pub machine: String,
    /// Threads of the server.
    pub threads_count: u64,
    /// The publication that has the figures.
    pub source: String,
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

impl Trees {
    pub(super) fn append(&mut self, other: Trees) {
        self.measured.extend(other.measured);
        self.skipped.extend(other.skipped);
        for row in other.published {
            if !self.published.contains(&row) {
                self.published.push(row);
            }
        }
    }
}

/// A question, and the figure that answers it.
pub(super) struct Question {
    /// The title as a heading.
    pub(super) title: &'static str,
    /// The meaning of the figure, in lines of the report.
    pub(super) note: &'static str,
    pub(super) of: fn(&TreeFigures) -> Option<f64>,
    /// Whether the figure is in bytes; otherwise it is in milliseconds.
    pub(super) bytes: bool,
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<f64> {
    Some((a? + b?) as f64)
}

/// The questions, in the order of the paper's tables.
pub(super) const QUESTIONS: &[Question] = &[
    Question {
        title: "setup",
        note: "The places of all nodes of the tree as a table, which sotto does not need. On one thread.",
        of: |f| f.setup_ms,
        bytes: false,
    },
    Question {
        title: "setup, without that table",
        note: "The coloring, or the permutations of a batch code, which is all that publishers and clients need.",
        of: |f| f.made_ms,
        bytes: false,
    },
    Question {
        title: "indexing",
        note: "The places of the rows of one proof, computed in steps that do not depend on the leaf. On one thread.",
        of: |f| f.index_ms,
        bytes: false,
    },
    Question {
        title: "indexing, if the leaf is public",
        note: "The places of the rows of one proof, computed in steps that depend on the leaf, as in the \
               published programs.",
        of: |f| f.known_index_ms,
        bytes: false,
    },
    Question {
        title: "query generation",
        note: "The client, for a proof: indexing, and the queries to all tables.",
        of: |f| f.query_ms,
        bytes: false,
    },
    Question {
        title: "answer extraction",
        note: "The client, for a proof: recovering the rows of all tables, and assembling the proof.",
        of: |f| f.extract_ms,
        bytes: false,
    },
    Question {
        title: "server time, slowest table",
        note: "The time of a proof if every table has a machine of its own.",
        of: |f| f.max_server_ms,
        bytes: false,
    },
    Question {
        title: "server time, all tables",
        note: "The time of a proof on one machine.",
        of: |f| f.total_server_ms,
        bytes: false,
    },
    Question {
        title: "communication",
        note: "Queries and answers of a proof, both ways, HTTP framing excluded.",
        of: |f| sum(f.up_bytes, f.down_bytes),
        bytes: true,
    },
    Question {
        title: "before the first proof",
        note: "Artifacts and keys of all tables: once per epoch, or per session.",
        of: |f| f.once_bytes.map(|n| n as f64),
        bytes: true,
    },
];
