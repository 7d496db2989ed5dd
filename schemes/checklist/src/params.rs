//! Parameters: N rows of B bytes in a universe of n places, sets of s members, M hints, and how many queries they last.
//!
//! The memory that a client is asked for is a function of these numbers, and they come from a peer. So everything is
//! bounded, n and s are functions of N, and M is no more than about twice what it has to be.

use crate::bound;
use serde::{Deserialize, Serialize};
use sotto_core::params::REQUIRED_FAILURE_LOG2;
use sotto_core::{Costs, ParamsDigest, ParamsError, ParamsReport, Result, Security, Shape, work};

/// Most rows of a table: places are numbered with 32 bits.
pub const MOST_ROWS: u64 = 1 << 32;

/// Most bytes in a row.
pub const MOST_ROW_BYTES: u64 = 1 << 20;

/// Most queries of one client.
pub const MOST_QUERIES: u64 = 1 << 32;

/// Fewest queries that a client is prepared for: each factor of two costs one hint in sixty.
const LEAST_QUERIES: u64 = 1 << 16;

/// Places that a leaf of a tree stands for.
pub(crate) const LEAF: usize = 16;

/// Bytes of parities that a supply has, about.
const SUPPLY_BYTES: u64 = 1 << 20;

/// Work of a member of a set, when all sets are grown for a query: a third of a block, and the comparison.
const NUMBER_OPS: u64 = work::AES_BLOCK / 3 + 90;

/// What is written into a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Rows of the table, N.
    pub rows: u64,
    /// Bytes in a row, B.
    pub row_bytes: u64,
    /// Hints a client has, M.
    pub hints: u64,
    /// Queries it can make before it has to order all hints anew.
    pub queries: u64,
}

/// Checked parameters.
#[derive(Debug, Clone)]
pub struct Params {
    literal: ParamsLiteral,
    row_bytes: usize,
    hints: usize,
    universe_bits: u32,
    blocks: u32,
    failure_log2: f64,
}

impl Params {
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
    /// log2 of the number of places, n. Those past the last row are rows of zeros, stored nowhere.
    pub fn universe_bits(&self) -> u32 {
        self.universe_bits
    }
    /// The last place, n - 1: what a number is masked with to be a place.
    pub fn mask(&self) -> u32 {
        u32::MAX >> (32 - self.universe_bits)
    }
    /// Members of a set, s: a power of two, at most 2^16.
    pub fn set_rows(&self) -> usize {
        set_rows(self.universe_bits) as usize
    }
    /// Members that one leaf of a tree stands for.
    pub fn leaf_rows(&self) -> usize {
        self.set_rows().min(LEAF)
    }
    /// Hints, M.
    pub fn hints(&self) -> usize {
        self.hints
    }
    /// Queries that a client can make.
    pub fn queries(&self) -> u64 {
        self.literal.queries
    }
    /// Orders that it takes to have all hints.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }
    /// Hints of a block. The last block may have fewer.
    pub fn block_hints(&self) -> usize {
        self.hints.div_ceil(self.blocks as usize)
    }
}

impl sotto_core::Params for Params {
    type Literal = ParamsLiteral;

    fn select(shape: &Shape) -> Result<ParamsLiteral> {
        let &Shape { rows, row_bytes, lookups_per_client, .. } = shape;
        if !(1..=MOST_ROWS).contains(&rows) || !(1..=MOST_ROW_BYTES).contains(&row_bytes) {
            let why = "it needs 1 to 2^32 rows of 1 to 2^20 bytes".into();
            return Err(ParamsError::NoFit { rows, row_bytes, why }.into());
        }
        let queries = lookups_per_client.clamp(LEAST_QUERIES, MOST_QUERIES);
        let bits = universe_bits(rows);
        let hints = bound::least_hints(queries, shape.required_failure_log2(), set_rows(bits), 1 << bits);
        Ok(ParamsLiteral { rows, row_bytes, hints, queries })
    }

    fn check(literal: ParamsLiteral) -> Result<Self> {
        let ParamsLiteral { rows, row_bytes, hints, queries } = literal;
        in_range("rows", rows, MOST_ROWS)?;
        in_range("row_bytes", row_bytes, MOST_ROW_BYTES)?;
        in_range("queries", queries, MOST_QUERIES)?;
        let universe_bits = universe_bits(rows);
        let (s, n) = (set_rows(universe_bits), 1 << universe_bits);
        let required = REQUIRED_FAILURE_LOG2;
        let least = bound::least_hints(queries, f64::from(required), s, n);
        in_range("hints", hints, 2 * least + 64)?;
        let failure_log2 = bound::failure_log2(hints, queries, s, n);
        if failure_log2 > f64::from(required) {
            return Err(ParamsError::Unreliable { log2: failure_log2, required }.into());
        }
        // Where a length is a number of 32 bits, as in browsers, large states and tables end here.
        if usize::try_from(client_bytes(&literal).max(rows * row_bytes)).is_err() {
            return Err(field("rows", "table or client state is too large for this machine".into()));
        }
        // A row is no longer than a supply, so a block has a hint; and there are fewer than 2^32 of them.
        let blocks = (hints * row_bytes).div_ceil(SUPPLY_BYTES).min(hints) as u32;
        Ok(Params {
            row_bytes: row_bytes as usize,
            hints: hints as usize,
            universe_bits,
            blocks,
            failure_log2,
            literal,
        })
    }

    fn literal(&self) -> &ParamsLiteral {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        use sotto_core::Wire;
        let ParamsLiteral { rows, row_bytes, hints, queries } = self.literal;
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records: rows,
            record_bytes: row_bytes,
            costs: Costs {
                artifact_bytes: 0,
                keys_bytes: 0,
                query_bytes: crate::message::Query::size(self) as u64,
                answer_bytes: crate::message::Answer::size(self) as u64,
                server_ops: self.set_rows() as u64 * (work::FIND_ROW + row_bytes * work::READ_BYTE),
                client_ops: hints * self.set_rows() as u64 * NUMBER_OPS,
                resident_bytes: self.table_bytes(),
                client_bytes: client_bytes(&self.literal),
                budget: queries,
            },
            security: Security { bits: 128.0, model: bound::security_model(self.universe_bits) },
            failure_log2: self.failure_log2,
            details: vec![
                ("n", (1u64 << self.universe_bits).to_string()),
                ("s", self.set_rows().to_string()),
                ("M", hints.to_string()),
                ("orders", self.blocks.to_string()),
                ("failure", "of any query of the whole budget, not of one lookup".into()),
            ],
        }
    }
}

/// log2 of the least power of two that holds all rows, and two sets of two members that share none.
fn universe_bits(rows: u64) -> u32 {
    rows.next_power_of_two().ilog2().max(2)
}

/// s, about the square root of n.
fn set_rows(universe_bits: u32) -> u64 {
    1 << universe_bits.div_ceil(2)
}

/// Bytes of the state a client starts with, as it is saved.
fn client_bytes(literal: &ParamsLiteral) -> u64 {
    crate::state::HEAD as u64 + literal.hints * (crate::state::HINT as u64 + literal.row_bytes)
}

fn in_range(name: &'static str, value: u64, most: u64) -> Result<()> {
    if (1..=most).contains(&value) && usize::try_from(value).is_ok() {
        return Ok(());
    }
    Err(field(name, format!("must lie in 1..={most}")))
}

fn field(field: &'static str, why: String) -> sotto_core::Error {
    ParamsError::Field { field, why }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_core::Params as _;

    #[test]
    fn the_papers_tables() {
        for (log2_rows, side) in [(20, 1 << 10), (24, 1 << 12), (28, 1 << 14)] {
            let literal = Params::select(&Shape::new(1 << log2_rows, 32, 1)).unwrap();
            let params = Params::check(literal).unwrap();
            assert_eq!((params.set_rows(), params.mask()), (side, (1 << log2_rows) - 1));
            // (40 + 16) ln 2 hints for each of n/s.
            let hints = params.hints() as f64 / side as f64;
            assert!((38.7..38.9).contains(&hints), "{hints}");
        }
    }

    #[test]
    fn every_table_fits_with_as_few_hints_as_the_bound_allows() {
        let rows = (1..300).chain([(1 << 20) - 1, (1 << 20) + 1, u64::from(u32::MAX), 1 << 32]);
        for rows in rows {
            let mut literal = Params::select(&Shape::new(rows, 3, 1 << 20)).unwrap();
            let params = Params::check(literal.clone()).unwrap();
            // The two rare forms of a request together have 2 (s - 1) of n chances.
            assert!(2 * (params.set_rows() as u64 - 1) < 1 << params.universe_bits(), "{rows}");
            assert!(params.block_hints() * params.blocks() as usize >= params.hints());
            literal.hints -= 1;
            assert!(Params::check(literal).is_err(), "{rows} rows can do with fewer hints");
        }
    }

    #[test]
    fn limits_are_refused_not_wrapped() {
        let huge = [(0, 1), (1, 0), ((1 << 32) + 1, 1), (1, (1 << 20) + 1), (u64::MAX, u64::MAX)];
        for (rows, row_bytes) in huge {
            assert!(Params::select(&Shape::new(rows, row_bytes, u64::MAX)).is_err(), "{rows} {row_bytes}");
        }
        let good = Params::select(&Shape::new(100, 1, 1)).unwrap();
        for hints in [2 * good.hints + 65, u64::MAX] {
            assert!(Params::check(ParamsLiteral { hints, ..good.clone() }).is_err(), "{hints}");
        }
    }
}
