//! Parameters: N rows of B bytes in 2^k places, M hints, and how many queries they last.
//!
//! The memory that a client needs is a function of these numbers, and they come from a peer. So
//! everything is bounded, k is a function of N, and M is at most about twice the minimum.
//!
//! A hint contains a given row with probability 1/w, w = 2^floor(k/2) in a table of 2^k places: as
//! one of the w rows of each partition, or as one of s members among n places, n/s = w. The
//! schemes' READMEs prove that this stays true, for every hint on its own, whatever was requested
//! before.

use super::tree::{TreeNumber, Trees};
use crate::message::MessageLengths;
use serde::{Deserialize, Serialize};
use sotto_core::params::REQUIRED_FAILURE_LOG2;
use sotto_core::{
    Costs, ParamsDigest, ParamsError, ParamsReport, Result, SchemeId, SchemeMetadata, Security, TableShape,
    Wire,
};
use std::f64::consts::LN_2;
use std::fmt::Debug;
use std::marker::PhantomData;

/// Maximum number of rows of a table: 2^16 for each of 2^16 numbers of a tree.
pub const MAX_ROWS: u64 = 1 << 32;

/// Maximum bytes of a row.
pub const MAX_ROW_BYTES: u64 = 1 << 20;

/// Maximum bytes of an answer, which travels in one message.
pub const MAX_ANSWER_BYTES: u64 = 1 << 26;

/// Maximum number of queries of one client.
pub const MAX_QUERIES: u64 = 1 << 32;

/// Minimum number of queries that a client is prepared for: each factor of two costs one hint in
/// sixty.
const MIN_QUERIES: u64 = 1 << 16;

/// Approximate bytes of the parities in a hint response.
const SUPPLY_BYTES: u64 = 1 << 20;

/// Bytes of a saved state before its hints.
const STATE_HEADER_BYTES: u64 = 44;

/// Bytes of a saved hint without its parity and the number of its set.
const HINT_BYTES: u64 = 41;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Rows of the table, N.
    pub rows: u64,
    /// Bytes in a row, B.
    pub row_bytes: u64,
    /// Hints that a client has, M.
    pub hints: u64,
    /// Queries that a client can make before it has to request all hints again.
    pub queries: u64,
}

/// The identity of a family, and the numbers of its tables.
pub trait ParamsFamily: Sized + Copy + Debug + Send + Sync + 'static {
    /// The scheme id, which is stable on the wire.
    const ID: SchemeId;
    /// Publication, protection and state of the scheme.
    const METADATA: SchemeMetadata;
    /// The type of a tree's numbers.
    type Word: TreeNumber;
    /// The query that either server receives.
    type Query: Wire<Params<Self>> + Send + 'static;

    /// Bits of a tree's numbers in a table of 2^k places.
    fn number_bits(k: u32) -> u32;
    /// Rows of an answer, for trees of `numbers` numbers.
    fn answer_rows(numbers: u64) -> u64;
    /// The costs and guarantees of parameters, as far as they differ between families.
    fn promise(params: &Params<Self>) -> FamilyReport;
    /// The row that a number at a position stands for; rows past the last are zeros.
    fn row(params: &Params<Self>, position: u32, number: Self::Word) -> u64;
}

/// Checked parameters.
#[derive(Debug, Clone)]
pub struct Params<F> {
    literal: ParamsLiteral,
    row_bytes: usize,
    hints: usize,
    bits: u32,
    blocks: u32,
    failure_log2: f64,
    family: PhantomData<F>,
}

/// A family's report on parameters.
pub struct FamilyReport {
    /// Operations of either server for a query.
    pub server_ops: u64,
    /// Operations of the client for a query.
    pub client_ops: u64,
    /// The assumption behind 128 bits of security.
    pub model: String,
    /// Further numbers of the parameters, named as in the scheme's paper.
    pub details: Vec<(&'static str, String)>,
}

impl<F> Params<F> {
    /// Rows of the table, N.
    pub fn rows(&self) -> u64 {
        self.literal.rows
    }
    /// Bytes in a row, B.
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }
    /// Bytes of the table.
    pub fn table_bytes(&self) -> u64 {
        self.literal.rows * self.literal.row_bytes
    }
    /// log2 of the number of places, k. Places past the last row count as rows of zeros and are not
    /// stored.
    pub fn bits(&self) -> u32 {
        self.bits
    }
    /// Rows of a set, and numbers of its tree: 2^ceil(k/2), at most 2^16.
    pub fn numbers(&self) -> usize {
        1 << self.bits.div_ceil(2)
    }
    /// log2 of w, where a hint has a row with probability 1/w: floor(k/2).
    pub fn ratio_bits(&self) -> u32 {
        self.bits / 2
    }
    /// Hints, M.
    pub fn hints(&self) -> usize {
        self.hints
    }
    /// Queries that a client can make.
    pub fn queries(&self) -> u64 {
        self.literal.queries
    }
    /// Number of hint requests that fetch all hints.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }
    /// Hints of a block. The last block may have fewer.
    pub fn block_hints(&self) -> usize {
        self.hints.div_ceil(self.blocks as usize)
    }
}

impl<F: ParamsFamily> MessageLengths for Params<F> {
    fn answer_bytes(&self) -> usize {
        F::answer_rows(self.numbers() as u64) as usize * self.row_bytes()
    }
    fn blocks(&self) -> u32 {
        self.blocks
    }
    fn hint_response_bytes(&self) -> usize {
        self.block_hints() * self.row_bytes()
    }
}

impl<F: ParamsFamily> Params<F> {
    /// The shape of the trees of sets.
    pub fn trees(&self) -> Trees<F::Word> {
        Trees::new(self.numbers().ilog2(), F::number_bits(self.bits))
    }
}

impl<F: ParamsFamily> sotto_core::Params for Params<F> {
    type Literal = ParamsLiteral;

    fn select(shape: &TableShape) -> Result<ParamsLiteral> {
        let &TableShape { rows, row_bytes, lookups_per_client, .. } = shape;
        let no_fit = |why: &str| ParamsError::NoFit { rows, row_bytes, why: why.into() };
        if !(1..=MAX_ROWS).contains(&rows) || !(1..=MAX_ROW_BYTES).contains(&row_bytes) {
            return Err(no_fit("expected 1 to 2^32 rows of 1 to 2^20 bytes").into());
        }
        let bits = bits(rows);
        if answer_bytes::<F>(bits, row_bytes) > MAX_ANSWER_BYTES {
            return Err(no_fit("an answer of several rows exceeds 2^26 bytes").into());
        }
        let queries = lookups_per_client.clamp(MIN_QUERIES, MAX_QUERIES);
        let hints = min_hints(queries, shape.required_failure_log2(), 1 << (bits / 2));
        Ok(ParamsLiteral { rows, row_bytes, hints, queries })
    }

    fn check(literal: ParamsLiteral) -> Result<Self> {
        let ParamsLiteral { rows, row_bytes, hints, queries } = literal;
        in_range("rows", rows, MAX_ROWS)?;
        in_range("row_bytes", row_bytes, MAX_ROW_BYTES)?;
        in_range("queries", queries, MAX_QUERIES)?;
        let bits = bits(rows);
        if answer_bytes::<F>(bits, row_bytes) > MAX_ANSWER_BYTES {
            return Err(field("row_bytes", "must make an answer of at most 2^26 bytes".into()));
        }
        let (w, required) = (1 << (bits / 2), REQUIRED_FAILURE_LOG2);
        in_range("hints", hints, 2 * min_hints(queries, f64::from(required), w) + 64)?;
        let failure_log2 = failure_log2(hints, queries, w);
        if failure_log2 > f64::from(required) {
            return Err(ParamsError::Unreliable { log2: failure_log2, required }.into());
        }
        // On platforms with 32-bit lengths, such as browsers, large states and tables are refused
        // here.
        if usize::try_from(client_bytes::<F>(&literal).max(rows * row_bytes)).is_err() {
            return Err(field("rows", "the table or the client state exceeds the address space".into()));
        }
        // A row is no longer than a hint response, so a block has at least one hint; and there are
        // fewer than 2^32 blocks.
        let blocks = (hints * row_bytes).div_ceil(SUPPLY_BYTES).min(hints) as u32;
        let (row_bytes, hints) = (row_bytes as usize, hints as usize);
        Ok(Params { row_bytes, hints, bits, blocks, failure_log2, literal, family: PhantomData })
    }

    fn literal(&self) -> &ParamsLiteral {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        let ParamsLiteral { rows, row_bytes, hints, queries } = self.literal;
        let FamilyReport { server_ops, client_ops, model, mut details } = F::promise(self);
        details.extend(sotto_core::report_details(|| {
            vec![
                ("M", hints.to_string()),
                ("hint requests", self.blocks.to_string()),
                ("failure", "of any query of the whole budget, not of one lookup".into()),
            ]
        }));
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records: rows,
            record_bytes: row_bytes,
            costs: Costs {
                artifact_bytes: 0,
                keys_bytes: 0,
                query_bytes: F::Query::size(self) as u64,
                answer_bytes: self.answer_bytes() as u64,
                server_ops,
                client_ops,
                resident_bytes: self.table_bytes(),
                client_bytes: client_bytes::<F>(&self.literal),
                budget: queries,
            },
            security: Security { bits: 128.0, model, core_svp: None },
            failure_log2: self.failure_log2,
            abort_leakage: None,
            details,
        }
    }
}

/// log2 of the least power of two that holds all rows, from 4 on: two sets of two rows that share
/// none.
fn bits(rows: u64) -> u32 {
    rows.next_power_of_two().ilog2().max(2)
}

fn answer_bytes<F: ParamsFamily>(bits: u32, row_bytes: u64) -> u64 {
    row_bytes * F::answer_rows(1 << bits.div_ceil(2))
}

/// Bytes of a new client's saved state.
fn client_bytes<F: ParamsFamily>(literal: &ParamsLiteral) -> u64 {
    let hint_bytes = HINT_BYTES + size_of::<F::Word>() as u64;
    STATE_HEADER_BYTES + literal.hints * (hint_bytes + literal.row_bytes)
}

/// log2 of a bound on the probability that any of a client's queries is for a row that no hint
/// contains.
pub fn failure_log2(hints: u64, queries: u64, w: u64) -> f64 {
    (queries as f64).log2() + hints as f64 * missed_log2(w)
}

/// The least number of hints that keeps [`failure_log2`] at or below `log2`.
pub fn min_hints(queries: u64, log2: f64, w: u64) -> u64 {
    // Both are negative, and the quotient is far below 2^53.
    ((log2 - (queries as f64).log2()) / missed_log2(w)).ceil() as u64
}

/// log2 of the probability that one hint lacks a row.
fn missed_log2(w: u64) -> f64 {
    (-1.0 / w as f64).ln_1p() / LN_2
}

fn in_range(name: &'static str, value: u64, most: u64) -> Result<()> {
    if (1..=most).contains(&value) && usize::try_from(value).is_ok() {
        return Ok(());
    }
    Err(field(name, format!("must be in 1..={most}")))
}

fn field(field: &'static str, why: String) -> sotto_core::Error {
    ParamsError::Field { field, why }.into()
}
