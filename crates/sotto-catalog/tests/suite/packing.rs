//! Every row of every shape is recovered from the records that a plain layout would write.

use proptest::prelude::*;
use sotto_catalog::Packing;
use sotto_core::{Error, Misuse, Record};

/// Bytes of a row: all non-zero, different for adjacent rows.
fn row(index: u64, width: usize) -> Vec<u8> {
    (0..width as u64).map(|i| (index.wrapping_mul(31).wrapping_add(i) % 255) as u8 + 1).collect()
}

/// Writes all rows through `places`, reads each through `records_of` and `extract`.
fn round_trip(rows: u64, row_bytes: u64, records: u64, record_bytes: u64) {
    let packing = Packing::new(rows, row_bytes, records, record_bytes).unwrap();
    let width = row_bytes as usize;
    let mut table = vec![vec![0; record_bytes as usize]; records as usize];
    let mut written = 0;
    for index in 0..rows {
        let bytes = row(index, width);
        for place in packing.places(index).unwrap() {
            let part = &bytes[place.bytes];
            let at = place.offset as usize;
            let target = &mut table[place.record as usize][at..at + part.len()];
            assert!(target.iter().all(|&b| b == 0), "two rows share a byte");
            target.copy_from_slice(part);
            written += part.len();
        }
    }
    assert_eq!(written as u64, rows * row_bytes);
    for index in 0..rows {
        let asked = packing.records_of(index);
        assert_eq!(asked.len(), packing.records_per_row());
        let got: Vec<_> = asked.iter().map(|r| Record::new(table[r.0 as usize].clone())).collect();
        assert_eq!(packing.extract(index, &got).unwrap(), row(index, width), "row {index}");
    }
}

#[test]
fn rows_as_wide_as_a_record() {
    round_trip(7, 32, 7, 32);
    round_trip(1, 1, 1, 1);
}

#[test]
fn narrow_rows_share_a_record() {
    round_trip(100, 2, 4, 64); // the last record is partly empty
    round_trip(9, 10, 3, 32); // two bytes of each record are unused
    round_trip(1, 3, 1, 4);
}

#[test]
fn wide_rows_span_records() {
    round_trip(5, 64, 10, 32);
    round_trip(5, 65, 15, 32); // the last record of a row is mostly empty
    round_trip(3, 33, 7, 32); // one record is left over
    round_trip(2, 4096, 8192, 1);
}

#[test]
fn capacity_is_the_most_rows_that_fit() {
    for (records, record_bytes, row_bytes, capacity) in
        [(4, 64, 2, 128), (3, 32, 10, 9), (7, 32, 33, 3), (7, 32, 32, 7), (1, 1, 2, 0)]
    {
        assert!(Packing::new(capacity + 1, row_bytes, records, record_bytes).is_err());
        let packing = Packing::new(capacity, row_bytes, records, record_bytes);
        assert_eq!(packing.is_ok(), capacity > 0);
        if let Ok(packing) = packing {
            assert_eq!(packing.capacity(), capacity);
            let fewer = packing.with_rows(1).unwrap();
            assert!(fewer.check(0).is_ok() && fewer.check(1).is_err());
            assert_eq!(
                fewer.records_of(1),
                fewer.records_of(0),
                "a row past the end is asked for as the first"
            );
            assert!(fewer.places(capacity - 1).is_ok(), "but an encoder may append it");
            assert!(fewer.places(capacity).is_err());
        }
    }
}

#[test]
fn sizes_of_zero_are_refused() {
    for (rows, row_bytes, records, record_bytes) in [(0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0)] {
        assert!(matches!(Packing::new(rows, row_bytes, records, record_bytes), Err(Error::Misuse(_))));
    }
}

#[test]
fn extract_refuses_other_records() {
    let packing = Packing::new(10, 4, 3, 16).unwrap();
    let record = |bytes| Record::new(vec![0; bytes]);
    assert!(packing.extract(9, &[record(16)]).is_ok());
    assert!(matches!(
        packing.extract(10, &[record(16)]),
        Err(Error::Misuse(Misuse::IndexPastEnd { index: 10, len: 10 }))
    ));
    assert!(packing.extract(0, &[]).is_err());
    assert!(packing.extract(0, &[record(15)]).is_err());
    assert!(packing.extract(0, &[record(16), record(16)]).is_err());
}

#[test]
fn a_wide_row_fails_more_often_than_a_record() {
    let packing = Packing::new(1, 64, 4, 16).unwrap();
    assert_eq!(packing.failure_log2(-45.0), -43.0);
    let packing = Packing::new(4, 16, 1, 64).unwrap();
    assert_eq!(packing.failure_log2(-45.0), -45.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_row_of_every_shape(row_bytes in 1u64..80, record_bytes in 1u64..80, rows in 1u64..200, spare in 0u64..5) {
        let records = if row_bytes <= record_bytes {
            rows.div_ceil(record_bytes / row_bytes)
        } else {
            rows * row_bytes.div_ceil(record_bytes)
        };
        round_trip(rows, row_bytes, records + spare, record_bytes);
    }

    #[test]
    fn any_sizes_give_a_layout_or_an_error(sizes: [u64; 5], shifts in prop::array::uniform5(0u32..64)) {
        // Shapes of tables that exist nowhere, of every order of magnitude.
        let mut sizes = sizes.into_iter().zip(shifts).map(|(size, shift)| size >> shift);
        let mut next = || sizes.next().unwrap();
        let (rows, row_bytes, records, record_bytes, row) = (next(), next(), next(), next(), next());
        if let Ok(packing) = Packing::new(rows, row_bytes, records, record_bytes)
            && packing.records_per_row() < 1000
        {
            prop_assert!(rows <= packing.capacity());
            let asked = packing.records_of(row);
            prop_assert_eq!(packing.check(row).is_ok(), row < rows);
            prop_assert_eq!(asked.len(), packing.records_per_row());
            prop_assert!(asked.into_iter().all(|record| record.0 < records));
        }
    }
}
