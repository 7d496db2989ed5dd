//! A file of changes as rows and their new bytes.

use super::columns::Wanted;
use super::{ChangeFile, Tally};
use crate::ingest::error::IngestError;
use crate::ingest::range::read_key;
use crate::ingest::reader::{Cell, Reader};
use crate::ingest::value::lay;
use crate::ingest::{Encoding, Problem};
use crate::origin::Origin;
use crate::progress::Watcher;
use crate::{DbError, Result};
use sotto_catalog::{KeyKind, RowForm, TableKind, ValueKind};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;

/// New bytes of rows.
pub(super) type Rows = BTreeMap<u64, Vec<u8>>;

/// What a file of changes says.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) rows: Rows,
    pub(super) partial_blocks: u64,
}

impl Changes {
    /// What becomes of a table that had so many rows.
    pub(super) fn tally(&self, rows: u64) -> Tally {
        let added = self.rows.range(rows..).count() as u64;
        Tally { set: self.rows.len() as u64 - added, added, ..Tally::default() }
    }

    /// Rows of zero bytes between the last of `rows` that were there and the first that is new. Where rows are masked these are
    /// masked too: one that nobody wrote would not open.
    pub(super) fn fill_gap(&mut self, rows: u64, row_bytes: u64) -> Result<()> {
        let Some((&last, _)) = self.rows.last_key_value() else { return Ok(()) };
        let most = MOST_BYTES / row_bytes.saturating_add(OVERHEAD_BYTES);
        if last.saturating_sub(rows) > most.saturating_sub(self.rows.len() as u64) {
            return Err(DbError::PastCapacity { row: last, capacity: rows.saturating_add(most) });
        }
        for row in rows..last {
            self.rows.entry(row).or_insert_with(|| vec![0; row_bytes as usize]);
        }
        Ok(())
    }
}

/// About what a changed row costs besides its bytes.
pub(super) const OVERHEAD_BYTES: u64 = 64;

pub(super) const MOST_BYTES: u64 = 1 << 30;

/// The rows that are changed.
pub(super) struct Target<'a> {
    pub(super) kind: &'a TableKind,
    pub(super) value: ValueKind,
    pub(super) form: RowForm,
    /// Whether a value that is shorter than a row is none.
    pub(super) whole: bool,
    pub(super) rows: u64,
    /// Rows that there is a place for.
    pub(super) capacity: u64,
    /// Bytes of a row, without what masks it.
    pub(super) item_bytes: u64,
}

impl Target<'_> {
    /// A row with the value of a cell.
    fn row(&self, encoding: Encoding, cell: &Cell, value: &mut Vec<u8>) -> Result<(), Problem> {
        encoding.read(cell, value)?;
        let width = self.item_bytes as usize;
        if self.whole && value.len() < width {
            return Err(Problem::TooShort { bytes: value.len(), width });
        }
        if self.form == RowForm::Text && value.ends_with(&[0]) {
            return Err(Problem::ZeroByte);
        }
        lay(self.form, value, width)
    }
}

/// Reads a file of changes to rows by number, of a table that does not grow and whose rows are values in a form: text before its
/// zero bytes, bytes of one length, or any behind their length.
///
/// # Errors
/// [`DbError::Ingest`] with line and column; [`DbError::PastCapacity`].
pub fn read_rows(
    path: &Path,
    options: &ChangeFile,
    origin: Option<&Origin>,
    (value, form): (ValueKind, RowForm),
    (rows, row_bytes): (u64, u64),
    watch: Watcher<'_>,
) -> Result<BTreeMap<u64, Vec<u8>>> {
    let whole = value == ValueKind::Bytes && form == RowForm::Whole;
    let kind = &TableKind::Index;
    let target = Target { kind, value, form, whole, rows, capacity: rows, item_bytes: row_bytes };
    Ok(read(path, options, origin, &target, watch)?.rows)
}

/// Reads a file of changes to rows.
pub(super) fn read(
    path: &Path,
    options: &ChangeFile,
    origin: Option<&Origin>,
    target: &Target<'_>,
    watch: Watcher<'_>,
) -> Result<Changes> {
    let (keys, parts): (_, &[_]) = match (target.kind, options.columns.as_ref().map(Vec::len)) {
        (TableKind::Range { key, block, first, .. }, None | Some(3)) => {
            let keys = Keys { key: *key, block: *block, first: *first, rows: target.rows };
            (Some(keys), &["start", "end", "value"])
        }
        (_, None | Some(2)) => (None, &["row", "value"]),
        _ => {
            let problem =
                Problem::Options("two columns, row and value; or for range tables start, end, value");
            return Err(IngestError::of_file(path, problem).into());
        }
    };
    let wanted = Wanted { parts, options, origin, is_keyed: false };
    let mut reader = Reader::choosing(path, &options.file, &|first| wanted.choose(first), watch)?;
    let encoding = options.encoding.unwrap_or(Encoding::for_kind(target.value, target.item_bytes));
    let most = MOST_BYTES / (target.item_bytes + OVERHEAD_BYTES);
    let mut changes = Changes::default();
    let mut value = Vec::new();
    while let Some(cells) = reader.next()? {
        let place = match (&keys, cells) {
            (Some(keys), [start, end, _]) => keys.rows_of(start, end),
            (_, [row, _]) => row.unsigned().map(|row| (row..=row, 0)).map_err(|problem| (0, problem)),
            _ => break,
        };
        let at = parts.len() - 1;
        let read = cells.last().map_or(Err(Problem::Missing), |cell| target.row(encoding, cell, &mut value));
        let (rows, partial) = place.map_err(|(column, problem)| reader.fault(Some(column), problem))?;
        read.map_err(|problem| reader.fault(Some(at), problem))?;
        changes.partial_blocks += partial;
        // Range tables do not grow: the keys past their end have no rows to fill a gap with.
        let capacity = if matches!(target.kind, TableKind::Index) { target.capacity } else { target.rows };
        if !rows.is_empty() && *rows.end() >= capacity {
            return Err(DbError::PastCapacity { row: *rows.end(), capacity });
        }
        for row in rows {
            if changes.rows.insert(row, value.clone()).is_some() {
                return Err(reader.fault(Some(0), Problem::Duplicate { row }).into());
            }
            if changes.rows.len() as u64 > most {
                let problem = Problem::Options("over 1 GiB of changes: encode the table afresh instead");
                return Err(reader.fault(None, problem).into());
            }
        }
    }
    Ok(changes)
}

/// How keys become rows.
struct Keys {
    key: KeyKind,
    block: u64,
    first: u64,
    rows: u64,
}

impl Keys {
    /// The rows whose first key lies in the range, and how many blocks it covers in part.
    fn rows_of(&self, start: &Cell, end: &Cell) -> Result<(RangeInclusive<u64>, u64), (usize, Problem)> {
        let last = (u128::from(self.first) + u128::from(self.rows) * u128::from(self.block) - 1)
            .min(u128::from(self.key.last())) as u64;
        let key = |column, cell| {
            let key = read_key(self.key, cell).map_err(|problem| (column, problem))?;
            let offset = key.checked_sub(self.first).filter(|_| key <= last);
            offset.ok_or((column, Problem::OutsideKeys { first: self.first, last }))
        };
        let (start, end) = (key(0, start)?, key(1, end)?);
        if start > end {
            return Err((1, Problem::Backwards));
        }
        let (first_block, last_block) = (start / self.block, end / self.block);
        let cut_left = !start.is_multiple_of(self.block);
        let cut_right = self.first + end != last && !(end + 1).is_multiple_of(self.block);
        let partial = match (cut_left, cut_right) {
            (true, true) if first_block != last_block => 2,
            (false, false) => 0,
            _ => 1,
        };
        #[allow(
            clippy::reversed_empty_ranges,
            reason = "a range that holds no block's first key has no rows"
        )]
        let rows = match first_block + u64::from(cut_left) {
            from if from <= last_block => from..=last_block,
            _ => 1..=0,
        };
        Ok((rows, partial))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_filled_with_zeros_and_not_without_end() {
        let changed = |rows: &[u64]| Changes {
            rows: rows.iter().map(|row| (*row, vec![7; 2])).collect(),
            partial_blocks: 0,
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
        let far = 9 + MOST_BYTES / (2 + OVERHEAD_BYTES);
        assert!(matches!(filled(&[far], 9), Err(DbError::PastCapacity { row, .. }) if row == far));
    }
}
