//! Two parities of one row of each partition of a table.
//!
//! A table is divided into partitions of equally many rows. For every partition one row is named,
//! and a bit assigns it to one of two halves; the rows of each half are xored. This is a server's
//! whole work for a query of S3PIR, and it is bound by the latency of memory: every row is on
//! another page. So rows are prefetched well before their use, and the kernels keep the sum of all
//! rows and that of one half, since choosing between two sums would be a branch that cannot be
//! predicted.

use crate::simd::{self, Kernels};

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

/// Xors the named rows of half 0, and those of half 1, each to a parity.
///
/// # Panics
/// If `rows` is not whole rows of at least one byte, partitions are not of a power of two up to
/// 2^16 rows, there are not as many bits as offsets (up to a whole byte), or a parity is not as
/// long as a row.
pub fn gather(rows: PartitionRows<'_>, picks: RowPicks<'_>, parities: [&mut [u8]; 2]) {
    gather_with(simd::kernels(), rows, picks, parities);
}

pub(crate) fn gather_with(
    kernels: &dyn Kernels,
    rows: PartitionRows<'_>,
    picks: RowPicks<'_>,
    [zero, one]: [&mut [u8]; 2],
) {
    assert!(rows.row_bytes > 0 && rows.bytes.len().is_multiple_of(rows.row_bytes), "whole rows");
    assert!(rows.partition_rows.is_power_of_two() && rows.partition_rows <= 1 << 16, "a power of two");
    assert_eq!(picks.halves.len(), picks.offsets.len().div_ceil(8), "a bit for each partition");
    assert!(zero.len() == rows.row_bytes && one.len() == rows.row_bytes, "parities of a row's size");
    kernels.gather(rows, picks, [zero, one]);
    for (zero, one) in zero.iter_mut().zip(one) {
        *zero ^= *one;
    }
}

#[cfg(test)]
mod tests;
