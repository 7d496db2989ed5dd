//! Sizes of the batch code of a stack, for a scheme.
//!
//! For a few rows at once the cheapest code is mostly none: each is a lookup in the whole table. A
//! scheme that fetches a row of each bucket with one query shares in that query what does not depend
//! on the row, such as keys. For it a copy of the table for each row may take fewer bytes, since each
//! copy is a bucket. It reads the same number of rows, and takes the memory of all copies.

use sotto_core::{Costs, Result, SchemeEntry, TableShape};
use sotto_layers::batch_code::code::CodeSizes;

/// Maximum bytes that a server keeps resident for copies of one table.
const MAX_COPIED_BYTES: u64 = 1 << 29;

/// The sizes of the code that a new stack has for `items` rows at once, of a table of this shape.
///
/// # Errors
/// The errors of [`CodeSizes::fit`].
pub fn code_sizes(entry: &SchemeEntry, table: &TableShape, items: usize) -> Result<CodeSizes> {
    let sizes = CodeSizes::fit(table.rows, items)?;
    if entry.batch.is_none() || sizes.copies > 0 {
        return Ok(sizes);
    }
    let copies = sizes.copied().filter(|copies| is_cheaper(entry, table, copies));
    Ok(copies.unwrap_or(sizes))
}

/// Whether copies save a quarter of the bytes of a request, with its share of what is fetched once, and
/// do not take too much memory.
fn is_cheaper(entry: &SchemeEntry, table: &TableShape, copies: &CodeSizes) -> bool {
    let costs = |shape: TableShape| -> Option<Costs> {
        Some((entry.report)(&(entry.select)(&shape).ok()?).ok()?.costs)
    };
    let (items, lookups) = (copies.items as u64, table.lookups_per_client.max(1));
    let bytes = |costs: &Costs, queries: u64| {
        let each = costs.query_bytes.saturating_add(costs.answer_bytes);
        each.saturating_mul(queries).saturating_add(costs.artifact_bytes / lookups)
    };
    let one = TableShape { lookups_per_request: items, buckets: 1, ..table.clone() };
    let rows = copies.bucket_rows().saturating_mul(items);
    let all = TableShape { rows, lookups_per_request: 1, buckets: items, ..table.clone() };
    costs(one).zip(costs(all)).is_some_and(|(one, all)| {
        let saves = bytes(&all, 1) <= bytes(&one, items) / 4 * 3;
        saves && all.resident_bytes <= MAX_COPIED_BYTES
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_core::Goal;

    fn sizes(entry: &SchemeEntry, rows: u64, row_bytes: u64, items: usize) -> CodeSizes {
        let goal = Goal::TotalBytes;
        let shape = TableShape { goal, ..TableShape::new(rows, row_bytes, 1000) };
        code_sizes(entry, &shape, items).unwrap()
    }

    #[test]
    fn small_tables_are_copied_for_schemes_that_share_keys() {
        let copied = |entry, rows, row_bytes, items| {
            let CodeSizes { copies, buckets, spare, .. } = sizes(entry, rows, row_bytes, items);
            assert!(
                (copies, buckets, spare) == (items, 1, 0) || spare == items,
                "{copies} {buckets} {spare}"
            );
            copies > 0
        };
        assert!(copied(&ypir_sp::ENTRY, 1 << 11, 4096, 5));
        // Two lookups take few bytes, with several records in a column.
        assert!(!copied(&ypir_sp::ENTRY, 1 << 11, 4096, 2));
        for items in [2, 5] {
            // Most of its bytes are the vector and the answer, and copies would take gigabytes.
            assert!(!copied(&ypir_sp::ENTRY, 1 << 15, 32768, items));
            // A query for each table would share nothing.
            assert!(!copied(&simplepir::ENTRY, 1 << 11, 4096, items));
        }
        assert!(!copied(&ypir_sp::ENTRY, 1 << 11, 4096, 1));
        assert_eq!(sizes(&ypir_sp::ENTRY, 1 << 11, 4096, 16), CodeSizes::fit(1 << 11, 16).unwrap());
    }

    #[test]
    fn copies_never_fail() {
        for items in 2..=8 {
            let copies = CodeSizes::fit(1000, items).unwrap().copied().unwrap();
            copies.check().unwrap();
            assert_eq!((copies.failure_log2(), copies.lookups()), (f64::NEG_INFINITY, items));
        }
        assert_eq!([1, 9].map(|items| CodeSizes::fit(1000, items).unwrap().copied()), [None, None]);
    }
}
