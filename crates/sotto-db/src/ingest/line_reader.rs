//! Lines of a file, whatever its format: their cells, and the trait of their readers.

use super::error::{ColumnName, ColumnSelector, IngestProblem};
use crate::progress::ProgressUnit;
use std::borrow::Cow;

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
    fn unit(&self) -> ProgressUnit {
        ProgressUnit::Bytes
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

/// Result of opening a file: the reader of its format, and the names of the requested columns.
pub(crate) type OpenedReader = (Box<dyn LineReader>, Vec<ColumnName>);
