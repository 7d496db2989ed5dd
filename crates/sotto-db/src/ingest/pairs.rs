//! Keys and values of a file, line by line, from which keyword tables are made. A file may be read
//! several times.

use crate::ingest::column_reader::ColumnReader;
use crate::ingest::error::{IngestError, IngestProblem, LineUnit};
use crate::ingest::line_reader::Cell;
use crate::ingest::options::{ColumnSelector, FileOptions};
use crate::ingest::value::ValueOptions;
use crate::ingest::{Notes, SourceColumns};
use crate::progress::Watcher;
use crate::{DbError, Result};
use sotto_layers::keyword::{BuildError, Key, KeyForm};
use std::borrow::Cow;
use std::path::Path;

/// Columns of keys and of values.
#[derive(Debug, Clone, Copy)]
pub struct PairColumns<'a> {
    /// Column of the key.
    pub key: &'a ColumnSelector,
    /// Form of the keys.
    pub form: KeyForm,
    /// Column of the value; `None` for keys alone.
    pub value: Option<&'a ColumnSelector>,
    /// Encoding and width of the values.
    pub values: &'a ValueOptions,
}

/// Error in a line, or of the database.
#[derive(Debug)]
pub enum LineError {
    /// A problem of the line.
    Line(IngestProblem),
    /// Any other error.
    Db(DbError),
}

/// A file of keys and values that can be read several times.
pub struct KeyValueFile<'a> {
    path: &'a Path,
    file: &'a FileOptions,
    columns: PairColumns<'a>,
    unit: LineUnit,
    watch: Watcher<'a>,
}

impl<'a> KeyValueFile<'a> {
    /// A file with these columns.
    ///
    /// # Errors
    /// [`DbError::Ingest`] if it can only be read once.
    pub fn new(
        path: &'a Path,
        file: &'a FileOptions,
        columns: PairColumns<'a>,
        watch: Watcher<'a>,
    ) -> Result<Self> {
        let pairs = KeyValueFile { path, file, columns, unit: file.unit(path), watch };
        if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            let once = IngestProblem::Options("a pipe can be read only once, and this needs two reads");
            return Err(pairs.open()?.fault_at(0, None, once).into());
        }
        Ok(pairs)
    }

    fn open(&self) -> Result<ColumnReader<'a>, IngestError> {
        let mut columns = vec![self.columns.key];
        columns.extend(self.columns.value);
        ColumnReader::open(self.path, self.file, &columns, self.watch)
    }

    /// Names of the file's columns, for later files about the same table.
    ///
    /// # Errors
    /// [`DbError::Ingest`].
    pub fn origin(&self) -> Result<SourceColumns> {
        let names: Vec<_> = self.open()?.names().collect();
        let [key, value] = [0, 1].map(|at| names.get(at).cloned().flatten());
        Ok(SourceColumns { key, value, ..SourceColumns::default() })
    }

    /// Calls `each` with every key, in its form, and its value. Returns the notes on all lines.
    ///
    /// # Errors
    /// [`DbError::Ingest`] with line and column; the errors of `each`.
    pub fn read(&self, mut each: impl FnMut(&Key, &[u8]) -> Result<(), LineError>) -> Result<Notes> {
        let mut reader = self.open()?;
        let mut keys = KeyReader::new(self.columns.form);
        let mut value = Vec::new();
        while let Some(cells) = reader.next()? {
            // A missing cell may be an empty key.
            let key = cells.first().map_or(Err(IngestProblem::Missing), |cell| keys.read(cell));
            let read = cells.get(1).map(|cell| self.columns.values.read(cell, &mut value));
            let key = key.map_err(|problem| reader.fault(Some(0), problem))?;
            read.transpose().map_err(|problem| reader.fault(Some(1), problem))?;
            match each(&key, &value) {
                Ok(()) => {}
                Err(LineError::Db(error)) => return Err(error),
                Err(LineError::Line(IngestProblem::Keys(BuildError::LongValue {
                    bytes,
                    limit: most,
                    ..
                }))) => {
                    let problem = IngestProblem::TooLong { bytes: bytes as usize, width: most as usize };
                    return Err(reader.fault(Some(1), problem).into());
                }
                Err(LineError::Line(problem @ IngestProblem::TooLong { .. })) => {
                    return Err(reader.fault(Some(1), problem).into());
                }
                Err(LineError::Line(problem)) => return Err(reader.fault(Some(0), problem).into()),
            }
        }
        Ok(keys.notes(reader.notes()))
    }

    /// Number of keys in the file.
    ///
    /// # Errors
    /// [`DbError::Ingest`].
    pub fn count(&self) -> Result<u64> {
        let mut reader = self.open()?;
        while reader.next()?.is_some() {}
        Ok(reader.count())
    }

    /// Lines of the keys with these numbers, which are counted from 1.
    ///
    /// # Errors
    /// [`DbError::Ingest`].
    pub fn lines(&self, keys: [u64; 2]) -> Result<[u64; 2]> {
        let (mut reader, mut lines) = (self.open()?, [0; 2]);
        while reader.next()?.is_some() {
            let here = lines.iter_mut().zip(keys).filter(|(_, key)| *key == reader.count());
            here.for_each(|(line, _)| *line = reader.line());
        }
        Ok(lines)
    }

    /// Error for a problem in a line.
    pub fn fault(&self, line: u64, problem: IngestProblem) -> IngestError {
        IngestError { line, unit: self.unit, ..IngestError::of_file(self.path, problem) }
    }
}

/// Reads keys of one form.
pub(crate) struct KeyReader {
    form: KeyForm,
    notes: Notes,
}

/// Characters that people write between the digits of a telephone number.
const SEPARATORS: [char; 8] = [' ', '-', '.', '(', ')', '/', '\u{a0}', '\u{202f}'];

impl KeyReader {
    /// A reader of keys of this form.
    pub(crate) fn new(form: KeyForm) -> Self {
        KeyReader { form, notes: Notes::default() }
    }

    /// Reads the key of a cell.
    pub(crate) fn read(&mut self, cell: &Cell) -> Result<Key, IngestProblem> {
        let text = cell.text()?;
        if self.form == KeyForm::Text && text.contains(&0) {
            return Err(IngestProblem::ZeroByteInKey);
        }
        // Publishers' lists may be formatted for people; clients look up plain numbers.
        let written = if self.form == KeyForm::Phone { plain(&text) } else { text };
        let key = self.form.canonical(&written).map_err(IngestProblem::Key)?;
        self.note(&key);
        Ok(key)
    }

    fn note(&mut self, key: &[u8]) {
        let is_text = self.form == KeyForm::Text;
        let has = |is: bool| u64::from(is);
        self.notes.wildcard_keys += has((is_text || self.form == KeyForm::Domain) && key.starts_with(b"*."));
        self.notes.spaced_numbers += has(is_text && is_spaced_number(key));
        self.notes.digest_keys += has(is_text && is_digest(key));
    }

    /// Adds counts of suspicious keys to the notes of a file. Hashes are noted only if all keys are
    /// hashes.
    pub(crate) fn notes(&self, of_file: Notes) -> Notes {
        let Notes { wildcard_keys, spaced_numbers, digest_keys, .. } = self.notes;
        let digest_keys = if digest_keys == of_file.lines { digest_keys } else { 0 };
        Notes { wildcard_keys, spaced_numbers, digest_keys, ..of_file }
    }
}

/// A telephone number without the separators between its digits.
fn plain(text: &[u8]) -> Cow<'_, [u8]> {
    match std::str::from_utf8(text) {
        Ok(text) if text.contains(SEPARATORS) => text.replace(SEPARATORS, "").into_bytes().into(),
        _ => text.into(),
    }
}

fn is_spaced_number(key: &[u8]) -> bool {
    key.starts_with(b"+") && {
        let plain = plain(key);
        plain.len() < key.len() && KeyForm::Phone.canonical(&plain).is_ok()
    }
}

/// Whether a key has the length of a hash in hexadecimal digits, with a letter among them.
fn is_digest(key: &[u8]) -> bool {
    matches!(key.len(), 32 | 40 | 64)
        && key.iter().all(u8::is_ascii_hexdigit)
        && key.iter().any(u8::is_ascii_alphabetic)
}
