//! Reads a file of changed and removed keys, and converts it into rows and their new bytes.

use super::changes::{ChangeSet, MAX_BYTES, OVERHEAD_BYTES, RowChanges};
use super::{ChangeCounts, ChangeFile};
use crate::ingest::column_reader::ColumnReader;
use crate::ingest::column_reader::ColumnRequest;
use crate::ingest::error::{ColumnName, IngestError, LineUnit};
use crate::ingest::line_reader::Cell;
use crate::ingest::pairs::KeyReader;
use crate::ingest::{Encoding, IngestProblem, Notes};
use crate::progress::Watcher;
use crate::sidecars::SourceColumns;
use crate::table::{RawFile, TableSource};
use crate::{DbError, Result};
use sotto_catalog::ValueKind;
use sotto_layers::Keyword;
use sotto_layers::keyword::{EditError, KeyForm, TableEdit};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Line of a key in a changes file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyLine {
    /// Number of the line.
    pub line: u64,
    /// New value of the key; `None` if the key is removed.
    pub value: Option<Vec<u8>>,
}

/// Properties of a keyword table that a reader of changes needs.
#[derive(Debug, Clone, Copy)]
pub struct KeyedTable {
    /// Form of the keys.
    pub form: KeyForm,
    /// Largest length of a key in bytes.
    pub key_bytes: u32,
    /// Kind of the values; `None` for a table of keys alone.
    pub value: Option<ValueKind>,
    /// Largest length of a value in bytes.
    pub value_bytes: u64,
}

/// Contents of a file of changed keys.
pub struct KeyLines {
    /// Line of every key; keys are in their form.
    pub lines: BTreeMap<Vec<u8>, KeyLine>,
    /// Notes on the file.
    pub notes: Notes,
    path: PathBuf,
    unit: LineUnit,
    names: Vec<ColumnName>,
}

impl KeyLines {
    /// Error in a line of the file; `column` 0 is the column of keys.
    pub fn fault(&self, line: u64, column: usize, problem: IngestProblem) -> DbError {
        let column = self.names.get(column).cloned();
        let of_file = IngestError::of_file(&self.path, problem);
        IngestError { line, unit: self.unit, column, ..of_file }.into()
    }
}

/// Reads a file of changes, and applies it to the old rows. Returns the keyword layer of the table
/// with the new rows.
pub(super) fn read(
    path: &Path,
    options: &ChangeFile,
    origin: Option<&SourceColumns>,
    value_kind: ValueKind,
    keyword: &Keyword,
    stored: &RawFile,
    watch: Watcher<'_>,
) -> Result<(ChangeSet, Keyword)> {
    let params = keyword.params();
    let value_bytes = params.values.most();
    let keyed = KeyedTable {
        form: params.form,
        key_bytes: params.key_bytes,
        value: (value_bytes > 0).then_some(value_kind),
        value_bytes: value_bytes.into(),
    };
    let read = read_keys(path, options, origin, keyed, watch)?;
    let fault = |line, column, problem| read.fault(line, column, problem);
    let (rows, tally, keyword) = apply(&read.lines, keyword, stored, fault)?;
    Ok((ChangeSet { rows, tally, notes: read.notes, ..ChangeSet::default() }, keyword))
}

/// Reads a file of changed and removed keys.
///
/// # Errors
/// [`DbError::Ingest`] with line and column.
pub fn read_keys(
    path: &Path,
    options: &ChangeFile,
    origin: Option<&SourceColumns>,
    keyed: KeyedTable,
    watch: Watcher<'_>,
) -> Result<KeyLines> {
    let parts: &[_] = if keyed.value.is_none() { &["key"] } else { &["key", "value"] };
    if options.columns.as_ref().is_some_and(|columns| columns.len() != parts.len()) {
        let why = match keyed.value {
            None => "the table has keys only: give the column of keys, and no column of values",
            Some(_) => "expected two columns, key and value",
        };
        return Err(IngestError::of_file(path, IngestProblem::Options(why)).into());
    }
    let request = ColumnRequest { parts, options, origin, is_keyed: true };
    let mut reader = ColumnReader::choosing(path, &options.file, &|first| request.choose(first), watch)?;
    let default = Encoding::for_kind(keyed.value.unwrap_or_default(), keyed.value_bytes);
    let encoding = options.encoding.unwrap_or(default);
    let mut lines: BTreeMap<Vec<u8>, KeyLine> = BTreeMap::new();
    let (mut value, mut held, mut keys) = (Vec::new(), 0, KeyReader::new(keyed.form));
    while let Some(cells) = reader.next()? {
        let (of_key, rest) = cells.split_first().unwrap_or((&Cell::Missing, &[]));
        let read = read_line(of_key, rest, parts.len() == 2, &mut keys, encoding, &mut value);
        let (key, goes) = read.map_err(|(column, problem)| reader.fault(Some(column), problem))?;
        let max = u64::from(keyed.key_bytes);
        if key.len() as u64 > max {
            let problem = IngestProblem::LongKey { bytes: key.len() as u64, limit: max };
            return Err(reader.fault(Some(0), problem).into());
        }
        held += key.len() as u64 + value.len() as u64 + OVERHEAD_BYTES;
        if held > MAX_BYTES {
            let problem = IngestProblem::Options("over 1 GiB of changes: encode the table afresh instead");
            return Err(reader.fault(None, problem).into());
        }
        let line = KeyLine { line: reader.line(), value: (!goes).then(|| value.clone()) };
        let is_set = keyed.value.is_none();
        let other = lines.insert(key, line.clone());
        // In a set, a repeated line changes nothing.
        if let Some(other) = other.filter(|other| !is_set || other.value != line.value) {
            return Err(reader.fault(Some(0), IngestProblem::SameKey { other: other.line }).into());
        }
    }
    let repeated_keys = reader.count() - lines.len() as u64;
    let notes = Notes { repeated_keys, ..keys.notes(reader.notes()) };
    let (path, unit, names) = (path.to_owned(), options.file.unit(path), reader.columns().to_vec());
    Ok(KeyLines { lines, notes, path, unit, names })
}

/// Reads a line's key in its form, and whether it is removed. If it is not, `value` receives its
/// value.
fn read_line(
    key: &Cell,
    rest: &[Cell],
    has_value: bool,
    keys: &mut KeyReader,
    encoding: Encoding,
    value: &mut Vec<u8>,
) -> Result<(Vec<u8>, bool), (usize, IngestProblem)> {
    let key = keys.read(key).map_err(|problem| (0, problem))?;
    let (of_value, of_delete) = rest.split_at(usize::from(has_value).min(rest.len()));
    let is_marked = of_delete.first().map_or(Ok(false), is_marked);
    let is_marked = is_marked.map_err(|problem| (1 + of_value.len(), problem))?;
    value.clear();
    let goes = is_marked || of_value.first() == Some(&Cell::Null);
    match of_value.first() {
        Some(cell) if !goes => encoding.read(cell, value).map_err(|problem| (1, problem))?,
        _ => {}
    }
    Ok((key.to_vec(), goes))
}

/// Whether a cell says that the line's key is removed. Only fixed words are accepted: a removal by
/// mistake cannot be undone.
fn is_marked(cell: &Cell) -> Result<bool, IngestProblem> {
    let word = match cell {
        Cell::Bool(marked) => return Ok(*marked),
        Cell::Missing | Cell::Null => return Ok(false),
        cell => cell.text()?.trim_ascii().to_ascii_lowercase(),
    };
    match word.as_slice() {
        b"1" | b"true" | b"yes" | b"delete" => Ok(true),
        b"" | b"0" | b"false" | b"no" => Ok(false),
        _ => Err(cell.is_not("1, true, yes or delete, or else 0, false, no or nothing")),
    }
}

/// Applies the changes, removed keys first, so that there is space for new ones.
fn apply(
    lines: &BTreeMap<Vec<u8>, KeyLine>,
    keyword: &Keyword,
    stored: &RawFile,
    fault: impl Fn(u64, usize, IngestProblem) -> DbError,
) -> Result<(RowChanges, ChangeCounts, Keyword)> {
    let mut done = ChangeCounts::default();
    let fetch = |row| {
        let mut bytes = vec![0; stored.row_bytes()];
        stored.read(row, &mut bytes).map(|()| bytes)
    };
    let mut edit = TableEdit::new(keyword, fetch);
    for key in lines.iter().filter(|(_, line)| line.value.is_none()).map(|(key, _)| key) {
        match edit.remove(key)? {
            true => done.removed += 1,
            false => done.absent += 1,
        }
    }
    for (key, line) in lines {
        let Some(value) = &line.value else { continue };
        match edit.set(key, value) {
            Ok(true) => done.set += 1,
            Ok(false) => done.added += 1,
            Err(EditError::Core(error)) => return Err(error.into()),
            Err(EditError::Value { bytes, limit: most }) => {
                return Err(fault(line.line, 1, IngestProblem::Misfit { bytes, limit: most }));
            }
            Err(_) => return Err(fault(line.line, 0, IngestProblem::Full)),
        }
    }
    let (mut rows, keyword) = edit.finish();
    let mut same = Vec::new();
    for (row, bytes) in &rows {
        if fetch(*row)? == *bytes {
            same.push(*row);
        }
    }
    same.iter().for_each(|row| drop(rows.remove(row)));
    Ok((rows, done, keyword))
}
