//! Parameters: N rows of B bytes, c partitions of w rows, M hints, P backup pairs.
//!
//! The memory a client is asked for is a function of these numbers, and they come from a peer. So everything is
//! bounded, c is the only number of partitions that N and w allow, and M and P are what they have to be at most.

use crate::bound;
use crate::state::HEAD_BYTES;
use serde::{Deserialize, Serialize};
use sotto_core::params::REQUIRED_FAILURE_LOG2;
use sotto_core::{Costs, NamedSet, ParamsDigest, ParamsError, ParamsReport, Result, Security, Shape, work};

/// Most rows in a partition, and most partitions: both are numbered with 16 bits.
pub const MOST_PER_SIDE: u64 = 1 << 16;

/// Most bytes in a row.
pub const MOST_ROW_BYTES: u64 = 1 << 20;

/// Most hints, and most backup pairs. The longest tables need a third of it.
pub const MOST_IDS: u64 = 1 << 24;

/// Work of looking at an id when a hint is searched: an eighth of a block, and its tag.
const ID_OPS: u64 = work::AES_BLOCK / 8 + 5;

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
    /// Hints a client has at any time, M.
    pub hints: u64,
    /// Backup pairs it starts with, P: how many queries it can make.
    pub pairs: u64,
}

/// Checked parameters.
#[derive(Debug, Clone)]
pub struct Params {
    literal: ParamsLiteral,
    row_bytes: usize,
    partitions: usize,
    partition_rows: usize,
    hints: usize,
    pairs: usize,
    candidates: usize,
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
    /// Partitions, c.
    pub fn partitions(&self) -> usize {
        self.partitions
    }
    /// Rows in a partition, w.
    pub fn partition_rows(&self) -> usize {
        self.partition_rows
    }
    /// Bits of an offset in a partition, log2 w.
    pub fn offset_bits(&self) -> u32 {
        self.partition_rows.ilog2()
    }
    /// Hints, M. Their ids are the first.
    pub fn hints(&self) -> usize {
        self.hints
    }
    /// Backup pairs, P. Their ids come after those of the hints.
    pub fn pairs(&self) -> usize {
        self.pairs
    }
    /// Ids of hints and pairs, M + P.
    pub fn ids(&self) -> usize {
        self.hints + self.pairs
    }
    /// How many hints a query looks at closely, whatever it asks for.
    pub fn candidates(&self) -> usize {
        self.candidates
    }
    /// Bytes of the table.
    pub fn table_bytes(&self) -> u64 {
        self.literal.rows * self.literal.row_bytes
    }
    /// Bytes of a request: a bit for each partition, an offset for every second one.
    pub fn request_bytes(&self) -> usize {
        self.partitions.div_ceil(8) + (self.partitions / 2 * self.offset_bits() as usize).div_ceil(8)
    }

    /// Checks everything but the failure bound.
    pub(crate) fn of(literal: ParamsLiteral) -> Result<Self> {
        let ParamsLiteral { rows, row_bytes, partitions: c, partition_rows: w, hints, pairs } = literal;
        in_range("rows", rows, MOST_PER_SIDE * MOST_PER_SIDE)?;
        let row_bytes = in_range("row_bytes", row_bytes, MOST_ROW_BYTES)?;
        let partition_rows = in_range("partition_rows", w, MOST_PER_SIDE)?;
        if !w.is_power_of_two() || w > rows.next_power_of_two() {
            return Err(field(
                "partition_rows",
                "must be a power of two and hold no more than the table".into(),
            ));
        }
        let partitions = in_range("partitions", c, MOST_PER_SIDE)?;
        let wanted = least_partitions(rows, w);
        if c != wanted {
            return Err(field(
                "partitions",
                format!("must be the least even number that holds the rows, {wanted}"),
            ));
        }
        let hints = in_range("hints", hints, MOST_IDS)?;
        let pairs = in_range("pairs", pairs, MOST_IDS)?;
        let failure_log2 = bound::failure_log2(literal.hints, literal.pairs, c, w);
        // Where a length is a number of 32 bits, as in browsers, large states and tables end here.
        if usize::try_from(client_bytes(&literal).max(rows * literal.row_bytes)).is_err() {
            return Err(field("rows", "table or client state is too large for this machine".into()));
        }
        let candidates = bound::candidates(literal.hints, literal.pairs, c, w);
        let candidates = candidates.min(literal.hints + literal.pairs) as usize;
        Ok(Params { literal, row_bytes, partitions, partition_rows, hints, pairs, candidates, failure_log2 })
    }
}

impl sotto_core::Params for Params {
    type Literal = ParamsLiteral;

    fn sets() -> Vec<NamedSet> {
        crate::select::SETS.iter().map(|set| set.named).collect()
    }

    fn select(shape: &Shape) -> Result<ParamsLiteral> {
        crate::select::select(shape)
    }

    fn check(literal: ParamsLiteral) -> Result<Self> {
        let params = Params::of(literal)?;
        if params.failure_log2 > f64::from(REQUIRED_FAILURE_LOG2) {
            let required = REQUIRED_FAILURE_LOG2;
            return Err(ParamsError::Unreliable { log2: params.failure_log2, required }.into());
        }
        Ok(params)
    }

    fn literal(&self) -> &ParamsLiteral {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        let ParamsLiteral { rows, row_bytes, partitions, partition_rows, hints, pairs } = self.literal;
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records: rows,
            record_bytes: row_bytes,
            costs: Costs {
                artifact_bytes: self.table_bytes(),
                keys_bytes: 0,
                query_bytes: self.request_bytes() as u64,
                answer_bytes: 2 * row_bytes,
                server_ops: partitions * (work::FIND_ROW + row_bytes * work::READ_BYTE),
                client_ops: (hints + pairs) * ID_OPS,
                resident_bytes: self.table_bytes(),
                client_bytes: client_bytes(&self.literal),
                budget: pairs,
            },
            security: Security { bits: 128.0, model: bound::security_model(self) },
            failure_log2: self.failure_log2,
            details: vec![
                ("c", partitions.to_string()),
                ("w", partition_rows.to_string()),
                ("M", hints.to_string()),
                ("P", pairs.to_string()),
                ("candidates", self.candidates.to_string()),
                ("failure", "of any query of the whole budget, not of one lookup".into()),
            ],
        }
    }
}

/// The least even c with c w >= N.
pub(crate) fn least_partitions(rows: u64, w: u64) -> u64 {
    rows.div_ceil(w).next_multiple_of(2)
}

/// Bytes of the state a client starts with, as it is saved.
fn client_bytes(literal: &ParamsLiteral) -> u64 {
    HEAD_BYTES + literal.hints * (literal.row_bytes + 9) + literal.pairs * (2 * literal.row_bytes + 4)
}

fn in_range(name: &'static str, value: u64, most: u64) -> Result<usize> {
    usize::try_from(value)
        .ok()
        .filter(|_| (1..=most).contains(&value))
        .ok_or_else(|| field(name, format!("must lie in 1..={most}")))
}

fn field(field: &'static str, why: String) -> sotto_core::Error {
    ParamsError::Field { field, why }.into()
}
