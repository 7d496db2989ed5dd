//! Parameters: how many records there are, and how wide they are. Everything else follows.

use serde::{Deserialize, Serialize};
use sotto_core::{Costs, ParamsDigest, ParamsError, ParamsReport, Result, Security, Shape, work};

/// Most records: at this many a key is still under 700 bytes.
pub const MAX_RECORDS: u64 = 1 << 40;

/// Most bytes in a record. Wider rows are spread over several, each of which costs a pass over the table.
pub const MAX_RECORD_BYTES: u64 = 1 << 20;

/// Records whose bits are one leaf of the tree.
pub const LEAF_RECORDS: u64 = 512;

/// Work of growing a leaf of the tree, and the nodes above: four blocks of bits, one of control and one for the nodes.
const LEAF_OPS: u64 = 6 * work::AES_BLOCK;

/// What is written into a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// How many records, N.
    pub records: u64,
    /// Bytes in a record, B: a multiple of 8.
    pub record_bytes: u64,
}

/// Checked parameters.
#[derive(Debug, Clone)]
pub struct Params {
    literal: ParamsLiteral,
    record_bytes: usize,
}

impl Params {
    /// How many records, N.
    pub fn records(&self) -> u64 {
        self.literal.records
    }
    /// Bytes in a record, B.
    pub fn record_bytes(&self) -> usize {
        self.record_bytes
    }
    /// Leaves of the tree that stand for records.
    pub fn leaves(&self) -> u64 {
        self.literal.records.div_ceil(LEAF_RECORDS)
    }
    /// Levels of the tree between root and leaves, n.
    pub fn depth(&self) -> usize {
        self.leaves().next_power_of_two().ilog2() as usize
    }
    /// Bytes of a block, which is eight records in bit slices.
    pub fn block_bytes(&self) -> usize {
        8 * self.record_bytes
    }
    /// Bytes of the table as the server keeps it: whole blocks.
    pub fn table_bytes(&self) -> u64 {
        self.literal.records.next_multiple_of(8) * self.literal.record_bytes
    }
    /// Bytes of a key: salt, root, one word for each level and one for the leaves, and the control bits.
    pub fn key_bytes(&self) -> usize {
        16 + 16 + 16 * self.depth() + 64 + (1 + 2 * self.depth()).div_ceil(8)
    }
}

impl sotto_core::Params for Params {
    type Literal = ParamsLiteral;

    fn select(shape: &Shape) -> Result<ParamsLiteral> {
        crate::select::select(shape)
    }

    fn check(literal: ParamsLiteral) -> Result<Self> {
        if !(1..=MAX_RECORDS).contains(&literal.records) {
            return Err(field("records", format!("must lie in 1..={MAX_RECORDS}")));
        }
        let width = usize::try_from(literal.record_bytes).ok();
        let width = width.filter(|_| (8..=MAX_RECORD_BYTES).contains(&literal.record_bytes));
        match width.filter(|width| width.is_multiple_of(8)) {
            Some(record_bytes) => Ok(Params { literal, record_bytes }),
            None => Err(field("record_bytes", format!("must be a multiple of 8 in 8..={MAX_RECORD_BYTES}"))),
        }
    }

    fn literal(&self) -> &ParamsLiteral {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        let ParamsLiteral { records, record_bytes } = self.literal;
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records,
            record_bytes,
            costs: Costs {
                artifact_bytes: 0,
                keys_bytes: 0,
                query_bytes: self.key_bytes() as u64,
                answer_bytes: record_bytes,
                server_ops: self.table_bytes() * work::READ_BYTE + self.leaves() * LEAF_OPS,
                client_ops: (self.depth() as u64 + 1) * LEAF_OPS + 2 * record_bytes,
                resident_bytes: self.table_bytes(),
                ..Costs::default()
            },
            security: Security {
                bits: 128.0,
                model:
                    "computational, if the two servers do not collude: search for a seed of 128 bits, with \
                        AES-128 as an ideal cipher under keys of the query's own"
                        .into(),
                core_svp: None,
            },
            failure_log2: f64::NEG_INFINITY,
            details: vec![
                ("N", records.to_string()),
                ("B", record_bytes.to_string()),
                ("leaf", format!("{LEAF_RECORDS} records")),
                ("n", self.depth().to_string()),
            ],
        }
    }
}

fn field(field: &'static str, why: String) -> sotto_core::Error {
    ParamsError::Field { field, why }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_core::Params as _;

    #[test]
    fn a_key_grows_by_one_word_whenever_the_table_doubles() {
        let of = |records| Params::check(ParamsLiteral { records, record_bytes: 8 }).unwrap();
        for (records, depth, bytes) in
            [(1, 0, 97), (512, 0, 97), (513, 1, 113), (1024, 1, 113), (1025, 2, 129), (1 << 20, 11, 275)]
        {
            assert_eq!((of(records).depth(), of(records).key_bytes()), (depth, bytes), "{records}");
        }
        assert_eq!(of(MAX_RECORDS).key_bytes(), 16 + 16 + 16 * 31 + 64 + 8);
    }

    #[test]
    fn only_whole_words_up_to_the_limits_are_taken() {
        let bad =
            [(0, 8), (MAX_RECORDS + 1, 8), (1, 0), (1, 7), (1, 12), (1, MAX_RECORD_BYTES + 8), (1, u64::MAX)];
        for (records, record_bytes) in bad {
            assert!(
                Params::check(ParamsLiteral { records, record_bytes }).is_err(),
                "{records} {record_bytes}"
            );
        }
        assert!(
            Params::check(ParamsLiteral { records: MAX_RECORDS, record_bytes: MAX_RECORD_BYTES }).is_ok()
        );
    }
}
