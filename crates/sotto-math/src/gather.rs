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
mod tests {
    use super::*;
    use crate::matrix::mix;
    use crate::simd::available;

    /// Byte `b` of a row, or zero where no row is stored: the definition.
    fn byte(rows: &PartitionRows<'_>, partition: usize, offset: u16, b: usize) -> u8 {
        let row = partition * rows.partition_rows + usize::from(offset) % rows.partition_rows;
        rows.bytes.get(row * rows.row_bytes + b).copied().unwrap_or(0)
    }

    /// Compares every backend with the definition, in a table that lacks its last rows.
    fn check(partitions: usize, partition_rows: usize, missing: usize, row_bytes: usize) {
        let len = (partitions * partition_rows).saturating_sub(missing) * row_bytes;
        let bytes: Vec<u8> = (0..len as u64).map(|i| mix(i) as u8).collect();
        let rows = PartitionRows { bytes: &bytes, row_bytes, partition_rows };
        for seed in 0..3 {
            // Whole words, so that bits beyond the rows of a partition are set too.
            let offsets: Vec<u16> = (0..partitions as u64).map(|k| mix(k << 8 | seed) as u16).collect();
            let halves: Vec<u8> =
                (0..partitions.div_ceil(8) as u64).map(|k| mix(k << 9 | seed) as u8).collect();
            let picks = RowPicks { offsets: &offsets, halves: &halves };
            let mut expected = [vec![0u8; row_bytes], vec![0u8; row_bytes]];
            for (k, &offset) in offsets.iter().enumerate() {
                let half = usize::from(halves[k / 8] >> (k % 8) & 1);
                for (b, sum) in expected[half].iter_mut().enumerate() {
                    *sum ^= byte(&rows, k, offset, b);
                }
            }
            for kernels in available() {
                let (mut zero, mut one) = (vec![0xAA; row_bytes], vec![0x55; row_bytes]);
                gather_with(kernels, rows, picks, [&mut zero, &mut one]);
                let shape = (partitions, partition_rows, missing, row_bytes);
                assert_eq!([zero, one], expected, "{shape:?} by {}", kernels.name());
            }
        }
    }

    #[test]
    fn every_width() {
        for row_bytes in (1..=70).chain([95, 96, 100, 127, 128, 129, 191, 256, 300, 511, 513, 1024, 1100]) {
            check(6, 8, 0, row_bytes);
            check(38, 4, 3, row_bytes);
        }
    }

    #[test]
    fn rows_that_are_not_stored_are_zeros() {
        for row_bytes in [1, 7, 8, 16, 32, 33, 64, 200] {
            for missing in [0, 1, 7, 8, 9, 16, 40, 64] {
                check(8, 8, missing, row_bytes);
            }
        }
    }

    #[test]
    fn partitions_of_one_row_and_of_the_most() {
        for row_bytes in [1, 8, 32, 40] {
            check(2, 1, 1, row_bytes);
            check(130, 1, 0, row_bytes);
            check(2, 1 << 16, 5, row_bytes);
        }
    }

    #[test]
    #[cfg(panic = "unwind")]
    fn what_does_not_fit_is_refused() {
        let bytes = [0; 64];
        let refused = |row_bytes: usize, partition_rows: usize, halves: usize, out: usize| {
            std::panic::catch_unwind(move || {
                let rows = PartitionRows { bytes: &bytes, row_bytes, partition_rows };
                let (mut zero, mut one) = (vec![0; out], vec![0; out]);
                let halves = vec![0; halves];
                gather(rows, RowPicks { offsets: &[0; 2], halves: &halves }, [&mut zero, &mut one]);
            })
            .is_err()
        };
        assert!(!refused(16, 2, 1, 16));
        assert!(refused(0, 2, 1, 0));
        assert!(refused(24, 2, 1, 24));
        assert!(refused(16, 3, 1, 16));
        assert!(refused(16, 2, 2, 16));
        assert!(refused(16, 2, 1, 15));
    }
}
