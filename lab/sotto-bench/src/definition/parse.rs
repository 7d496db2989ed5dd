//! From TOML text to a checked definition. Field types check themselves while they are read, so that
//! the parser can point at the line.

use super::{Case, Content, Definition, Measure, ProofMethod, Steps, TreeTask};
use serde::Deserialize;
use serde_json::{Map, Value};
use sotto_core::{Diagnose, Diagnosis, ErrorKind, Exit, Goal};
use sotto_tree::PerfectTree;
use toml::Spanned;

/// Maximum bytes of a definition's table: 16 TiB. Beyond it products of sizes could overflow.
const MAX_TABLE_BYTES: u64 = 1 << 44;
/// Maximum number of lookups answered in one pass.
const MAX_BATCH: u64 = 256;
/// Maximum length of a line's name: the width of a report's first column.
const MAX_NAME: usize = 28;
/// Maximum number of repetitions of one batch size.
const MAX_LOOKUPS: u64 = 10_000;
/// Maximum number of threads of a case.
const MAX_THREADS: u64 = 1024;

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

impl Diagnose for DefinitionError {
    fn diagnosis(&self) -> Diagnosis<'_> {
        let exit = match self {
            DefinitionError::Unreadable { why, .. } => why.into(),
            DefinitionError::Syntax { .. } | DefinitionError::Case { .. } => Exit::Input,
        };
        ErrorKind::Misuse.diagnosis("bench", "").with_exit(exit)
    }
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
        let mut cases: Vec<Case> = Vec::new();
        let next_turn = |cases: &[Case]| cases.last().map_or(0, |case| case.turn + 1);
        for case in read.case {
            let start = case.span().start;
            cases.extend(check(next_turn(&cases), case.into_inner()).map_err(|why| at(start, why))?);
        }
        for case in read.tree {
            let start = case.span().start;
            cases.extend(check_tree(next_turn(&cases), case.into_inner()).map_err(|why| at(start, why))?);
        }
        Ok(Definition { name: read.name, about: read.about, cases })
    }
}

/// A `[[tree]]` as written in a definition.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TreeText {
    arity: u16,
    heights: Vec<u8>,
    measure: Measure,
    ways: Option<Vec<ProofMethod>>,
    lines: Option<Vec<LineText>>,
    threads: Option<Count>,
    repeats: Option<Count>,
    lookups_per_client: Option<Count>,
    #[serde(default)]
    full: bool,
}

/// A scheme, and the choice of its parameters: once in the case, or once in each line of a case
/// that compares several.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LineText {
    scheme: Option<String>,
    name: Option<String>,
    set: Option<String>,
    goal: Option<GoalName>,
    params: Map<String, Value>,
}

impl LineText {
    /// The case of a line, with what all lines have in common.
    fn case(self, common: &Case) -> Result<Case, String> {
        let LineText { scheme, name, set, goal, params } = self;
        if let Some(name) = &name
            && (name.is_empty() || name.chars().count() > MAX_NAME || name.chars().any(char::is_control))
        {
            return Err(format!("name is {name:?}, expected 1 to {MAX_NAME} printable characters"));
        }
        if set.is_some() && goal.is_some() {
            return Err("give either set or goal".to_owned());
        }
        let scheme = scheme.ok_or("a line needs a scheme")?;
        let goal = goal.map(|goal| goal.0).unwrap_or_default();
        Ok(Case { scheme, name, set, goal, params, ..common.clone() })
    }
}

/// The cases of a table: of the lines that are listed, or of the one that is written in the case.
fn cases(inline: LineText, lines: Option<Vec<LineText>>, common: &Case) -> Result<Vec<Case>, String> {
    let lines = match (inline, lines) {
        (inline @ LineText { scheme: Some(_), .. }, None) => vec![inline],
        (LineText { scheme: None, name: None, set: None, goal: None, params }, Some(lines))
            if params.is_empty() && !lines.is_empty() =>
        {
            lines
        }
        _ => return Err("give either scheme (with name, set, goal, params), or a list of lines".to_owned()),
    };
    lines.into_iter().map(|line| line.case(common)).collect()
}

/// A number that is given, or its default.
fn one(n: Option<Count>, default: u64, max: u64, name: &str) -> Result<usize, String> {
    Ok(small(vec![n.unwrap_or(Count(default))], max, name)?.remove(0))
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
    let common = Case {
        turn,
        compare: text.compare,
        row_bits,
        threads: one(text.threads, 1, MAX_THREADS, "threads")?,
        batches,
        lookups: one(text.lookups, 9, MAX_LOOKUPS, "lookups")?,
        series: text.series.map(|n| one(Some(n), 1, MAX_LOOKUPS, "series")).transpose()?,
        lookups_per_client: text.lookups_per_client.map_or(1000, |n| n.0),
        content: text.content.unwrap_or(Content::Random),
        rows_blake3: text.rows_blake3.map(|digest| digest.0),
        changes: text.changes.map(|n| n.0),
        steps: text.steps.map(check_steps).transpose()?,
        break_even: text.break_even,
        sizes: text.sizes,
        full: text.full,
        ..Case::plain("", text.rows.0, 0)
    };
    if common.rows.checked_mul(row_bits).is_none_or(|bits| bits / 8 > MAX_TABLE_BYTES) {
        return Err(format!("the table has more than {MAX_TABLE_BYTES} bytes"));
    }
    if common.changes.is_some_and(|changes| changes > common.stored_rows() / 2) {
        return Err("changes is more than half of the rows".to_owned());
    }
    let CaseText { scheme, name, set, goal, params, lines, .. } = text;
    cases(LineText { scheme, name, set, goal, params }, lines, &common)
}

/// The cases of every tree and method, in this order.
fn check_tree(mut turn: usize, text: TreeText) -> Result<Vec<Case>, String> {
    let shape = |height: &u8| PerfectTree::new(text.arity, *height).map_err(|why| why.to_string());
    let shapes = text.heights.iter().map(shape).collect::<Result<Vec<_>, _>>()?;
    if shapes.is_empty() {
        return Err("heights is empty".to_owned());
    }
    let methods = text.ways.unwrap_or_else(|| vec![ProofMethod::Colors, ProofMethod::Buckets]);
    if methods.is_empty() || methods.len() > 2 || methods.first() == methods.get(1) {
        return Err("ways must be \"colors\", \"buckets\", or both".to_owned());
    }
    if text.lines.is_some() && text.measure != Measure::Proofs {
        return Err("lines apply to proofs only: omit them".to_owned());
    }
    let common = Case {
        threads: one(text.threads, 1, MAX_THREADS, "threads")?,
        lookups: one(text.repeats, 5, MAX_LOOKUPS, "repeats")?,
        lookups_per_client: text.lookups_per_client.map_or(1000, |n| n.0),
        full: text.full,
        ..Case::plain("", 1, 32)
    };
    let lines = match text.lines {
        None => vec![common],
        lines => cases(LineText::default(), lines, &common)?,
    };
    let mut all = Vec::new();
    for shape in shapes {
        for &method in &methods {
            let tree = Some(TreeTask { shape, measure: text.measure, method });
            all.extend(lines.iter().map(|line| Case { turn, tree, ..line.clone() }));
            turn += 1;
        }
    }
    Ok(all)
}

/// The steps as written in a definition.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepsText {
    #[serde(default)]
    orders: Vec<String>,
    threads: Option<Vec<Threads>>,
}

/// A number of threads, or `"all"` that the machine has.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Threads {
    All(All),
    Some(Count),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum All {
    All,
}

fn check_steps(text: StepsText) -> Result<Steps, String> {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let number = |threads: Threads| match threads {
        Threads::All(All::All) => Ok(all),
        Threads::Some(Count(n)) => usize::try_from(n)
            .ok()
            .filter(|_| n <= MAX_THREADS)
            .ok_or_else(|| format!("threads of steps is {n}, at most {MAX_THREADS} is allowed")),
    };
    let threads = text.threads.map_or(Ok(vec![1]), |threads| threads.into_iter().map(number).collect());
    let mut threads: Vec<usize> = threads?;
    // A machine of one thread has no two lines to show.
    threads.dedup();
    if threads.is_empty() {
        return Err("threads of steps is empty".to_owned());
    }
    Ok(Steps { orders: text.orders, threads })
}

/// A count of at least 1, written as a number or as a power: `1048576` or `"2^20"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "toml::Value")]
struct Count(u64);

impl Count {
    fn of(text: &str) -> Option<u64> {
        let plain: String = text.chars().filter(|c| *c != '_').collect();
        match plain.split_once('^') {
            None => plain.parse().ok(),
            Some((base, exponent)) => base.parse::<u64>().ok()?.checked_pow(exponent.parse().ok()?),
        }
    }
}

impl TryFrom<toml::Value> for Count {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        let count = match &value {
            toml::Value::Integer(n) => u64::try_from(*n).ok(),
            toml::Value::String(text) => Count::of(text),
            _ => None,
        };
        let refuse = || format!("expected a count of at least 1, such as 1000 or \"2^20\", got {value}");
        count.filter(|n| *n > 0).map(Count).ok_or_else(refuse)
    }
}

/// The counts as numbers, unless one of them is larger than `max`.
fn small(counts: Vec<Count>, max: u64, name: &str) -> Result<Vec<usize>, String> {
    let fit = |n: Count| usize::try_from(n.0).ok().filter(|_| n.0 <= max);
    counts
        .into_iter()
        .map(|n| fit(n).ok_or_else(|| format!("{name} is {}, at most {max} is allowed", n.0)))
        .collect()
}

/// A BLAKE3 digest in lower-case hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Digest(String);

impl TryFrom<String> for Digest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let is_hex = text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        is_hex.then_some(Digest(text)).ok_or("expected a digest of 64 lower-case hexadecimal digits")
    }
}

/// A goal by its name, such as `query-bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct GoalName(Goal);

impl TryFrom<String> for GoalName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let refuse =
            || format!("unknown goal {text:?}, expected one of {}", Goal::ALL.map(Goal::name).join(", "));
        Goal::ALL.into_iter().find(|goal| goal.name() == text).map(GoalName).ok_or_else(refuse)
    }
}
