//! Parameters: those of the one-server scheme, and how many ids are supplied together.

use crate::params::{self as one, MIN_PAIRS};
use crate::{Params as One, bound};
use serde::{Deserialize, Serialize};
use sotto_core::{Costs, NamedSet, ParamsReport, Result, Security, TableShape};
use sotto_hints::message::MessageLengths;
use sotto_hints::one_server::params::{Literal, MAX_ROW_BYTES, field};

/// Ids of a block are a multiple of this: offsets are made for eight ids at once, also of half a block.
pub(crate) const BLOCK_STEP: u64 = 16;

/// Most bytes of a supply: a block of the shortest kind, of the longest rows.
pub(crate) const MAX_SUPPLY_BYTES: u64 = BLOCK_STEP * MAX_ROW_BYTES;

/// Fewest pairs in stock before another block is due, so that a client can make as many queries between two orders as go into
/// one request, however few pairs a block has.
const MIN_STOCK: u64 = 64;

/// How many queries a row of a partition pays for, with one key: P = 80 w. The search goes through every id that was ever a
/// hint, so that it takes twice as long in the end; and pairs that nobody orders cost nothing.
const PAIRS_PER_ROW: u64 = 80;

/// Hints of a block to a row of a partition, 16 w: while the rows of some partitions are in a cache, each is added that
/// often in the mean, or eight times, and that pays for having read them.
const BLOCK_PER_ROW: u64 = 16;

/// Fewest hints of a block, if rows are not long: so that small tables are asked more than a few times between two orders.
const MIN_BLOCK: u64 = 128;

/// Bytes of a supply, if rows are not so long that the smallest block has more.
const DEFAULT_SUPPLY_BYTES: u64 = 4 << 20;

/// What is written into a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Rows of the table, N.
    pub rows: u64,
    /// Bytes in a row, B.
    pub row_bytes: u64,
    /// Partitions of the table, c; even. Rows past the last are zero and stored nowhere.
    pub partitions: u64,
    /// Rows in a partition, w; a power of two.
    pub partition_rows: u64,
    /// Hints a client has at any time, M; whole blocks.
    pub hints: u64,
    /// Backup pairs of one key, P: how many queries a client can make. Whole half blocks.
    pub pairs: u64,
    /// Hints that are supplied together, H; of pairs it is half as many. A multiple of 16.
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
    /// What both schemes have in common.
    pub(crate) fn one(&self) -> &One {
        &self.one
    }
    /// Hints that are supplied together, H.
    pub fn block(&self) -> usize {
        self.block
    }
    /// A block of pairs is due as soon as fewer are left in stock than this.
    pub(crate) fn low(&self) -> usize {
        low(self.block as u64) as usize
    }
    /// Most pairs in stock.
    pub(crate) fn room(&self) -> usize {
        self.low() + self.block / 2
    }
    /// How many blocks there are, of hints and of pairs.
    pub fn blocks(&self) -> usize {
        self.blocks_of(self.one.ids())
    }
    /// Bytes of a supply: the parities of a block.
    pub fn supply_bytes(&self) -> usize {
        self.block * self.one.row_bytes()
    }
    /// How many whole blocks so many ids are.
    pub(crate) fn blocks_of(&self, ids: usize) -> usize {
        blocks_of(self.one.hints(), self.block, ids)
    }
    /// How many ids are in the first so many blocks.
    pub(crate) fn ids_of(&self, blocks: usize) -> usize {
        ids_of(self.one.hints(), self.block, blocks)
    }
}

/// How many whole blocks so many ids are: of so many hints, or half as many pairs. That of H = 0 is of no meaning.
pub(crate) fn blocks_of(hints: usize, block: usize, ids: usize) -> usize {
    let mains = ids.min(hints);
    (mains + 2 * (ids - mains)) / block.max(1)
}

/// How many ids are in the first so many blocks.
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
    fn supply_bytes(&self) -> usize {
        Params::supply_bytes(self)
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
        if block == 0 || !block.is_multiple_of(BLOCK_STEP) || block > MAX_SUPPLY_BYTES / row_bytes {
            let why = format!("must be a multiple of {BLOCK_STEP}, of {MAX_SUPPLY_BYTES} bytes at most");
            return Err(field("block", why));
        }
        if !hints.is_multiple_of(block) {
            return Err(field("hints", "must be whole blocks".into()));
        }
        if !pairs.is_multiple_of(block / 2) {
            return Err(field("pairs", "must be whole half blocks".into()));
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
            let supply =
                format!("{} bytes, {} of them in the life of a key", self.supply_bytes(), self.blocks());
            vec![("H", self.block.to_string()), ("supply", supply), ("orders", self.blocks().to_string())]
        }));
        let model = format!("{}; and two servers that do not collude", one.security.model);
        ParamsReport {
            costs: Costs { artifact_bytes: 0, client_bytes: client_bytes(&self.literal), ..one.costs },
            security: Security { model, ..one.security },
            details,
            ..one
        }
    }
}

/// A block of pairs, or more where that is few.
fn low(block: u64) -> u64 {
    MIN_STOCK.max(block / 2)
}

/// Bytes of the state of a client that has all the hints and pairs which are due at first, as it is saved.
fn client_bytes(literal: &ParamsLiteral) -> u64 {
    let ParamsLiteral { row_bytes, hints, pairs, block, .. } = *literal;
    let stock = low(block).next_multiple_of(block / 2).min(pairs);
    4 + one::client_bytes(row_bytes, hints, stock)
}

/// A literal for a table: partitions as with one server. How many lookups are expected does not matter.
///
/// # Errors
/// As [`one::ParamsLiteral::select`].
pub(crate) fn select(shape: &TableShape) -> Result<ParamsLiteral> {
    let table = one::ParamsLiteral::select(shape)?;
    let (c, w, row_bytes) = (table.partitions, table.partition_rows, table.row_bytes);
    let wanted = (PAIRS_PER_ROW * w).max(MIN_PAIRS);
    let most = (BLOCK_PER_ROW * w).max(MIN_BLOCK).min(DEFAULT_SUPPLY_BYTES / row_bytes).max(BLOCK_STEP);
    // Half a block more than are wanted: what rounding adds at most.
    let least = bound::least_hints(wanted + most / 2, shape.required_failure_log2(), w, |_| c);
    // As many blocks as it takes, and all of one size, so that rounding adds few hints.
    let blocks = least.div_ceil(most / BLOCK_STEP * BLOCK_STEP);
    let block = least.div_ceil(blocks).next_multiple_of(BLOCK_STEP);
    let pairs = wanted.next_multiple_of(block / 2);
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
