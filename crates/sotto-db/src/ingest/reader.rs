//! Reads the requested columns of a file line by line, whatever its format.

use super::error::{ColumnName, IngestError, IngestProblem, LineUnit};
use super::options::{ColumnSelector, FileOptions, SourceFormat};
use super::{Notes, csv, jsonl};
use crate::progress::{self, Progress, Watcher};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Value in a column of a line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Cell {
    /// The column is missing.
    #[default]
    Missing,
    /// A null, in formats that have one.
    Null,
    /// Text or bytes.
    Bytes(Vec<u8>),
    /// A number, in formats that have them.
    Unsigned(u64),
    /// A negative number.
    Negative(i64),
    /// A truth value, in formats that have them.
    Bool(bool),
    /// A value of an unusable type, with the name of the type.
    Other(&'static str),
}

impl Cell {
    /// Stores bytes in the cell and reuses its memory.
    pub(crate) fn set(&mut self, bytes: &[u8]) {
        match self {
            Cell::Bytes(held) => {
                held.clear();
                held.extend_from_slice(bytes);
            }
            _ => *self = Cell::Bytes(bytes.to_vec()),
        }
    }

    /// Bytes of the cell; an error for any other type.
    pub(crate) fn bytes(&self, expected: &'static str) -> Result<&[u8], IngestProblem> {
        match self {
            Cell::Bytes(bytes) => Ok(bytes),
            Cell::Missing | Cell::Null => Err(IngestProblem::Missing),
            _ => Err(self.is_not(expected)),
        }
    }

    /// Bytes of the cell, or the digits of a number.
    pub(crate) fn text(&self) -> Result<Cow<'_, [u8]>, IngestProblem> {
        match self {
            Cell::Unsigned(value) => Ok(value.to_string().into_bytes().into()),
            Cell::Negative(value) => Ok(value.to_string().into_bytes().into()),
            _ => self.bytes("text").map(Cow::from),
        }
    }

    /// Number in the cell, or the number that its digits write.
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

    /// Error for a cell that does not have the expected type.
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

/// Reads lines of one format.
pub(crate) trait LineReader {
    /// Reads the requested columns of the next line, in the order of the request; `false` at the
    /// end.
    fn next(&mut self, cells: &mut [Cell]) -> Result<bool, IngestProblem>;
    /// Number of the line read last, or of the one that failed.
    fn line(&self) -> u64;
    /// Amount read so far, and the total.
    fn progress(&self) -> (u64, u64);
    /// The first empty line so far, if one was skipped.
    fn blank(&self) -> Option<u64> {
        None
    }
    /// Notes on lines that may be meant as something else.
    fn notes(&self) -> LineNotes {
        LineNotes::default()
    }
    /// Unit of [`LineReader::progress`].
    fn unit(&self) -> progress::ProgressUnit {
        progress::ProgressUnit::Bytes
    }
}

/// Counts of lines that may be meant as something else.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LineNotes {
    /// Number of lines that begin like comments.
    pub(crate) comments: u64,
    /// The likely delimiter, if each line has one column with this character in it.
    pub(crate) undivided: Option<char>,
}

/// Index of the column of this name among others; `None` if there is none.
pub(crate) fn only(names: &[String], name: &str) -> Result<Option<usize>, IngestProblem> {
    let mut named = (0..).zip(names).filter(|(_, there)| *there == name).map(|(at, _): (usize, _)| at);
    match (named.next(), named.next()) {
        (Some(first), Some(second)) => Err(IngestProblem::NameTwice { first: first + 1, second: second + 1 }),
        (first, _) => Ok(first),
    }
}

/// Column names of a file, known before its first row is read.
pub(crate) enum HeaderLine<'a> {
    /// Cells of the first line, which may or may not name the columns.
    Line(&'a [String]),
    /// Names of the columns.
    Names(&'a [String]),
    /// Columns have no names.
    Numbers,
}

/// The columns to read.
pub(crate) struct ColumnChoice {
    pub(crate) columns: Vec<ColumnSelector>,
    /// Whether the first line names the columns.
    pub(crate) header: bool,
}

/// Chooses the columns to read.
pub(crate) type ColumnChooser<'a> = &'a dyn Fn(HeaderLine<'_>) -> Result<ColumnChoice, ColumnFault>;

/// Column and problem of an error before the first line.
pub(crate) type ColumnFault = (Option<ColumnName>, IngestProblem);

/// An open file whose requested columns are read.
pub(crate) struct ColumnReader<'a> {
    lines: Box<dyn LineReader>,
    path: PathBuf,
    unit: LineUnit,
    columns: Vec<ColumnName>,
    cells: Vec<Cell>,
    count: u64,
    watch: Watcher<'a>,
}

/// Result of opening a file: the reader of its format, and the names of the requested columns.
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

    /// Opens a file to read columns that `choose` selects by the names in it.
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

    /// Requested columns, in the order of the request.
    pub(crate) fn columns(&self) -> &[ColumnName] {
        &self.columns
    }

    /// Names of the requested columns, in the order of the request; `None` for one without a name.
    pub(crate) fn names(&self) -> impl Iterator<Item = Option<String>> {
        self.columns.iter().map(|column| column.name.clone())
    }

    /// Cells of the next line, in the order of the request; `None` at the end.
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

    /// Refuses an empty line where the order of lines numbers the rows.
    pub(crate) fn check_order(&self) -> Result<(), IngestError> {
        match self.lines.blank() {
            Some(line) => Err(self.fault_at(line, None, IngestProblem::Blank)),
            None => Ok(()),
        }
    }

    /// Notes on the lines read.
    pub(crate) fn notes(&self) -> Notes {
        let LineNotes { comments, undivided } = self.lines.notes();
        Notes { lines: self.count, comment_lines: comments, undivided, ..Notes::default() }
    }

    /// Number of lines read so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Number of the line read last.
    pub(crate) fn line(&self) -> u64 {
        self.lines.line()
    }

    /// Error in the line read last, in the requested column with index `column`.
    pub(crate) fn fault(&self, column: Option<usize>, problem: IngestProblem) -> IngestError {
        self.fault_at(self.line(), column, problem)
    }

    /// Error in a given line, in the requested column with index `column`.
    pub(crate) fn fault_at(&self, line: u64, column: Option<usize>, problem: IngestProblem) -> IngestError {
        let column = column.and_then(|i| self.columns.get(i).cloned());
        IngestError { line, unit: self.unit, column, ..IngestError::of_file(&self.path, problem) }
    }
}
