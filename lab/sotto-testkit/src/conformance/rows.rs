//! Lookups recover the right rows.

use super::subject::{Case, Fill, MIDDLE, NARROW, Subject, WIDE};
use crate::memory::MemoryImage;
use crate::rng::seeded;
use sotto_core::TableShape;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Counts around the sizes at which layouts change: single rows, and a power of two with its neighbors.
const COUNTS: [u64; 7] = [1, 2, 3, 100, 127, 128, 129];
/// Counts around a larger power of two.
const LARGER_COUNTS: [u64; 3] = [4095, 4096, 4097];

/// Schemes that prepare the packing of whole rings, which takes a second for any number of rows.
/// Their layout changes at thousands of rows, and not around [`COUNTS`]: of each width they get one
/// table, and of the narrowest also that of a single row.
const PACKING: [&str; 5] = ["hintless/1", "inspire/1", "inspire-two/2", "ypir/2", "ypir-sp/2"];

pub(super) fn packs(subject: &Subject) -> bool {
    PACKING.contains(&subject.entry.id.0)
}

/// Rows of one width, from tables of every count.
pub fn come_back(subject: &Subject, row_bytes: u64) {
    let random = |rows| Case { rows, row_bytes, fill: Fill::Random };
    if !packs(subject) {
        return check_all(subject, COUNTS.map(random).to_vec());
    }
    // Most other checks encode these three too.
    let encoded = [NARROW, MIDDLE, WIDE].into_iter().find(|case| case.row_bytes == row_bytes);
    check(subject, encoded.unwrap_or(random(129)));
    if row_bytes == 1 {
        check(subject, random(1));
    }
}

/// Narrow rows, from tables of several thousand.
pub fn come_back_from_larger_tables(subject: &Subject) {
    for (rows, row_bytes) in LARGER_COUNTS.into_iter().zip([1, 2, 7]) {
        check(subject, Case { rows, row_bytes, fill: Fill::Random });
    }
}

/// Tables of one byte value: the extremes of a centered byte, where noise and overflow are worst.
pub fn of_equal_bytes_come_back(subject: &Subject) {
    if packs(subject) {
        // Each byte value has one width where a table takes a second. Other checks encode the first too.
        let cases = [(0x80, 32), (0x00, 255), (0xFF, 4096)];
        return cases.into_iter().for_each(|(byte, row_bytes)| {
            check(subject, Case { rows: 129, row_bytes, fill: Fill::Byte(byte) });
        });
    }
    let mut cases = Vec::new();
    for (i, byte) in [0x00, 0x80, 0xFF].into_iter().enumerate() {
        for (j, row_bytes) in [1, 2, 7, 32, 255, 4096].into_iter().enumerate() {
            // Each width with both counts, but not with each byte.
            let rows = if (i + j).is_multiple_of(2) { 3 } else { 129 };
            cases.push(Case { rows, row_bytes, fill: Fill::Byte(byte) });
        }
    }
    check_all(subject, cases);
}

/// Checks the largest table of each content and parameters. Smaller ones that have both are the same
/// to a scheme, which sees records and not rows.
fn check_all(subject: &Subject, mut cases: Vec<Case>) {
    let params =
        |case: &Case| (subject.entry.select)(&TableShape::new(case.rows, case.row_bytes, 100)).unwrap();
    cases.sort_by_key(|case| Reverse(case.rows * case.row_bytes));
    let mut checked = BTreeSet::new();
    cases.retain(|case| checked.insert((case.fill, params(case))));
    cases.into_iter().for_each(|case| check(subject, case));
}

fn check(subject: &Subject, case: Case) {
    // A table that takes a second is kept for other checks.
    let table = if packs(subject) { subject.table(case) } else { Arc::new(subject.fresh_table(case)) };
    let rng = &mut seeded(&format!("rows {case:?}"));
    let mut client = table.client(rng);
    for row in table.some_rows() {
        table.check_row(client.as_mut(), row, rng);
    }
}

/// Whole records and parts of them, read from an image.
pub fn come_off_an_image(subject: &Subject) {
    for case in [NARROW, MIDDLE, WIDE] {
        let table = subject.table(case);
        let read = subject.entry.server.records;
        let records = read(&table.params, Arc::new(table.image.clone())).unwrap();
        let (count, width) = (records.records(), records.record_bytes());
        assert_eq!((count, width as u64), (table.report.records, table.report.record_bytes));
        for first in table.some_records() {
            let mut some = vec![0; (count - first).min(3) as usize * width];
            records.read(first, &mut some).unwrap();
            assert!(
                some == table.records.bytes()[first as usize * width..][..some.len()],
                "{case:?}: {first}"
            );
            for (offset, len) in [(0, 1), (width / 2, width - width / 2), (width - 1, 1), (0, width)] {
                let mut part = vec![0; len];
                records.read_part(first, offset as u64, &mut part).unwrap();
                assert!(part == table.record(first)[offset..][..len], "{case:?}: {first}, {offset}");
            }
        }
        // As many bytes of several records, in no order, and of one twice.
        let len = width.div_ceil(3);
        let offset = |i: u64| ((width - len) as u64 * i / 2).min((width - len) as u64);
        let parts = [(count - 1, offset(2)), (0, offset(0)), (count / 2, offset(1)), (0, offset(2))];
        let mut read_back = vec![0; parts.len() * len];
        records.read_parts(&parts, &mut read_back).unwrap();
        for ((record, offset), part) in parts.into_iter().zip(read_back.chunks(len)) {
            assert!(part == &table.record(record)[offset as usize..][..len], "{case:?}: {record}, {offset}");
        }
        assert!(records.read_parts(&[(0, 0), (count, 0)], &mut vec![0; 2 * len]).is_err());
        assert!(records.read(count, &mut vec![0; width]).is_err());
        assert!(records.read_part(0, 1, &mut vec![0; width]).is_err());
        let short = Arc::new(MemoryImage::default());
        assert!(read(&table.params, short).is_err());
    }
}
