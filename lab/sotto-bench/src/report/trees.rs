//! Trees of hashes: the results of a run, beside published figures, and their tables: a grid for each
//! question, a column for each tree, ours above published ones.

use super::Trees;
use super::grid::{Sheet, Text, blank, decimal, distinct, time};
use comfy_table::Table;
use serde::{Deserialize, Serialize};
use sotto_core::ExpectOrDefault;
use sotto_tree::PerfectTree;
use std::iter::once;

/// A perfect tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
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
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct TreeSkipped {
    /// The tree of the line.
    pub tree: Tree,
    /// Title of the line.
    pub line: String,
    /// The reason, and what would change it.
    pub reason: String,
}

/// Maximum number of trees side by side.
const COLUMNS: usize = 7;

/// The layout of each stack's tables: lookups, and rows read for one.
const STACKS: Sheet = Sheet {
    title: "MEASURED: the tables of a tree",
    columns: "leaves = tree.name | way = way | tables = tables_count | lookups = lookups_count | \
              rows in all = written_rows_count | of the nodes = written_rows_count / tree.nodes_count as times",
    note: "\
colors: a table for each color, a row of each (TreePIR). buckets: a batch code over all nodes, which fails
for less than one request in 2^40; for up to ten rows, separate lookups in the whole table.",
};

/// A question, and the figure that answers it.
struct Question {
    title: &'static str,
    /// The meaning of the figure, in lines of the report.
    note: &'static str,
    of: fn(&TreeFigures) -> Option<f64>,
    /// How the figure is shown.
    show: fn(f64) -> String,
}

const fn ms(title: &'static str, note: &'static str, of: fn(&TreeFigures) -> Option<f64>) -> Question {
    Question { title, note, of, show: time }
}

const fn size(title: &'static str, note: &'static str, of: fn(&TreeFigures) -> Option<f64>) -> Question {
    Question { title, note, of, show: |bytes| decimal(bytes as u64) }
}

/// The questions, in the order of the paper's tables.
const QUESTIONS: &[Question] = &[
    ms(
        "setup",
        "The places of all nodes of the tree as a table, which sotto does not need. On one thread.",
        |f| f.setup_ms,
    ),
    ms(
        "setup, without that table",
        "The coloring, or the permutations of a batch code, which is all that publishers and clients need.",
        |f| f.made_ms,
    ),
    ms(
        "indexing",
        "The places of the rows of one proof, computed in steps that do not depend on the leaf. On one thread.",
        |f| f.index_ms,
    ),
    ms(
        "indexing, if the leaf is public",
        "The places of the rows of one proof, computed in steps that depend on the leaf, as in the \
         published programs.",
        |f| f.known_index_ms,
    ),
    ms("query generation", "The client, for a proof: indexing, and the queries to all tables.", |f| {
        f.query_ms
    }),
    ms(
        "answer extraction",
        "The client, for a proof: recovering the rows of all tables, and assembling the proof.",
        |f| f.extract_ms,
    ),
    ms("server time, slowest table", "The time of a proof if every table has a machine of its own.", |f| {
        f.max_server_ms
    }),
    ms("server time, all tables", "The time of a proof on one machine.", |f| f.total_server_ms),
    size("communication", "Queries and answers of a proof, both ways, HTTP framing excluded.", |f| {
        Some((f.up_bytes? + f.down_bytes?) as f64)
    }),
    size(
        "before the first proof",
        "Artifacts and keys of all tables: once per epoch, or per session.",
        |f| f.once_bytes.map(|n| n as f64),
    ),
];

/// A line's name, its tree and its figures.
type Cell<'a> = (String, &'a Tree, &'a TreeFigures);

/// Adds all questions with answers, and the layout of the tables.
pub(super) fn add(trees: &Trees, out: &mut Text) {
    let sources = distinct(trees.published.iter().map(|row| row.origin()));
    let ours: Vec<Cell<'_>> = trees.measured.iter().map(|m| (name(m), &m.tree, &m.figures)).collect();
    let number = |text: String| sources.iter().position(|source| *source == text);
    let theirs = trees.published.iter().map(|row| {
        let number = number(row.origin()).expect_or_default("every line has its source among them");
        (format!("{} [T{}]", row.line, number + 1), &row.tree, &row.figures)
    });
    let theirs: Vec<Cell<'_>> = theirs.collect();
    for question in QUESTIONS {
        let answered = ours.iter().filter(|(_, _, figures)| (question.of)(figures).is_some());
        let mut columns = distinct(answered.map(|(_, tree, _)| *tree));
        columns.sort_by_key(|tree| (tree.arity_count, tree.height_count));
        // Binary trees are in grids of their own, and the others together.
        for kind in columns.chunk_by(|a, b| (a.arity_count == 2) == (b.arity_count == 2)) {
            for part in kind.chunks(COLUMNS) {
                let Some(measured) = table(question, part, &ours) else { continue };
                out.section(&format!("MEASURED: {}", question.title), measured, question.note);
                if let Some(published) = table(question, part, &theirs) {
                    let title = question.title;
                    out.line(&format!("\nPUBLISHED, on other machines: {title}\n\n{published}"));
                }
            }
        }
    }
    let mut stacks: Vec<&TreeMeasured> = Vec::new();
    for m in trees.measured.iter().filter(|m| m.tables_count > 0) {
        if !stacks.iter().any(|line| line.tree.name == m.tree.name && line.method == m.method) {
            stacks.push(m);
        }
    }
    if !stacks.is_empty() {
        out.sheet(&STACKS, STACKS.plain(2, &stacks));
        let proofs: u64 = trees.measured.iter().map(|m| m.checked_proofs_count).sum();
        let rows: u64 = trees.measured.iter().map(|m| m.checked_answers_count).sum();
        out.paragraph(&format!(
            "Every row was compared with the tree's, and every proof verified: {rows} of {rows} rows \
             and {proofs} of {proofs} proofs are correct."
        ));
    }
    for (i, source) in sources.iter().enumerate() {
        out.paragraph(&format!("[T{}] {source}", i + 1));
    }
}

/// The grid of a question, one line for each name; unknown figures stay blank. None if all are.
fn table(question: &Question, columns: &[&Tree], cells: &[Cell<'_>]) -> Option<Table> {
    let mut table = blank(1, once("leaves").chain(columns.iter().map(|tree| tree.name.as_str())));
    let known = |(_, tree, figures): &&Cell<'_>| columns.contains(tree) && (question.of)(figures).is_some();
    let names = distinct(cells.iter().filter(known).map(|(name, ..)| name.as_str()));
    for name in &names {
        let value = |column: &&Tree| {
            let found = cells.iter().filter(|(own, tree, _)| own == name && tree == column);
            found.filter_map(|(_, _, figures)| (question.of)(figures)).next()
        };
        let row = columns.iter().map(|column| value(column).map_or_else(String::new, question.show));
        table.add_row(once((*name).to_owned()).chain(row));
    }
    (!names.is_empty()).then_some(table)
}

fn name(measured: &TreeMeasured) -> String {
    match measured.threads_count {
        1 => measured.line.clone(),
        n => format!("{}, {n} thr", measured.line),
    }
}
