//! Reads a file of changes as rows and their new bytes.
//!
//! A range may cover a part of a block, of which a row holds one value. The table's rule decides on
//! the value as if the rest of the block had the block's old value: the earlier values in the block
//! are not known here.

use super::{ChangeCounts, ChangeFile, UpdateOptions};
use crate::ingest::column_reader::ColumnReader;
use crate::ingest::column_reader::ColumnRequest;
use crate::ingest::error::IngestError;
use crate::ingest::line_reader::Cell;
use crate::ingest::range::{check_apart, read_range};
use crate::ingest::value::lay;
use crate::ingest::{Encoding, IngestProblem, Notes, of_partial_blocks};
use crate::progress::Watcher;
use crate::sidecars::SourceColumns;
use crate::table::ranges::KeyRange;
use crate::table::{BlockRule, RangeTable};
use crate::{DbError, Result};
use sotto_catalog::{Catalog, KeyKind, RowForm, TableKind, ValueKind};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// New bytes of rows, by row number.
pub(super) type RowChanges = BTreeMap<u64, Vec<u8>>;

/// Contents of a file of changes.
#[derive(Default)]
pub(super) struct ChangeSet {
    pub(super) rows: RowChanges,
    pub(super) tally: ChangeCounts,
    pub(super) partial_blocks: u64,
    /// Rule of a range table for blocks that several ranges cover.
    pub(super) rule: BlockRule,
    /// Notes on the file.
    pub(super) notes: Notes,
}

impl ChangeSet {
    /// Counts the changes to the rows of a table.
    fn counted(self, table: &ChangeTarget<'_>) -> Self {
        let added = self.rows.range(table.rows..).count() as u64;
        let set = self.rows.len() as u64 - added;
        ChangeSet { tally: ChangeCounts { set, added, ..ChangeCounts::default() }, rule: table.rule, ..self }
    }

    /// Refuses changes of no row, unless the next epoch is published for its anchor. `path` is the file, or
    /// without one the folder.
    pub(super) fn check(self, path: &Path, options: &UpdateOptions<'_>) -> Result<Self> {
        let why = match self.rule {
            BlockRule::First => "none contains the first key of a block (--block-value first)",
            BlockRule::Most => "none contains most keys of a block (--block-value most)",
        };
        if !self.rows.is_empty() || options.anchor.is_some() {
            return Ok(self);
        }
        let path = path.to_owned();
        match self.partial_blocks {
            0 => Err(DbError::NoChanges(path)),
            blocks => Err(DbError::PartOfBlocks { path, blocks, why }),
        }
    }

    /// Remarks for the owner of the file.
    pub(super) fn remarks(&self) -> Vec<String> {
        let of_blocks = of_partial_blocks(self.partial_blocks, self.rule);
        self.notes.remarks().into_iter().chain(of_blocks).collect()
    }

    /// Adds rows of zero bytes between the end of the existing `rows` and the first new row. In
    /// masked tables these rows are masked too: a row that was never written would not open.
    pub(super) fn fill_gap(&mut self, rows: u64, row_bytes: u64) -> Result<()> {
        let Some((&last, _)) = self.rows.last_key_value() else { return Ok(()) };
        let max_rows = MAX_BYTES / row_bytes.saturating_add(OVERHEAD_BYTES);
        if last.saturating_sub(rows) > max_rows.saturating_sub(self.rows.len() as u64) {
            return Err(DbError::PastCapacity { row: last, capacity: rows.saturating_add(max_rows) });
        }
        for row in rows..last {
            self.rows.entry(row).or_insert_with(|| vec![0; row_bytes as usize]);
        }
        Ok(())
    }
}

/// Approximate memory in bytes of a changed row besides its contents.
pub(super) const OVERHEAD_BYTES: u64 = 64;

pub(super) const MAX_BYTES: u64 = 1 << 30;

/// The table whose rows are changed.
pub(super) struct ChangeTarget<'a> {
    pub(super) kind: &'a TableKind,
    pub(super) value: ValueKind,
    pub(super) form: RowForm,
    /// Whether a value that is shorter than a row is refused.
    pub(super) whole: bool,
    pub(super) rows: u64,
    /// Rule of a range table for blocks that several ranges cover.
    pub(super) rule: BlockRule,
    /// Number of rows that fit into the table.
    pub(super) capacity: u64,
    /// Bytes of a row without its mask.
    pub(super) item_bytes: u64,
}

impl<'a> ChangeTarget<'a> {
    /// A table that was read from a source with these columns, which has `rows` rows and room for
    /// `capacity`.
    pub(super) fn new(
        kind: &'a TableKind,
        catalog: &Catalog,
        origin: Option<&SourceColumns>,
        [rows, capacity]: [u64; 2],
    ) -> Result<Self> {
        Ok(ChangeTarget {
            kind,
            value: catalog.value,
            form: catalog.row_form()?,
            whole: origin.is_some_and(|origin| origin.whole),
            rows,
            rule: origin.and_then(|origin| origin.rule).unwrap_or_default(),
            capacity,
            item_bytes: catalog.unmasked_row_bytes()?,
        })
    }

    /// Converts the value of a cell into a row.
    fn row(&self, encoding: Encoding, cell: &Cell, value: &mut Vec<u8>) -> Result<(), IngestProblem> {
        encoding.read(cell, value)?;
        let width = self.item_bytes as usize;
        if self.whole && value.len() < width {
            return Err(IngestProblem::TooShort { bytes: value.len(), width });
        }
        if self.form == RowForm::Text && value.ends_with(&[0]) {
            return Err(IngestProblem::ZeroByte);
        }
        lay(self.form, value, width)
    }
}

/// A table whose rows change by number, and that does not grow.
#[derive(Debug, Clone, Copy)]
pub struct IndexTable {
    /// Meaning of a row's bytes.
    pub value: ValueKind,
    /// Form of the rows.
    pub form: RowForm,
    /// Number of rows.
    pub rows: u64,
    /// Bytes of each row.
    pub row_bytes: u64,
}

/// Reads a file of changes to rows by number, of a table that does not grow and whose rows have a
/// given form: text before its zero bytes, bytes of one length, or bytes of any length after their
/// length.
///
/// # Errors
/// [`DbError::Ingest`] with line and column; [`DbError::PastCapacity`].
pub fn read_rows(
    path: &Path,
    options: &ChangeFile,
    origin: Option<&SourceColumns>,
    table: IndexTable,
    watch: Watcher<'_>,
) -> Result<BTreeMap<u64, Vec<u8>>> {
    let IndexTable { value, form, rows, row_bytes } = table;
    let whole = value == ValueKind::Bytes && form == RowForm::Whole;
    let (kind, rule) = (&TableKind::Index, BlockRule::default());
    let target = ChangeTarget { kind, value, form, whole, rows, rule, capacity: rows, item_bytes: row_bytes };
    Ok(read(path, options, origin, &target, watch)?.rows)
}

/// Reads a file of changes to the rows of a table.
pub(super) fn read(
    path: &Path,
    options: &ChangeFile,
    origin: Option<&SourceColumns>,
    target: &ChangeTarget<'_>,
    watch: Watcher<'_>,
) -> Result<ChangeSet> {
    let (keys, parts): (_, &[_]) = match (target.kind, options.columns.as_ref().map(Vec::len)) {
        (TableKind::Range { key, block, first, .. }, None | Some(3)) => {
            let keys = RangeKeys { key: *key, block: *block, first: *first, rows: target.rows };
            (Some(keys), &["start", "end", "value"])
        }
        (_, None | Some(2)) => (None, &["row", "value"]),
        _ => {
            let problem = IngestProblem::Options(
                "expected two columns, row and value, or for range tables start, end, value",
            );
            return Err(IngestError::of_file(path, problem).into());
        }
    };
    let request = ColumnRequest { parts, options, origin, is_keyed: false };
    let mut reader = ColumnReader::choosing(path, &options.file, &|first| request.choose(first), watch)?;
    let encoding = options.encoding.unwrap_or(Encoding::for_kind(target.value, target.item_bytes));
    let max_rows = MAX_BYTES / (target.item_bytes + OVERHEAD_BYTES);
    let (mut changes, mut ranges) = (ChangeSet::default(), RangeChanges::default());
    let mut value = Vec::new();
    while let Some(cells) = reader.next()? {
        let place = match (&keys, cells) {
            (Some(keys), [start, end, _]) => {
                let range = read_range(keys.key, keys.first..=keys.last(), start, end);
                range.map(|(start, end)| RowSlot::Keys(start, end))
            }
            (_, [row, _]) => row.unsigned().map(RowSlot::Row).map_err(|problem| (0, problem)),
            _ => break,
        };
        let at = parts.len() - 1;
        let read =
            cells.last().map_or(Err(IngestProblem::Missing), |cell| target.row(encoding, cell, &mut value));
        let place = place.map_err(|(column, problem)| reader.fault(Some(column), problem))?;
        read.map_err(|problem| reader.fault(Some(at), problem))?;
        let row = match place {
            RowSlot::Keys(start, end) => {
                ranges.add(start, end, &value, reader.line());
                if ranges.bytes > MAX_BYTES {
                    return Err(reader.fault(None, TOO_MANY).into());
                }
                continue;
            }
            RowSlot::Row(row) => row,
        };
        // Range tables do not grow: keys past their end have no rows to fill a gap with.
        let capacity = if matches!(target.kind, TableKind::Index) { target.capacity } else { target.rows };
        if row >= capacity {
            return Err(DbError::PastCapacity { row, capacity });
        }
        if changes.rows.insert(row, value.clone()).is_some() {
            return Err(reader.fault(Some(0), IngestProblem::Duplicate { row }).into());
        }
        if changes.rows.len() as u64 > max_rows {
            return Err(reader.fault(None, TOO_MANY).into());
        }
    }
    changes.notes = reader.notes();
    let Some(keys) = keys else { return Ok(changes.counted(target)) };
    ranges.ranges.sort_unstable_by_key(|(range, _)| range.start);
    check_apart(&ranges.ranges)
        .map_err(|(line, other)| reader.fault_at(line, Some(0), IngestProblem::Overlap { other }))?;
    let applied = ranges.apply(&keys, target.rule, max_rows)?;
    let applied = applied.ok_or_else(|| DbError::from(reader.fault_at(0, None, TOO_MANY)))?;
    let read = if changes.rows.is_empty() { ChangeSet { notes: changes.notes, ..applied } } else { changes };
    Ok(read.counted(target))
}

const TOO_MANY: IngestProblem =
    IngestProblem::Options("over 1 GiB of changes: encode the table afresh instead");

/// Row or keys that a line is about.
enum RowSlot {
    Row(u64),
    /// First and last key of a range.
    Keys(u64, u64),
}

/// Converts keys of a range table into rows.
struct RangeKeys {
    key: KeyKind,
    block: u64,
    first: u64,
    rows: u64,
}

impl RangeKeys {
    /// Last key of the table.
    fn last(&self) -> u64 {
        let end = u128::from(self.first) + u128::from(self.rows) * u128::from(self.block);
        (end - 1).min(u128::from(self.key.last())) as u64
    }
}

/// Changed ranges of keys with their new values.
#[derive(Default)]
struct RangeChanges {
    ranges: Vec<(KeyRange, u64)>,
    /// Number of each distinct value; 0 is reserved for keys that do not change.
    numbers: HashMap<Vec<u8>, u32>,
    /// Approximate memory of the changes, in bytes.
    bytes: u64,
}

impl RangeChanges {
    fn add(&mut self, start: u64, end: u64, value: &[u8], line: u64) {
        let next = self.numbers.len() as u32 + 1;
        let number = match self.numbers.get(value) {
            Some(number) => *number,
            None => {
                self.bytes += value.len() as u64 + OVERHEAD_BYTES;
                self.numbers.insert(value.to_vec(), next);
                next
            }
        };
        self.bytes += OVERHEAD_BYTES;
        self.ranges.push((KeyRange { start, end, value: number }, line));
    }

    /// Rows that change according to the table's rule; `None` if there are more than `most`. Ranges
    /// must be ascending and disjoint.
    fn apply(self, keys: &RangeKeys, rule: BlockRule, max_rows: u64) -> Result<Option<ChangeSet>> {
        let ranges: Vec<KeyRange> = self.ranges.into_iter().map(|(range, _)| range).collect();
        let mut values: Vec<(Vec<u8>, u32)> = self.numbers.into_iter().collect();
        values.sort_unstable_by_key(|(_, number)| *number);
        let row_of = |key: u64| (key - keys.first) / keys.block;
        let blocks = ranges.iter().flat_map(|range| row_of(range.start)..=row_of(range.end));
        let (mut changes, mut before) = (ChangeSet::default(), None);
        let RangeKeys { first, block, rows, .. } = *keys;
        let end = keys.last();
        // Values of one byte suffice, since only their numbers are read here.
        let blank = vec![0; values.len() + 1];
        let table = RangeTable::new(ranges.clone(), blank, 1, first, block, rows, rule);
        let table = table?;
        for row in blocks {
            if before.replace(row) == Some(row) {
                continue;
            }
            let first = keys.first + row * keys.block;
            let last = first.saturating_add(keys.block - 1).min(end);
            let at = ranges.partition_point(|range| range.end < first);
            let is_whole = ranges.get(at).is_some_and(|range| range.start <= first && range.end >= last);
            changes.partial_blocks += u64::from(!is_whole);
            let number = table.number_of(row);
            if let Some((value, _)) = number.checked_sub(1).and_then(|at| values.get(at as usize)) {
                if changes.rows.len() as u64 >= max_rows {
                    return Ok(None);
                }
                changes.rows.insert(row, value.clone());
            }
        }
        Ok(Some(changes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_filled_with_zeros_and_not_without_end() {
        let changed = |rows: &[u64]| ChangeSet {
            rows: rows.iter().map(|row| (*row, vec![7; 2])).collect(),
            ..ChangeSet::default()
        };
        let filled = |rows: &[u64], before| {
            let mut changes = changed(rows);
            changes.fill_gap(before, 2).map(|()| changes.rows.into_iter().collect::<Vec<_>>())
        };
        let (old, new) = (vec![7; 2], vec![0; 2]);
        assert_eq!(filled(&[3], 9).unwrap(), [(3, old.clone())]);
        assert_eq!(filled(&[9], 9).unwrap(), [(9, old.clone())]);
        let expected = [(3, old.clone()), (9, new.clone()), (10, old.clone()), (11, new), (12, old)];
        assert_eq!(filled(&[3, 10, 12], 9).unwrap(), expected);
        let far = 9 + MAX_BYTES / (2 + OVERHEAD_BYTES);
        assert!(matches!(filled(&[far], 9), Err(DbError::PastCapacity { row, .. }) if row == far));
    }
}
