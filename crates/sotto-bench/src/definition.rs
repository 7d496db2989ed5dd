//! What to measure, as data. A definition is a TOML file: a name, a sentence on what it is for, and cases of tables or
//! of trees.
//! Unknown keys are refused, because a misspelt `lookups` that is silently ignored measures something else
//! than its author believes.

mod builtin;
mod fields;
mod parse;
mod scheme_lines;
mod steps;
#[cfg(test)]
mod tests;
mod tree;

pub use builtin::{BuiltinDefinition, shipped};
pub use parse::DefinitionError;
pub use steps::Steps;
pub use tree::{Measure, ProofMethod, TreeCase};

use serde_json::{Map, Value};
use sotto_core::Goal;
use std::path::Path;

/// A checked benchmark definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// Short name, shown in reports.
    pub name: String,
    /// What it is for, one sentence.
    pub about: String,
    /// Tables; at least one, if there are no trees.
    pub cases: Vec<Case>,
    /// Trees of hashes, whose proofs are looked up.
    pub trees: Vec<TreeCase>,
}

/// One scheme on one table shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Cases of one turn are the lines of one `[[case]]`: they share a table and run in turns.
    pub turn: usize,
    /// The comparison shape it stands for, if it has a name of its own.
    pub compare: Option<String>,
    /// What reports call it, instead of scheme and set.
    pub name: Option<String>,
    /// Name of the scheme, with or without its version: `simplepir` or `simplepir/1`.
    pub scheme: String,
    /// One of the scheme's named parameter sets, instead of whichever is best for the goal.
    pub set: Option<String>,
    /// What parameters are selected for.
    pub goal: Goal,
    /// Rows as the community counts them.
    pub rows: u64,
    /// Bits in such a row.
    pub row_bits: u64,
    /// Threads the server may use; one if the definition does not say.
    pub threads: usize,
    /// How many clients' lookups are answered in one pass; ascending, starting with 1.
    pub batches: Vec<usize>,
    /// How often each batch size is repeated; the report gives medians.
    pub lookups: usize,
    /// What parameters are selected for: lookups one client makes per epoch.
    pub lookups_per_client: u64,
    /// Equal parts of the table, of each of which a query asks for one row; 1 but for trees.
    pub buckets: u64,
    /// What the rows hold.
    pub content: Content,
    /// Fields of the scheme's literal parameters to overwrite after selection.
    pub params: Map<String, Value>,
    /// BLAKE3 of all rows, one after the other, in hexadecimal: refuses a generator that has changed.
    pub rows_blake3: Option<String>,
    /// Rows to change after measuring, to measure the step to the next epoch.
    pub changes: Option<u64>,
    /// Lookups to make one after the other, with nothing in between: what a client of a scheme that prepares once sees.
    pub series: Option<usize>,
    /// Lookups to time step by step, where the scheme says which it is at.
    pub steps: Option<Steps>,
    /// Whether reports say on which links a lookup is quicker than downloading the table.
    pub break_even: bool,
    /// Only what parameters say is wanted: nothing is encoded, nothing asked.
    pub sizes: bool,
    /// Takes minutes or many gigabytes: runs only when asked for.
    pub full: bool,
}

/// What the generated rows hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
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
    /// Rows of whole bytes with what a definition has unless it says otherwise.
    pub fn plain(scheme: &str, rows: u64, row_bytes: u64) -> Self {
        Case {
            turn: 0,
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

    /// Rows as they are stored. Rows narrower than a byte are packed: a lookup fetches the byte they lie in.
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

    /// What reports call it: its own name, or those of the scheme and of what its parameters are chosen by.
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

impl Definition {
    /// The cases, those that run in turns together.
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
