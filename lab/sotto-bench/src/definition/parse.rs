//! From TOML text to a checked definition.

use super::fields::{Count, Digest, GoalName, MAX_LOOKUPS, MAX_THREADS, small};
use super::scheme_lines::{self, LineText, SingleLine};
use super::steps::{self, StepsText};
use super::tree::{self, TreeText};
use super::{Case, Content, Definition};
use serde::Deserialize;
use serde_json::{Map, Value};
use sotto_core::Goal;
use toml::Spanned;

/// Maximum bytes of a definition's table: 16 TiB. Beyond it products of sizes could overflow.
const MAX_TABLE_BYTES: u64 = 1 << 44;
/// Maximum number of lookups answered in one pass.
const MAX_BATCH: u64 = 256;

/// The reason why a definition cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// The file cannot be read.
    #[error("cannot read the definition {path}: {why}; give a path, or one of: {known}")]
    Unreadable {
        /// The path as given.
        path: String,
        /// The error of the operating system.
        why: std::io::Error,
        /// Names of the built-in definitions.
        known: String,
    },
    /// The text is no definition; the message shows line and column.
    #[error("{path}: {why}")]
    Syntax {
        /// The path as given.
        path: String,
        /// The line, the column and the error there.
        why: String,
    },
    /// A case contradicts itself.
    #[error("{path}, line {line}: {why}")]
    Case {
        /// The path as given.
        path: String,
        /// The line where the case starts, counted from 1.
        line: usize,
        /// The contradiction, and what to change.
        why: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DefinitionText {
    name: String,
    about: String,
    #[serde(default)]
    case: Vec<Spanned<CaseText>>,
    #[serde(default)]
    tree: Vec<Spanned<TreeText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseText {
    scheme: Option<String>,
    name: Option<String>,
    set: Option<String>,
    goal: Option<GoalName>,
    lines: Option<Vec<LineText>>,
    rows: Count,
    row_bytes: Option<Count>,
    row_bits: Option<Count>,
    compare: Option<String>,
    threads: Option<Count>,
    batch: Option<Vec<Count>>,
    lookups: Option<Count>,
    lookups_per_client: Option<Count>,
    content: Option<Content>,
    #[serde(default)]
    params: Map<String, Value>,
    rows_blake3: Option<Digest>,
    changes: Option<Count>,
    series: Option<Count>,
    steps: Option<StepsText>,
    #[serde(default)]
    break_even: bool,
    #[serde(default)]
    sizes: bool,
    #[serde(default)]
    full: bool,
}

impl Definition {
    /// Reads a definition from its text; `path` only names it in errors.
    ///
    /// # Errors
    /// [`DefinitionError`], with the line of the mistake.
    pub fn parse(path: &str, text: &str) -> Result<Self, DefinitionError> {
        let read: DefinitionText = toml::from_str(text)
            .map_err(|e| DefinitionError::Syntax { path: path.to_owned(), why: e.to_string() })?;
        if read.case.is_empty() && read.tree.is_empty() {
            let why = "a definition needs at least one [[case]] or [[tree]]".to_owned();
            return Err(DefinitionError::Syntax { path: path.to_owned(), why });
        }
        let at = |start: usize, why: String| DefinitionError::Case {
            path: path.to_owned(),
            line: 1 + text.bytes().take(start).filter(|b| *b == b'\n').count(),
            why,
        };
        let mut cases = Vec::with_capacity(read.case.len());
        for (turn, case) in read.case.into_iter().enumerate() {
            let start = case.span().start;
            cases.extend(check(turn, case.into_inner()).map_err(|why| at(start, why))?);
        }
        let mut trees = Vec::with_capacity(read.tree.len());
        for case in read.tree {
            let start = case.span().start;
            trees.push(tree::check(case.into_inner()).map_err(|why| at(start, why))?);
        }
        Ok(Definition { name: read.name, about: read.about, cases, trees })
    }
}

fn check(turn: usize, text: CaseText) -> Result<Vec<Case>, String> {
    let row_bits = match (text.row_bytes, text.row_bits) {
        (Some(bytes), None) => bytes.0.checked_mul(8).ok_or("row_bytes is too large")?,
        (None, Some(bits)) => bits.0,
        _ => return Err("give either row_bytes or row_bits".to_owned()),
    };
    if row_bits % 8 != 0 && !matches!(row_bits, 1 | 2 | 4) {
        return Err(format!("row_bits is {row_bits}: it must be 1, 2, 4 or a multiple of 8"));
    }
    let batches = small(text.batch.unwrap_or_else(|| vec![Count(1)]), MAX_BATCH, "batch")?;
    if batches.first() != Some(&1) || !batches.is_sorted_by(|a, b| a < b) {
        return Err("batch must start with 1, which others are compared with, and ascend".into());
    }
    let one = |n: Option<Count>, default: u64, max, name| -> Result<usize, String> {
        Ok(small(vec![n.unwrap_or(Count(default))], max, name)?.remove(0))
    };
    let CaseText { scheme, name, set, goal, params, .. } = text;
    let lines = scheme_lines::of(SingleLine { scheme, name, set, goal, params }, text.lines)?;
    let case = Case {
        turn,
        compare: text.compare,
        name: None,
        scheme: String::new(),
        set: None,
        goal: Goal::default(),
        rows: text.rows.0,
        row_bits,
        threads: one(text.threads, 1, MAX_THREADS, "threads")?,
        batches,
        lookups: one(text.lookups, 9, MAX_LOOKUPS, "lookups")?,
        series: text.series.map(|n| one(Some(n), 1, MAX_LOOKUPS, "series")).transpose()?,
        lookups_per_client: text.lookups_per_client.map_or(1000, |n| n.0),
        content: text.content.unwrap_or(Content::Random),
        params: Map::new(),
        rows_blake3: text.rows_blake3.map(|digest| digest.0),
        changes: text.changes.map(|n| n.0),
        steps: text.steps.map(steps::check).transpose()?,
        buckets: 1,
        break_even: text.break_even,
        sizes: text.sizes,
        full: text.full,
    };
    if case.rows.checked_mul(row_bits).is_none_or(|bits| bits / 8 > MAX_TABLE_BYTES) {
        return Err(format!("the table has more than {MAX_TABLE_BYTES} bytes"));
    }
    if case.changes.is_some_and(|changes| changes > case.stored_rows() / 2) {
        return Err("changes is more than half of the rows".to_owned());
    }
    let with = |line: scheme_lines::SchemeLine| Case {
        scheme: line.scheme,
        name: line.name,
        set: line.set,
        goal: line.goal,
        params: line.params,
        ..case.clone()
    };
    Ok(lines.into_iter().map(with).collect())
}
