//! Trees of hashes: what a run found of them, beside what others published.

use serde::{Deserialize, Serialize};
use sotto_tree::PerfectTree;

/// Everything about trees.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Trees {
    /// Measured in this run.
    pub measured: Vec<TreeMeasured>,
    /// Published by others, of trees and kinds of figures of this run.
    pub published: Vec<PublishedTree>,
    /// What did not run, and why.
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

/// One tree, one way, and one scheme if any.
#[derive(Debug, Clone, Serialize)]
pub struct TreeMeasured {
    /// Which tree.
    pub tree: Tree,
    /// What the report calls this line.
    pub line: String,
    /// `colors` or `buckets`.
    pub way: &'static str,
    /// Which scheme, for proofs.
    pub scheme: Option<String>,
    /// With which of its named sets, if one was named.
    pub set: Option<String>,
    /// Its literal parameters, for the first table.
    pub params: Option<serde_json::Value>,
    /// Threads of the server.
    pub threads_count: usize,
    /// How often each figure was taken.
    pub repeated_count: usize,
    /// Tables, for proofs.
    pub tables_count: u64,
    /// Lookups of a proof.
    pub lookups_count: u64,
    /// Rows of all tables, or places written down.
    pub written_rows_count: u64,
    /// Rows compared with the tree's, those fetched for no proof among them; all were right.
    pub checked_answers_count: u64,
    /// Proofs verified.
    pub checked_proofs_count: u64,
    /// Medians.
    pub figures: TreeFigures,
}

impl TreeMeasured {
    pub(crate) fn new(tree: Tree, way: &'static str, line: String, repeated_count: usize) -> Self {
        TreeMeasured {
            tree,
            line,
            way,
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

/// What is known of a tree's proofs. Each of these is a table of the papers, or half of one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TreeFigures {
    /// All that building and asking need: a coloring, or a batch code's permutations.
    pub made_ms: Option<f64>,
    /// The same, and where every node lies written down.
    pub setup_ms: Option<f64>,
    /// Where a proof's rows lie, by steps that do not depend on the leaf.
    pub index_ms: Option<f64>,
    /// The same for a leaf that is no secret.
    pub known_index_ms: Option<f64>,
    /// The client: finding a proof's rows, and making the queries.
    pub query_ms: Option<f64>,
    /// The client: reading the answers, and putting the proof together.
    pub extract_ms: Option<f64>,
    /// The server, for the slowest of the tables.
    pub max_server_ms: Option<f64>,
    /// The server, for all tables.
    pub total_server_ms: Option<f64>,
    /// Artifacts and keys of all tables, before the first proof.
    pub once_bytes: Option<u64>,
    /// Up, for a proof.
    pub up_bytes: Option<u64>,
    /// Down, for a proof.
    pub down_bytes: Option<u64>,
}

/// A published line about one tree.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedTree {
    /// Which tree.
    pub tree: Tree,
    /// As its source calls it.
    pub line: String,
    /// What it gives; fields the source does not give are absent, never estimated.
    pub figures: TreeFigures,
    /// The machine it was measured on.
    pub machine: String,
    /// Threads of the server.
    pub threads_count: u64,
    /// Where it is printed.
    pub source: String,
}

/// A line that did not run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TreeSkipped {
    /// Which tree.
    pub tree: Tree,
    /// Which line.
    pub line: String,
    /// Why not, and what would change it.
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
    /// As a heading has it.
    pub(super) title: &'static str,
    /// What the figure is, in lines of the report.
    pub(super) note: &'static str,
    pub(super) of: fn(&TreeFigures) -> Option<f64>,
    /// Whether it is bytes; otherwise milliseconds.
    pub(super) bytes: bool,
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<f64> {
    Some((a? + b?) as f64)
}

/// The questions, in the order of the paper's tables.
pub(super) const QUESTIONS: &[Question] = &[
    Question {
        title: "setup",
        note: "Where every node of the tree lies, written down, which no table of ours needs. On one thread.",
        of: |f| f.setup_ms,
        bytes: false,
    },
    Question {
        title: "setup, without writing it down",
        note: "The coloring, or the permutations of a batch code: all that a publisher and a client need.",
        of: |f| f.made_ms,
        bytes: false,
    },
    Question {
        title: "indexing",
        note: "Where the rows of one proof lie, by steps that do not depend on the leaf. On one thread.",
        of: |f| f.index_ms,
        bytes: false,
    },
    Question {
        title: "indexing, if the leaf is no secret",
        note: "The same by steps that follow the leaf, as in the published programs.",
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
        note: "The client, for a proof: reading the answers of all tables, and putting the proof together.",
        of: |f| f.extract_ms,
        bytes: false,
    },
    Question {
        title: "server time, slowest table",
        note: "What a proof takes where every table has a machine of its own.",
        of: |f| f.max_server_ms,
        bytes: false,
    },
    Question {
        title: "server time, all tables",
        note: "What a proof takes on one machine.",
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
