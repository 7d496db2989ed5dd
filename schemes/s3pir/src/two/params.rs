//! Parameters: those of the one-server scheme, and how many ids are supplied together.

use crate::params as one;
use crate::state::HEAD_BYTES;
use serde::{Deserialize, Serialize};
use sotto_core::{Costs, NamedSet, ParamsDigest, ParamsError, ParamsReport, Result, Security, Shape};

/// Ids of a block are a multiple of this: offsets are made for eight ids at once, also of half a block.
pub(crate) const BLOCK_STEP: u64 = 16;

/// Most bytes of a supply: a block of the shortest kind, of the longest rows.
pub(crate) const MOST_SUPPLY_BYTES: u64 = BLOCK_STEP * one::MOST_ROW_BYTES;

/// Fewest pairs in stock before another block is due, so that a client can make as many queries between two orders as go into
/// one request, however few pairs a block has.
const LEAST_STOCK: u64 = 64;

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
    one: one::Params,
    block: usize,
}

impl Params {
    /// What both schemes have in common.
    pub(crate) fn one(&self) -> &one::Params {
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
        (self.one.hints() + 2 * self.one.pairs()) / self.block
    }
    /// Bytes of a supply: the parities of a block.
    pub fn supply_bytes(&self) -> usize {
        self.block * self.one.row_bytes()
    }
    /// Whether that many ids are whole blocks, and how many.
    pub(crate) fn blocks_of(&self, ids: usize) -> usize {
        let hints = ids.min(self.one.hints());
        (hints + 2 * (ids - hints)) / self.block
    }
    /// How many ids are in the first so many blocks.
    pub(crate) fn ids_of(&self, blocks: usize) -> usize {
        let hints = blocks.min(self.one.hints() / self.block);
        hints * self.block + (blocks - hints) * (self.block / 2)
    }
}

impl sotto_core::Params for Params {
    type Literal = ParamsLiteral;

    fn sets() -> Vec<NamedSet> {
        crate::select::SETS.iter().map(|set| set.named).collect()
    }

    fn select(shape: &Shape) -> Result<ParamsLiteral> {
        super::select::select(shape)
    }

    fn check(literal: ParamsLiteral) -> Result<Self> {
        let ParamsLiteral { rows, row_bytes, partitions, partition_rows, hints, pairs, block } = literal;
        let one = one::ParamsLiteral { rows, row_bytes, partitions, partition_rows, hints, pairs };
        let one = one::Params::check(one)?;
        if block == 0 || !block.is_multiple_of(BLOCK_STEP) || block > MOST_SUPPLY_BYTES / row_bytes {
            let why = format!("must be a multiple of {BLOCK_STEP}, of {MOST_SUPPLY_BYTES} bytes at most");
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
        details.push(("H", self.block.to_string()));
        details.push((
            "supply",
            format!("{} bytes, {} of them in the life of a key", self.supply_bytes(), self.blocks()),
        ));
        let model = format!("{}; and two servers that do not collude", one.security.model);
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            costs: Costs { artifact_bytes: 0, client_bytes: client_bytes(&self.literal), ..one.costs },
            security: Security { model, ..one.security },
            details,
            ..one
        }
    }
}

/// A block of pairs, or more where that is few.
fn low(block: u64) -> u64 {
    LEAST_STOCK.max(block / 2)
}

/// Bytes of the state of a client that has all the hints and pairs which are due at first, as it is saved.
fn client_bytes(literal: &ParamsLiteral) -> u64 {
    let ParamsLiteral { row_bytes, hints, pairs, block, .. } = *literal;
    let stock = low(block).next_multiple_of(block / 2).min(pairs);
    4 + HEAD_BYTES + hints * (row_bytes + 9) + stock * (2 * row_bytes + 4)
}

fn field(field: &'static str, why: String) -> sotto_core::Error {
    ParamsError::Field { field, why }.into()
}
