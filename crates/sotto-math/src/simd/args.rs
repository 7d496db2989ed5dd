//! Arguments of kernels: what the backends and the modules above [`simd`](super) both name.
//!
//! A type that is part of the public interface is re-exported by the module whose functions take
//! it, and has its functions that call kernels there.

pub(crate) mod accumulator;
pub(crate) mod aes;
pub(crate) mod automorphism;
pub(crate) mod gadget;
pub(crate) mod grid;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) mod key_schedule;
pub(crate) mod modulus_pair;
pub(crate) mod ntt;
pub(crate) mod tiles;

/// Rows in a panel of a byte matrix.
pub const PANEL_ROWS: usize = 64;
/// Columns in a group of a byte matrix.
pub const GROUP_COLS: usize = 4;
/// Bytes of one group of columns in one panel.
pub const GROUP_BYTES: usize = PANEL_ROWS * GROUP_COLS;

/// Byte planes of one query for a run of column groups.
#[derive(Clone, Copy)]
pub(crate) struct Planes<'a> {
    /// One word per group and plane, group-major.
    pub(crate) dwords: &'a [u32],
    pub(crate) planes: usize,
}

/// Records that a query's 64 selection bytes cover: 64 blocks of eight.
pub const RUN_RECORDS: usize = 512;

/// The selections of eight queries for 64 blocks: byte `7 - i` of word `k` has query `i`'s bits for
/// block `k`, the lowest bit for the block's first record.
pub type SelectionMatrices = [u64; RUN_RECORDS / 8];

/// The selection of one query, as a distributed point function gives it: 64 bytes for each run of
/// 512 records, to which a word common to all runs is xored where the run's mask says so.
#[derive(Clone, Copy)]
pub struct SelectionShare<'a> {
    /// Selection bytes, before the word is xored.
    pub bytes: &'a [[u8; 64]],
    /// Mask of each run: 0x00 or 0xFF.
    pub masks: &'a [u8],
    /// The word that is xored where the mask is 0xFF.
    pub word: &'a [u8; 64],
}

/// Positions that a kernel tests at once, so that their bits stay in the nearest cache.
pub(crate) const PART: usize = 64 * 64;

/// The values that a search compares with: a word under a mask, and a tag. They may be secret, so
/// that there is no `Debug`.
#[derive(Clone, Copy)]
pub struct Needle {
    /// Words that equal this one in the bits of the mask match.
    pub word: u16,
    /// The bits of words that are compared.
    pub mask: u16,
    /// Positions with this tag match.
    pub tag: u16,
}

/// Largest number of partitions of a window: the bits of a choice.
pub const LANES: usize = 16;

/// The rows of a table, partition after partition.
///
/// The last partitions may lack rows, which count as zeros.
#[derive(Clone, Copy, Debug)]
pub struct PartitionRows<'a> {
    /// The rows, concatenated.
    pub bytes: &'a [u8],
    /// Bytes of a row.
    pub row_bytes: usize,
    /// Rows of a partition: a power of two, at most 2^16.
    pub partition_rows: usize,
}

/// One row of each partition, and its half.
#[derive(Clone, Copy, Debug)]
pub struct RowPicks<'a> {
    /// Number of the row within each partition. Bits above those that number the rows of a
    /// partition are ignored.
    pub offsets: &'a [u16],
    /// Half of each partition, one bit each from the lowest bit of the first byte on.
    pub halves: &'a [u8],
}

impl RowPicks<'_> {
    /// The half of partition `k`: 0 or 1.
    #[inline(always)]
    pub(crate) fn half(&self, k: usize) -> u8 {
        self.halves[k / 8] >> (k % 8) & 1
    }
}

impl PartitionRows<'_> {
    /// The offset in bytes of row `offset` of partition `k`.
    #[inline(always)]
    pub(crate) fn at(&self, k: usize, offset: u16) -> usize {
        (k * self.partition_rows + (usize::from(offset) & (self.partition_rows - 1))) * self.row_bytes
    }
}

/// The offsets of many sets in the partitions of a window.
#[derive(Clone, Copy)]
pub(crate) struct SetOffsets<'a> {
    /// Partitions of the window.
    pub(crate) count: usize,
    /// Rows of a partition.
    pub(crate) rows: usize,
    /// Blocks of eight offsets, partition after partition.
    pub(crate) offsets: &'a [[u8; 16]],
    /// Number of blocks of a partition.
    pub(crate) blocks: usize,
}

impl SetOffsets<'_> {
    /// Position of the row of zeros.
    pub(crate) fn zeros(&self) -> u32 {
        (self.count * self.rows) as u32
    }
}

/// The rows of a window, the last one being the zeros.
#[derive(Clone, Copy)]
pub(crate) struct RowSources<'a> {
    pub(crate) rows: &'a [u8],
    pub(crate) stride: usize,
    pub(crate) lanes: usize,
}

impl RowSources<'_> {
    /// Position of the row of zeros.
    pub(crate) fn zeros(&self) -> u32 {
        (self.rows.len() / self.stride - 1) as u32
    }
}

/// Number of rows that are added to each parity without testing how many there are, by the
/// partitions of the window: all up to eight, and twelve of sixteen.
pub(crate) const ALWAYS: usize = 12;
