//! Parameters as a catalog states them: the number of records and their width. Everything
//! else follows.

use serde::{Deserialize, Serialize};
use sotto_core::{Costs, work};

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

impl ParamsLiteral {
    /// Whether a record has its nodes and at least one byte beside them.
    pub(crate) fn holds_path(&self) -> bool {
        self.path <= MAX_PATH && self.record_bytes > u64::from(self.path) * NODE_BYTES as u64
    }

    /// Leaves of the tree that stand for records.
    pub fn leaves(&self) -> u64 {
        self.records.div_ceil(LEAF_RECORDS)
    }

    /// Levels of the tree between root and leaves, n.
    pub fn depth(&self) -> usize {
        self.leaves().next_power_of_two().ilog2() as usize
    }

    /// Bytes of a key: salt, root, one word for each level and one for the leaves, and the control
    /// bits.
    pub fn key_bytes(&self) -> usize {
        16 + 16 + 16 * self.depth() + 64 + (1 + 2 * self.depth()).div_ceil(8)
    }

    /// The tables at the server, of records that hold their path.
    pub(crate) fn layers(&self) -> Vec<SubTable> {
        // The first node belongs to one record alone.
        let shared = self.path.saturating_sub(1);
        let width = self.record_bytes as usize - NODE_BYTES * shared as usize;
        let mut layers = vec![SubTable { shift: 0, start: 0, width, at: 0, items: self.records }];
        for shift in 1..=shared {
            let (start, at) =
                layers.last().map_or((0, 0), |last| (last.start + last.width, last.at + last.bytes()));
            let items = self.records.div_ceil(1 << shift);
            layers.push(SubTable { shift, start, width: NODE_BYTES, at, items });
        }
        layers
    }

    /// The costs of a lookup. Operations saturate: 2^40 records of 1 MiB cost more than 2^64.
    pub(crate) fn costs(&self) -> Costs {
        let table_bytes: u64 = self.layers().iter().map(SubTable::bytes).sum();
        Costs {
            query_bytes: self.key_bytes() as u64,
            answer_bytes: self.record_bytes,
            server_ops: table_bytes
                .saturating_mul(byte_ops(self.record_bytes))
                .saturating_add(self.leaves() * LEAF_OPS),
            client_ops: (self.depth() as u64 + 1) * LEAF_OPS + 2 * self.record_bytes,
            resident_bytes: table_bytes,
            ..Costs::default()
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
