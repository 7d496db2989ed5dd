//! The lookups to record: one for each scheme of the registry.

use sotto_core::{Goal, SchemeEntry};

/// A table, and the row to request.
pub(crate) struct Case {
    /// Name of the table and of the files.
    pub(crate) name: String,
    pub(crate) entry: &'static SchemeEntry,
    pub(crate) rows: u64,
    pub(crate) row_bytes: usize,
    pub(crate) row: u64,
    pub(crate) goal: Goal,
}

/// Rows, bytes of a row, and the goal of parameters. Small, so that hints and answers are small;
/// with more than one level where that takes little.
fn shape(id: &str) -> (u64, usize, Goal) {
    match id {
        "dpf/1" | "dpf/2" => (1500, 8, Goal::ServerTime),
        // Its hint has 12 MiB, and so few different rows where the table has one block.
        "doublepir/1" => (2, 1, Goal::TotalBytes),
        "checklist/1" => (300, 8, Goal::ServerTime),
        _ => (200, 16, Goal::TotalBytes),
    }
}

impl Case {
    /// All cases.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        sotto_registry::SCHEMES.iter().map(|entry| Case::of(entry))
    }

    fn of(entry: &'static SchemeEntry) -> Self {
        let (rows, row_bytes, goal) = shape(entry.id.0);
        Case { name: entry.id.0.replace('/', "-"), entry, rows, row_bytes, row: rows * 7 / 10, goal }
    }

    /// A description of the case in a line.
    pub(crate) fn about(&self) -> String {
        format!("row {} of a table of {} rows of {} bytes", self.row, self.rows, self.row_bytes)
    }

    /// The rows, one after the other: byte i is the top byte of i times 2654435761 modulo 2^32.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let bytes = self.rows as usize * self.row_bytes;
        (0..bytes as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
    }

    /// The bytes of the requested row.
    pub(crate) fn value(&self) -> Vec<u8> {
        self.bytes().into_iter().skip(self.row as usize * self.row_bytes).take(self.row_bytes).collect()
    }
}
