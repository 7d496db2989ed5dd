//! Parameters: the number of records and their width. Everything else follows.

use serde::{Deserialize, Serialize};
use sotto_core::{Costs, ParamsDigest, ParamsError, ParamsReport, Result, Security, TableShape, work};

/// Maximum number of records: with this many a key is still under 700 bytes.
pub const MAX_RECORDS: u64 = 1 << 40;

/// Maximum bytes of a record. Wider rows are spread over several records, each of which costs a
/// pass over the table.
pub const MAX_RECORD_BYTES: u64 = 1 << 20;

/// Bytes of a node.
pub const NODE_BYTES: usize = 32;

/// Maximum number of nodes in a record. Those of the last level are stored once for 2^11 records,
/// fewer than one step selects from.
pub const MAX_PATH: u32 = 12;

/// Records whose bits are one leaf of the tree.
pub const LEAF_RECORDS: u64 = 512;

/// Operations for growing a leaf of the tree, and the nodes above: four blocks of bits, one of
/// control and one for the nodes.
const LEAF_OPS: u64 = 6 * work::AES_BLOCK;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Number of records, N.
    pub records: u64,
    /// Bytes in a record, B: a multiple of 8.
    pub record_bytes: u64,
    /// Number of nodes of 32 bytes at the end of each record: node l is the same in all records
    /// whose numbers agree except for their l lowest bits, and is stored once for them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub path: u32,
}

fn is_zero(path: &u32) -> bool {
    *path == 0
}

/// A table with a piece of each record, stored once for all records whose numbers agree except for
/// some low bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubTable {
    /// Number of those low bits.
    pub shift: u32,
    /// The first byte of a record that the table has.
    pub start: usize,
    /// Number of the record's bytes.
    pub width: usize,
    /// Offset in the image.
    pub at: u64,
    /// Number of pieces.
    pub items: u64,
}

impl SubTable {
    /// Bytes of eight pieces in bit slices.
    pub fn block_bytes(&self) -> usize {
        8 * self.width
    }

    /// Bytes of the whole sub-table, in whole blocks.
    pub fn bytes(&self) -> u64 {
        self.items.next_multiple_of(8) * self.width as u64
    }
}

/// Checked parameters.
#[derive(Debug, Clone)]
pub struct Params {
    literal: ParamsLiteral,
    record_bytes: usize,
    layers: Vec<SubTable>,
}

/// The layers of valid parameters.
fn layers(literal: &ParamsLiteral, record_bytes: usize) -> Vec<SubTable> {
    // The first node belongs to one record alone.
    let shared = literal.path.saturating_sub(1);
    let width = record_bytes - NODE_BYTES * shared as usize;
    let mut layers = vec![SubTable { shift: 0, start: 0, width, at: 0, items: literal.records }];
    for shift in 1..=shared {
        let (start, at) =
            layers.last().map_or((0, 0), |last| (last.start + last.width, last.at + last.bytes()));
        let items = literal.records.div_ceil(1 << shift);
        layers.push(SubTable { shift, start, width: NODE_BYTES, at, items });
    }
    layers
}

impl Params {
    /// Number of records, N.
    pub fn records(&self) -> u64 {
        self.literal.records
    }
    /// Bytes of a record, B.
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
    /// The tables at the server: records without shared nodes, and then the shared nodes, level by
    /// level.
    pub fn layers(&self) -> &[SubTable] {
        &self.layers
    }
    /// Bytes of the table at the server.
    pub fn table_bytes(&self) -> u64 {
        self.layers.iter().map(SubTable::bytes).sum()
    }
    /// Bytes of a key: salt, root, one word for each level and one for the leaves, and the control
    /// bits.
    pub fn key_bytes(&self) -> usize {
        16 + 16 + 16 * self.depth() + 64 + (1 + 2 * self.depth()).div_ceil(8)
    }
}

impl sotto_core::Params for Params {
    type Literal = ParamsLiteral;

    fn select(shape: &TableShape) -> Result<ParamsLiteral> {
        crate::select::select(shape)
    }

    fn check(literal: ParamsLiteral) -> Result<Self> {
        if !(1..=MAX_RECORDS).contains(&literal.records) {
            return Err(field("records", format!("must lie in 1..={MAX_RECORDS}")));
        }
        let width = usize::try_from(literal.record_bytes).ok();
        let width = width.filter(|_| (8..=MAX_RECORD_BYTES).contains(&literal.record_bytes));
        if literal.path > MAX_PATH || u64::from(literal.path) * NODE_BYTES as u64 >= literal.record_bytes {
            return Err(field(
                "path",
                format!("must be nodes of a record beside others, {MAX_PATH} at most"),
            ));
        }
        match width.filter(|width| width.is_multiple_of(8)) {
            Some(record_bytes) => {
                let layers = layers(&literal, record_bytes);
                Ok(Params { literal, record_bytes, layers })
            }
            None => Err(field("record_bytes", format!("must be a multiple of 8 in 8..={MAX_RECORD_BYTES}"))),
        }
    }

    fn literal(&self) -> &ParamsLiteral {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        let ParamsLiteral { records, record_bytes, path } = self.literal;
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records,
            record_bytes,
            costs: Costs {
                artifact_bytes: 0,
                keys_bytes: 0,
                query_bytes: self.key_bytes() as u64,
                answer_bytes: record_bytes,
                server_ops: self.table_bytes() * byte_ops(record_bytes) + self.leaves() * LEAF_OPS,
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
            details: sotto_core::report_details(|| {
                [
                    ("N", records.to_string()),
                    ("B", record_bytes.to_string()),
                    ("leaf", format!("{LEAF_RECORDS} records")),
                    ("n", self.depth().to_string()),
                ]
                .into_iter()
                .chain(
                    (path > 0).then(|| ("path", format!("{path} nodes, kept once for all that share them"))),
                )
                .collect()
            }),
        }
    }
}

/// Operations for a byte of records of this width. Sums of records of more than 1 KiB leave the
/// innermost cache before the next record comes, and from 4 KiB on none of them is there: measured,
/// 36, 66 and 92 picoseconds a byte at 1, 2 and 4 KiB and more.
fn byte_ops(record_bytes: u64) -> u64 {
    match record_bytes {
        0..=1024 => work::READ_BYTE,
        1025..=2048 => work::READ_BYTE * 9 / 5,
        _ => work::READ_BYTE * 5 / 2,
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
        let of = |records| Params::check(ParamsLiteral { records, record_bytes: 8, path: 0 }).unwrap();
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
                Params::check(ParamsLiteral { records, record_bytes, path: 0 }).is_err(),
                "{records} {record_bytes}"
            );
        }
        assert!(
            Params::check(ParamsLiteral { records: MAX_RECORDS, record_bytes: MAX_RECORD_BYTES, path: 0 })
                .is_ok()
        );
    }

    #[test]
    fn nodes_lie_behind_the_row_and_are_kept_once() {
        let of = |records, record_bytes, path| Params::check(ParamsLiteral { records, record_bytes, path });
        let params = of(1000, 256 + 3 * 32, 3).unwrap();
        let layers = params.layers();
        let found: Vec<_> = layers.iter().map(|l| (l.shift, l.start, l.width, l.at, l.items)).collect();
        let first = 1000 * 288;
        assert_eq!(
            found,
            [(0, 0, 288, 0, 1000), (1, 288, 32, first, 500), (2, 320, 32, first + 504 * 32, 250)]
        );
        assert_eq!(params.table_bytes(), first + 504 * 32 + 256 * 32);
        assert!(of(1000, 64, 2).is_err() && of(1000, 1024, MAX_PATH + 1).is_err());
        assert!(of(1000, 32 * 13, 12).is_ok() && of(1, 40, 1).is_ok());
    }
}
