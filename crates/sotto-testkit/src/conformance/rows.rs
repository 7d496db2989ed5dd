//! Rows come back.

use super::subject::{Case, Fill, Subject};
use crate::rng::seeded;

/// Counts around the sizes at which layouts change: single rows, and a power of two with its neighbours.
const COUNTS: [u64; 7] = [1, 2, 3, 100, 127, 128, 129];
/// The same around a larger power of two.
const LARGER_COUNTS: [u64; 3] = [4095, 4096, 4097];

/// Rows of one width, from tables of every count.
pub fn come_back(subject: &Subject, row_bytes: u64) {
    for rows in COUNTS {
        check(subject, Case { rows, row_bytes, fill: Fill::Random });
    }
}

/// Narrow rows, from tables of several thousand.
pub fn come_back_from_larger_tables(subject: &Subject) {
    for rows in LARGER_COUNTS {
        for row_bytes in [1, 2, 7] {
            check(subject, Case { rows, row_bytes, fill: Fill::Random });
        }
    }
}

/// Tables of one byte value: the extremes of a centred byte, where noise and overflow are worst.
pub fn of_equal_bytes_come_back(subject: &Subject) {
    for byte in [0x00, 0x80, 0xFF] {
        for row_bytes in [1, 2, 7, 32, 255, 4096] {
            for rows in [3, 129] {
                check(subject, Case { rows, row_bytes, fill: Fill::Byte(byte) });
            }
        }
    }
}

fn check(subject: &Subject, case: Case) {
    let table = subject.fresh_table(case);
    let rng = &mut seeded(&format!("rows {case:?}"));
    let mut client = table.client(rng);
    for row in table.some_rows() {
        table.check_row(client.as_mut(), row, rng);
    }
}
