//! A file as lines of the wanted columns, whatever its format.

use super::error::{ColumnName, IngestError, IngestProblem, LineUnit};
use super::options::{ColumnSelector, FileOptions, SourceFormat};
use super::{Notes, csv, jsonl};
use crate::progress::{self, Progress, Watcher};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// What stands in a column of a line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Cell {
    /// Nothing.
    #[default]
    Missing,
    /// A null, in formats that have one.
    Null,
    /// Text or bytes.
    Bytes(Vec<u8>),
    /// A number, in formats that have them.
    Unsigned(u64),
    /// A number below zero.
    Negative(i64),
    /// True or false, in formats that have them.
    Bool(bool),
    /// Something of no use here; what it is.
    Other(&'static str),
}

impl Cell {
    /// Becomes these bytes, in the memory it has.
    pub(crate) fn set(&mut self, bytes: &[u8]) {
        match self {
            Cell::Bytes(held) => {
                held.clear();
                held.extend_from_slice(bytes);
            }
            _ => *self = Cell::Bytes(bytes.to_vec()),
        }
    }

    /// Its bytes.
    pub(crate) fn bytes(&self, expected: &'static str) -> Result<&[u8], IngestProblem> {
        match self {
            Cell::Bytes(bytes) => Ok(bytes),
            Cell::Missing | Cell::Null => Err(IngestProblem::Missing),
            _ => Err(self.is_not(expected)),
        }
    }

    /// Its bytes, or its digits.
    pub(crate) fn text(&self) -> Result<Cow<'_, [u8]>, IngestProblem> {
        match self {
            Cell::Unsigned(value) => Ok(value.to_string().into_bytes().into()),
            Cell::Negative(value) => Ok(value.to_string().into_bytes().into()),
            _ => self.bytes("text").map(Cow::from),
        }
    }

    /// The number it is, or the one its digits write.
    pub(crate) fn unsigned(&self) -> Result<u64, IngestProblem> {
        let expected = "an unsigned integer";
        match self {
            Cell::Unsigned(value) => Ok(*value),
            _ => {
                let bytes = self.bytes(expected)?.trim_ascii();
                if bytes.is_empty() {
                    return Err(IngestProblem::Missing);
                }
                let digits = std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok());
                digits.ok_or_else(|| self.is_not(expected))
            }
        }
    }

    /// That something else was expected.
    pub(crate) fn is_not(&self, expected: &'static str) -> IngestProblem {
        let found = match self {
            Cell::Missing | Cell::Null => return IngestProblem::Missing,
            Cell::Bytes(bytes) => {
                let mut text: String = String::from_utf8_lossy(bytes).chars().take(41).collect();
                if text.chars().count() > 40 {
                    text.pop();
                    text.push_str("...");
                }
                format!("{text:?}")
            }
            Cell::Unsigned(value) => value.to_string(),
            Cell::Negative(value) => value.to_string(),
            Cell::Bool(value) => value.to_string(),
            Cell::Other(what) => (*what).to_owned(),
        };
        IngestProblem::Kind { expected, found }
    }
}

/// A format's reader.
pub(crate) trait LineReader {
    /// Reads the next line's wanted columns, in the order they were asked for; `false` at the end.
    fn next(&mut self, cells: &mut [Cell]) -> Result<bool, IngestProblem>;
    /// The line read last, or the one that failed.
    fn line(&self) -> u64;
    /// How much was read, out of how much.
    fn progress(&self) -> (u64, u64);
    /// The first line so far with nothing in it, if one was passed over.
    fn blank(&self) -> Option<u64> {
        None
    }
    /// What a person may have meant otherwise.
    fn notes(&self) -> LineNotes {
        LineNotes::default()
    }
    /// What that counts.
    fn unit(&self) -> progress::ProgressUnit {
        progress::ProgressUnit::Bytes
    }
}

/// What there was in lines that a person may have meant otherwise.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LineNotes {
    /// Lines that begin as comments do.
    pub(crate) comments: u64,
    /// What may part columns, where each line has a single one and this in it.
    pub(crate) undivided: Option<char>,
}

/// The place of the column of this name among others; `None` if there is none.
pub(crate) fn only(names: &[String], name: &str) -> Result<Option<usize>, IngestProblem> {
    let mut named = (0..).zip(names).filter(|(_, there)| *there == name).map(|(at, _): (usize, _)| at);
    match (named.next(), named.next()) {
        (Some(first), Some(second)) => Err(IngestProblem::NameTwice { first: first + 1, second: second + 1 }),
        (first, _) => Ok(first),
    }
}

/// What is known of a file's columns before anything is read from it.
pub(crate) enum HeaderLine<'a> {
    /// The cells of the first line, which name the columns or do not.
    Line(&'a [String]),
    /// Names.
    Names(&'a [String]),
    /// That they have none.
    Numbers,
}

/// The columns to read.
pub(crate) struct ColumnChoice {
    pub(crate) columns: Vec<ColumnSelector>,
    /// Whether the first line, if it was shown, names them.
    pub(crate) header: bool,
}

/// Chooses columns.
pub(crate) type ColumnChooser<'a> = &'a dyn Fn(HeaderLine<'_>) -> Result<ColumnChoice, ColumnFault>;

/// What is wrong before the first line, and with which column.
pub(crate) type ColumnFault = (Option<ColumnName>, IngestProblem);

/// An open file.
pub(crate) struct ColumnReader<'a> {
    lines: Box<dyn LineReader>,
    path: PathBuf,
    unit: LineUnit,
    columns: Vec<ColumnName>,
    cells: Vec<Cell>,
    count: u64,
    watch: Watcher<'a>,
}

/// What a format's `open` gives: its reader, and the names of the columns asked for.
pub(crate) type OpenedReader = (Box<dyn LineReader>, Vec<ColumnName>);

impl<'a> ColumnReader<'a> {
    /// Opens a file to read these columns.
    pub(crate) fn open(
        path: &Path,
        options: &FileOptions,
        columns: &[&ColumnSelector],
        watch: Watcher<'a>,
    ) -> Result<Self, IngestError> {
        let named = columns.iter().any(|column| matches!(column, ColumnSelector::Name(_)));
        let choose = |_: HeaderLine<'_>| {
            let columns = columns.iter().map(|column| (*column).clone()).collect();
            Ok(ColumnChoice { columns, header: options.header.unwrap_or(named) })
        };
        ColumnReader::choosing(path, options, &choose, watch)
    }

    /// Opens a file to read columns that are chosen by what there is.
    pub(crate) fn choosing(
        path: &Path,
        options: &FileOptions,
        choose: ColumnChooser<'_>,
        watch: Watcher<'a>,
    ) -> Result<Self, IngestError> {
        let (format, unit) = (options.format_of(path), options.unit(path));
        let fault = |(column, problem): ColumnFault| IngestError {
            column,
            unit,
            ..IngestError::of_file(path, problem)
        };
        let opened = match format {
            Some(SourceFormat::Csv) => csv::open(path, options, choose),
            Some(SourceFormat::Jsonl) => jsonl::open(path, choose),
            #[cfg(feature = "parquet")]
            Some(SourceFormat::Parquet) => super::parquet::open(path, choose),
            #[cfg(not(feature = "parquet"))]
            Some(SourceFormat::Parquet) => Err((
                None,
                IngestProblem::Options("this build does not read Parquet: build it with feature `parquet`"),
            )),
            None => Err((
                None,
                IngestProblem::Options(
                    "the file's name does not tell its format: say csv, jsonl, parquet or raw",
                ),
            )),
        };
        let (lines, names) = opened.map_err(fault)?;
        let cells = vec![Cell::Missing; names.len()];
        Ok(ColumnReader { lines, path: path.to_owned(), unit, columns: names, cells, count: 0, watch })
    }

    /// The columns, in the order they were asked for.
    pub(crate) fn columns(&self) -> &[ColumnName] {
        &self.columns
    }

    /// The columns' names, in the order they were asked for; `None` for one without.
    pub(crate) fn names(&self) -> impl Iterator<Item = Option<String>> {
        self.columns.iter().map(|column| column.name.clone())
    }

    /// The next line's cells, in the order the columns were asked for; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<&[Cell]>, IngestError> {
        match self.lines.next(&mut self.cells) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(problem) => return Err(self.fault(None, problem)),
        }
        if self.count.is_multiple_of(1 << 14) {
            let (done, total) = self.lines.progress();
            (self.watch)(Progress { stage: "read", done, total, unit: self.lines.unit() });
        }
        self.count += 1;
        Ok(Some(&self.cells))
    }

    /// Refuses a line without a row, where rows go by the order of lines.
    pub(crate) fn check_order(&self) -> Result<(), IngestError> {
        match self.lines.blank() {
            Some(line) => Err(self.fault_at(line, None, IngestProblem::Blank)),
            None => Ok(()),
        }
    }

    /// What there was, for whoever reads it.
    pub(crate) fn notes(&self) -> Notes {
        let LineNotes { comments, undivided } = self.lines.notes();
        Notes { lines: self.count, comment_lines: comments, undivided, ..Notes::default() }
    }

    /// Lines read so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The number of the line read last.
    pub(crate) fn line(&self) -> u64 {
        self.lines.line()
    }

    /// An error in the line read last, in the column asked for at `column`.
    pub(crate) fn fault(&self, column: Option<usize>, problem: IngestProblem) -> IngestError {
        self.fault_at(self.line(), column, problem)
    }

    /// The same, of another line.
    pub(crate) fn fault_at(&self, line: u64, column: Option<usize>, problem: IngestProblem) -> IngestError {
        let column = column.and_then(|i| self.columns.get(i).cloned());
        IngestError { line, unit: self.unit, column, ..IngestError::of_file(&self.path, problem) }
    }
}
