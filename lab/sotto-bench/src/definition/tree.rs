//! Trees of hashes, as the papers on private retrieval of Merkle and Verkle proofs measure them.

use super::fields::{Count, MAX_LOOKUPS, MAX_THREADS, small};
use super::scheme_lines::{self, LineText, SingleLine};
use super::{Case, Content};
use serde::{Deserialize, Serialize};
use serde_json::Map;
use sotto_core::Goal;
use sotto_tree::PerfectTree;

/// Trees of one arity, and the measurements on them.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeCase {
    /// The trees, in the order given.
    pub shapes: Vec<PerfectTree>,
    /// The kind of measurement.
    pub measure: Measure,
    /// The methods of making a proof from rows.
    pub methods: Vec<ProofMethod>,
    /// The methods of fetching rows: a case for each scheme, without rows so far. Empty stands for
    /// every scheme with one server.
    pub lines: Vec<Case>,
    /// Threads of the server.
    pub threads: usize,
    /// Number of repetitions of each figure; the report gives medians.
    pub repeats: usize,
    /// Proofs that one client is expected to fetch per epoch.
    pub lookups_per_client: u64,
    /// Whether the case takes minutes or many gigabytes, and so runs only on request.
    pub full: bool,
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

/// A `[[tree]]` as written in a definition.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TreeText {
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

pub(super) fn check(text: TreeText) -> Result<TreeCase, String> {
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
    let one = |n: Option<Count>, default: u64, max, name| -> Result<usize, String> {
        Ok(small(vec![n.unwrap_or(Count(default))], max, name)?.remove(0))
    };
    let threads = one(text.threads, 1, MAX_THREADS, "threads")?;
    let repeats = one(text.repeats, 5, MAX_LOOKUPS, "repeats")?;
    let lookups_per_client = text.lookups_per_client.map_or(1000, |n| n.0);
    let lines = match text.lines {
        None => Vec::new(),
        lines => scheme_lines::of(SingleLine::default(), lines)?,
    };
    let line = |line: scheme_lines::SchemeLine| Case {
        scheme: line.scheme,
        name: line.name,
        set: line.set,
        goal: line.goal,
        params: line.params,
        ..blank(threads, repeats, lookups_per_client)
    };
    let lines = lines.into_iter().map(line).collect();
    let TreeText { measure, full, .. } = text;
    Ok(TreeCase { shapes, measure, methods, lines, threads, repeats, lookups_per_client, full })
}

/// A case of a table of hashes without a scheme and without rows.
fn blank(threads: usize, lookups: usize, lookups_per_client: u64) -> Case {
    Case {
        turn: 0,
        compare: None,
        name: None,
        scheme: String::new(),
        set: None,
        goal: Goal::default(),
        rows: 1,
        row_bits: 256,
        threads,
        batches: vec![1],
        lookups,
        lookups_per_client,
        content: Content::Random,
        params: Map::new(),
        rows_blake3: None,
        changes: None,
        series: None,
        steps: None,
        buckets: 1,
        break_even: false,
        sizes: false,
        full: false,
    }
}

impl TreeCase {
    /// The case for the scheme with this name.
    pub(crate) fn by(&self, scheme: &str) -> Case {
        let scheme = scheme.to_owned();
        Case { scheme, ..blank(self.threads, self.repeats, self.lookups_per_client) }
    }
}
