//! Benchmark definitions: what to measure, as data.
//!
//! A definition is a TOML file: a name, a sentence on its purpose, and cases of tables or of trees.
//! Unknown keys are refused, because a misspelled `lookups` that is silently ignored would measure
//! something else than its author expects.

mod parse;
#[cfg(test)]
mod tests;

pub use parse::DefinitionError;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sotto_core::Goal;
use sotto_tree::PerfectTree;
use std::path::Path;

/// A checked benchmark definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// Short name, shown in reports.
    pub name: String,
    /// The purpose of the definition, one sentence.
    pub about: String,
    /// The cases of tables and of trees; at least one.
    pub cases: Vec<Case>,
}

/// One scheme on one table shape, or on the tables of a tree of hashes.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The number of the case's turn: cases of one turn are the lines of one `[[case]]`, share a
    /// table and run in turns; or those of one tree and method, and share its tables.
    pub turn: usize,
    /// The tree whose hashes are the rows, and the measurement on it. Without a scheme, every scheme
    /// with one server fetches proofs.
    pub tree: Option<TreeTask>,
    /// The comparison shape of the table, if it has a name of its own.
    pub compare: Option<String>,
    /// The name in reports, instead of scheme and set.
    pub name: Option<String>,
    /// Name of the scheme, with or without its version: `simplepir` or `simplepir/1`.
    pub scheme: String,
    /// One of the scheme's named parameter sets, instead of the best for the goal.
    pub set: Option<String>,
    /// The goal for which parameters are selected.
    pub goal: Goal,
    /// Rows as the community counts them.
    pub rows: u64,
    /// Bits in a row as the community counts them.
    pub row_bits: u64,
    /// Threads that the server may use; 1 by default.
    pub threads: usize,
    /// Numbers of clients' lookups that are answered in one pass; ascending, starting with 1.
    pub batches: Vec<usize>,
    /// Number of repetitions of each batch size; the report gives medians.
    pub lookups: usize,
    /// Lookups of one client per epoch, for which parameters are selected.
    pub lookups_per_client: u64,
    /// Number of buckets of the table, of each of which a query asks for one row; 1 except for
    /// trees.
    pub buckets: u64,
    /// The content of the rows.
    pub content: Content,
    /// Fields of the scheme's literal parameters to overwrite after selection.
    pub params: Map<String, Value>,
    /// BLAKE3 of all rows, one after the other, in hexadecimal: refuses a generator that has changed.
    pub rows_blake3: Option<String>,
    /// Number of rows to change after measuring, to measure the step to the next epoch.
    pub changes: Option<u64>,
    /// Number of consecutive lookups with nothing in between, as a client of a scheme that prepares
    /// once makes them.
    pub series: Option<usize>,
    /// Lookups to time step by step, where the scheme reports its steps.
    pub steps: Option<Steps>,
    /// Whether reports have the links on which a lookup is quicker than downloading the table.
    pub break_even: bool,
    /// Whether only the sizes by the parameters are reported: nothing is encoded, no query is made.
    pub sizes: bool,
    /// Whether the case takes minutes or many gigabytes, and so runs only on request.
    pub full: bool,
}

/// The content of generated rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// Uniform bytes from a fixed seed.
    Random,
    /// Zeroes, the easiest content for noise.
    Zero,
    /// Bytes of value 255, the extreme of unsigned storage.
    Ones,
}

impl Case {
    /// A case of rows of whole bytes with the defaults of a definition.
    pub fn plain(scheme: &str, rows: u64, row_bytes: u64) -> Self {
        Case {
            turn: 0,
            tree: None,
            compare: None,
            name: None,
            scheme: scheme.to_owned(),
            set: None,
            goal: Goal::default(),
            rows,
            row_bits: row_bytes.saturating_mul(8),
            threads: 1,
            batches: vec![1],
            lookups: 9,
            series: None,
            lookups_per_client: 1000,
            content: Content::Random,
            params: Map::new(),
            rows_blake3: None,
            changes: None,
            steps: None,
            buckets: 1,
            break_even: false,
            sizes: false,
            full: false,
        }
    }

    /// Number of stored rows. Rows narrower than a byte are packed: a lookup fetches the byte that
    /// has them.
    pub fn stored_rows(&self) -> u64 {
        if self.row_bits < 8 { (self.rows / (8 / self.row_bits)).max(1) } else { self.rows }
    }

    /// Bytes of a stored row.
    pub fn stored_row_bytes(&self) -> u64 {
        self.row_bits.div_ceil(8)
    }

    /// Bytes of the whole table.
    pub fn table_bytes(&self) -> u64 {
        self.stored_rows().saturating_mul(self.stored_row_bytes())
    }

    /// The name in reports: the case's own, or those of the scheme and of the set or goal.
    pub fn title(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        let scheme = self.scheme.split('/').next().unwrap_or(&self.scheme);
        match (&self.set, self.goal) {
            (Some(set), _) => format!("{scheme} {set}"),
            (None, Goal::ServerTime) => scheme.to_owned(),
            (None, goal) => format!("{scheme}, {}", goal.name()),
        }
    }
}

/// Orders and threads to time the steps of a lookup with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps {
    /// Names of the scheme's orders; empty stands for all.
    pub orders: Vec<String>,
    /// Numbers of threads of the server, each in turn.
    pub threads: Vec<usize>,
}

/// A tree of hashes, and a measurement on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeTask {
    /// The tree.
    pub shape: PerfectTree,
    /// The kind of measurement.
    pub measure: Measure,
    /// The method of making a proof from rows.
    pub method: ProofMethod,
}

/// A measurement on a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The time to find the places of all nodes.
    Setup,
    /// The time to find the rows of one proof.
    Index,
    /// The time of whole proofs, fetched and verified.
    Proofs,
}

/// A method of making a proof from rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProofMethod {
    /// A table for each color, with a row of each.
    Colors,
    /// A batch code over all nodes.
    Buckets,
}

impl ProofMethod {
    /// The name in one word.
    pub fn name(self) -> &'static str {
        match self {
            ProofMethod::Colors => "colors",
            ProofMethod::Buckets => "buckets",
        }
    }
}

impl Definition {
    /// The cases, grouped by turn.
    pub fn turns(&self) -> impl Iterator<Item = &[Case]> {
        self.cases.chunk_by(|a, b| a.turn == b.turn)
    }
}

/// Reads a definition from a file, or one that ships with the toolkit by its bare name (`quick`, `rows-256b`).
///
/// # Errors
/// [`DefinitionError`], with the line of the mistake.
pub fn load(path: impl AsRef<Path>) -> Result<Definition, DefinitionError> {
    let path = path.as_ref();
    let name = path.to_string_lossy().into_owned();
    if let Some(found) = shipped().iter().find(|s| s.name == name && !path.exists()) {
        return Definition::parse(&format!("{name}.toml"), found.text);
    }
    let text = std::fs::read_to_string(path).map_err(|why| {
        let known = shipped().iter().map(|s| s.name).collect::<Vec<_>>().join(", ");
        DefinitionError::Unreadable { path: name.clone(), why, known }
    })?;
    Definition::parse(&name, &text)
}

/// A definition that ships with the toolkit.
#[derive(Debug, Clone, Copy)]
pub struct BuiltinDefinition {
    /// The bare name, as [`load`] takes it.
    pub name: &'static str,
    /// The TOML text.
    pub text: &'static str,
}

macro_rules! definitions {
    ($($name:literal),* $(,)?) => {
        &[$(BuiltinDefinition {
            name: $name,
            text: include_str!(concat!("../definitions/", $name, ".toml")),
        }),*]
    };
}

/// Every definition that ships with the toolkit.
pub fn shipped() -> &'static [BuiltinDefinition] {
    definitions![
        "quick",
        "scan-1gib",
        "all-schemes",
        "choosing",
        "rows-256b",
        "rows-256b-large",
        "single-bits",
        "rows-64b",
        "rows-32kib",
        "rows-100kb",
        "narrow-rows",
        "keyless",
        "keyless-growth",
        "wallet",
        "bfv-family",
        "grid",
        "chain-state",
        "spiral-quick",
        "spiral-family",
        "spiral-256mib",
        "spiral-1gib",
        "spiral-small",
        "spiral-growth",
        "spiral-stream",
        "onion-256mib",
        "s3pir-quick",
        "s3pir-20",
        "s3pir-24",
        "s3pir-28-8",
        "s3pir-28",
        "s3pir-256",
        "dpf-batch",
        "bgvpir-quick",
        "bgvpir-table1",
        "bgvpir-fig4",
        "bgvpir-fig5",
        "tree-quick",
        "tree-setup",
        "tree-index",
        "tree-online",
        "tree-tables",
        "regression-schemes",
    ]
}
