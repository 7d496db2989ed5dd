//! How a table is cut into records, which are columns of the matrix, and what a lookup is worth by a goal.

use sotto_core::{Goal, Shape, work};

/// How a table is cut into records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Bytes in a record: rows of the matrix.
    pub record_bytes: u64,
    /// How many records: columns of the matrix.
    pub records: u64,
    /// How many of them hold one row; 1 if a record holds whole rows.
    pub lookups: u64,
}

impl Cut {
    /// Records of about this height; `None` if more than `most` of them hold the table.
    pub fn new(shape: &Shape, height: u64, most: u64) -> Option<Self> {
        let cut = if shape.row_bytes <= height {
            let rows_per_record = (height / shape.row_bytes).min(shape.rows);
            let records = shape.rows.div_ceil(rows_per_record);
            Cut { record_bytes: rows_per_record * shape.row_bytes, records, lookups: 1 }
        } else {
            let lookups = shape.row_bytes.div_ceil(height);
            // Evened out, so that the last record of a row is not mostly padding.
            let record_bytes = shape.row_bytes.div_ceil(lookups);
            Cut { record_bytes, records: shape.rows.checked_mul(lookups)?, lookups }
        };
        (cut.records <= most).then_some(cut)
    }

    /// What a record's failure must stay below: a row that is spread over several fails if any of them does.
    pub fn required_failure_log2(&self, shape: &Shape) -> f64 {
        shape.required_failure_log2() - f64::from(self.lookups.next_power_of_two().ilog2())
    }
}

/// Heights worth trying, up to `most` bytes: `unit` times 2^i and 3 * 2^i, and the width of a row.
pub fn heights(unit: u64, most: u64, row_bytes: u64) -> impl Iterator<Item = u64> {
    let steps = (0..).map(move |i| unit << i).take_while(move |height| *height <= most);
    steps.flat_map(|height| [height, height / 2 * 3]).chain([row_bytes]).filter(move |height| *height <= most)
}

/// Nanoseconds of the server and of a link for one record, weighed by a goal: bytes up and down, work, and bytes in a record.
pub fn price(goal: Goal, [up, down]: [u64; 2], server_ops: u64, record_bytes: u64) -> f64 {
    let [up, down] = [up, down].map(|bytes| (bytes * work::SENT_BYTE_NANOSECONDS) as f64);
    let time = server_ops as f64 / work::OPS_PER_NANOSECOND as f64;
    match goal {
        Goal::ServerTime => time + (up + down) / 4.0,
        Goal::QueryBytes => up + (time + down) / 1024.0,
        Goal::TotalBytes => up + down + time / 1024.0,
        Goal::Rate => down / record_bytes as f64 + (time + up) / 1e12,
    }
}
