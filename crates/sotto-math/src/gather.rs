//! Two parities of one row of each partition of a table.
//!
//! A table is divided into partitions of equally many rows. For every partition one row is named,
//! and a bit assigns it to one of two halves; the rows of each half are xored. This is a server's
//! whole work for a query of S3PIR, and it is bound by the latency of memory: every row is on
//! another page. So rows are prefetched well before their use, and the kernels keep the sum of all
//! rows and that of one half, since choosing between two sums would be a branch that cannot be
//! predicted.

pub use crate::simd::args::{PartitionRows, RowPicks};
use crate::simd::{self, Kernels};

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
