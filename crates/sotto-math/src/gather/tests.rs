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
        let halves: Vec<u8> = (0..partitions.div_ceil(8) as u64).map(|k| mix(k << 9 | seed) as u8).collect();
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
