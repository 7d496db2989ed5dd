//! Parameters: those of the one-server scheme, and the number of ids of a block.

use crate::Params as One;
use crate::params::{self as one, MIN_PAIRS};
use crate::query::EitherParams;
use serde::{Deserialize, Serialize};
use sotto_core::{Costs, NamedSet, ParamsReport, Result, Security, TableShape};
use sotto_hints::message::MessageLengths;
use sotto_hints::one_server::params::{Literal, MAX_ROW_BYTES, field};

/// Ids of a block are a multiple of this: offsets are made for eight ids at once, also of half a block.
pub(crate) const BLOCK_STEP: u64 = 16;

/// Maximum bytes of a hint response: a block of the least length, of the longest rows.
pub(crate) const MAX_RESPONSE_BYTES: u64 = BLOCK_STEP * MAX_ROW_BYTES;

/// Minimum number of pairs in stock before another block is due, so that a client can make as many
/// queries between two hint requests as go into one query request, however few pairs a block has.
const MIN_STOCK: u64 = 64;

/// Number of queries that a row of a partition pays for, with one key: P = 80 w. The search goes
/// through every id that was ever a hint, so it takes twice as long in the end; and pairs that are
/// never requested cost nothing.
const PAIRS_PER_ROW: u64 = 80;

/// Hints of a block for each row of a partition, 16 w: while the rows of some partitions are in a
/// cache, each is added 16 or 8 times on average, which pays for reading them.
const BLOCK_PER_ROW: u64 = 16;

/// Minimum number of hints of a block, if rows are not long, so that clients of small tables can
/// make more than a few queries between two requests.
const MIN_BLOCK: u64 = 128;

/// Bytes of a hint response, unless rows are so long that the smallest block has more.
const DEFAULT_RESPONSE_BYTES: u64 = 4 << 20;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Rows of the table, N.
    pub rows: u64,
    /// Bytes in a row, B.
    pub row_bytes: u64,
    /// Partitions of the table, c; even. Rows past the last are zero and not stored.
    pub partitions: u64,
    /// Rows in a partition, w; a power of two.
    pub partition_rows: u64,
    /// Hints that a client has at any time, M; whole blocks.
    pub hints: u64,
    /// Backup pairs of one key, P, which is the number of queries that a client can make. Whole
    /// half blocks.
    pub pairs: u64,
    /// Hints of a block, H; a block of pairs has half as many. A multiple of 16.
    pub block: u64,
}

/// Checked parameters.
#[derive(Debug, Clone)]
pub struct Params {
    literal: ParamsLiteral,
    one: One,
    block: usize,
}

impl Params {
    /// The parameters that both schemes share.
    pub(crate) fn one(&self) -> &One {
        &self.one
    }
    /// Hints of a block, H.
    pub fn block(&self) -> usize {
        self.block
    }
    /// Number of pairs in stock below which a block of pairs is due.
    pub(crate) fn low(&self) -> usize {
        low(self.block as u64) as usize
    }
    /// Maximum number of pairs in stock.
    pub(crate) fn max_stock(&self) -> usize {
        self.low() + self.block / 2
    }
    /// Number of blocks, of hints and of pairs.
    pub fn blocks(&self) -> usize {
        self.blocks_of(self.one.ids())
    }
    /// Bytes of a hint response: the parities of a block.
    pub fn response_bytes(&self) -> usize {
        self.block * self.one.row_bytes()
    }
    /// Number of whole blocks that `ids` ids are.
    pub(crate) fn blocks_of(&self, ids: usize) -> usize {
        blocks_of(self.one.hints(), self.block, ids)
    }
    /// Number of ids in the first `blocks` blocks.
    pub(crate) fn ids_of(&self, blocks: usize) -> usize {
        ids_of(self.one.hints(), self.block, blocks)
    }
}

impl EitherParams for Params {
    fn one(&self) -> &One {
        &self.one
    }
}

/// Number of whole blocks that `ids` ids are, of `block` hints, or half as many pairs. For H = 0 it
/// has no meaning.
pub(crate) fn blocks_of(hints: usize, block: usize, ids: usize) -> usize {
    let mains = ids.min(hints);
    (mains + 2 * (ids - mains)) / block.max(1)
}

/// Number of ids in the first `blocks` blocks.
pub(crate) fn ids_of(hints: usize, block: usize, blocks: usize) -> usize {
    let mains = blocks.min(hints / block.max(1));
    mains * block + (blocks - mains) * (block / 2)
}

impl MessageLengths for Params {
    fn answer_bytes(&self) -> usize {
        self.one.answer_bytes()
    }
    fn blocks(&self) -> u32 {
        // There are at most 2^25 ids.
        Params::blocks(self) as u32
    }
    fn hint_response_bytes(&self) -> usize {
        self.response_bytes()
    }
}

impl sotto_core::Params for Params {
    type Literal = ParamsLiteral;

    fn sets() -> Vec<NamedSet> {
        one::ParamsLiteral::sets()
    }

    fn select(shape: &TableShape) -> Result<ParamsLiteral> {
        select(shape)
    }

    fn check(literal: ParamsLiteral) -> Result<Self> {
        let ParamsLiteral { rows, row_bytes, partitions, partition_rows, hints, pairs, block } = literal;
        let one = one::ParamsLiteral { rows, row_bytes, partitions, partition_rows, hints, pairs };
        let one = One::check(one)?;
        if block == 0 || !block.is_multiple_of(BLOCK_STEP) || block > MAX_RESPONSE_BYTES / row_bytes {
            let why =
                format!("must be a multiple of {BLOCK_STEP}, and take at most {MAX_RESPONSE_BYTES} bytes");
            return Err(field("block", why));
        }
        if !hints.is_multiple_of(block) {
            return Err(field("hints", "must be a multiple of block".into()));
        }
        if !pairs.is_multiple_of(block / 2) {
            return Err(field("pairs", "must be a multiple of half a block".into()));
        }
        // At most 2^24.
        Ok(Params { one, block: block as usize, literal })
    }

    fn literal(&self) -> &ParamsLiteral {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        let one = self.one.report();
        let mut details = one.details;
        details.extend(sotto_core::report_details(|| {
            let response =
                format!("{} bytes, {} of them in the life of a key", self.response_bytes(), self.blocks());
            vec![
                ("H", self.block.to_string()),
                ("hint response", response),
                ("hint requests", self.blocks().to_string()),
            ]
        }));
        let model = format!("{}; and two servers that do not collude", one.security.model);
        ParamsReport {
            costs: Costs { artifact_bytes: 0, client_bytes: client_bytes(&self.literal), ..one.costs },
            security: Security { model, ..one.security },
            abort_leakage: None,
            details,
            ..one
        }
    }
}

/// A block of pairs, or more where that is few.
fn low(block: u64) -> u64 {
    MIN_STOCK.max(block / 2)
}

/// Bytes of the saved state of a client that has all hints and pairs that are due at first.
fn client_bytes(literal: &ParamsLiteral) -> u64 {
    let ParamsLiteral { row_bytes, hints, pairs, block, .. } = *literal;
    let backup_stock = low(block).next_multiple_of(block / 2).min(pairs);
    4 + one::client_bytes(row_bytes, hints, backup_stock)
}

/// A literal for a table: partitions as with one server. The expected number of lookups does not
/// matter.
///
/// # Errors
/// The errors of [`one::ParamsLiteral::select`].
pub(crate) fn select(shape: &TableShape) -> Result<ParamsLiteral> {
    let table = one::ParamsLiteral::select(shape)?;
    let (c, w, row_bytes) = (table.partitions, table.partition_rows, table.row_bytes);
    let min_pairs = (PAIRS_PER_ROW * w).max(MIN_PAIRS);
    let max_block =
        (BLOCK_PER_ROW * w).max(MIN_BLOCK).min(DEFAULT_RESPONSE_BYTES / row_bytes).max(BLOCK_STEP);
    // Half a block more than requested is the most that rounding adds.
    let min_hints = one::min_hints(min_pairs + max_block / 2, shape.required_failure_log2(), w, |_| c);
    // The least number of blocks, all of one size, so that rounding adds few hints.
    let blocks = min_hints.div_ceil(max_block / BLOCK_STEP * BLOCK_STEP);
    let block = min_hints.div_ceil(blocks).next_multiple_of(BLOCK_STEP);
    let pairs = min_pairs.next_multiple_of(block / 2);
    Ok(ParamsLiteral {
        rows: table.rows,
        row_bytes,
        partitions: c,
        partition_rows: w,
        hints: blocks * block,
        pairs,
        block,
    })
}
