//! What is wrong with source data: which file, which line, which column, and what to do.

use super::options::ColumnSelector;
use sotto_layers::keyword::{BuildError, KeyError};
use std::fmt;
use std::path::Path;

/// Source data that breaks a rule.
#[derive(Debug)]
pub struct IngestError {
    /// Which file.
    pub path: Box<Path>,
    /// Which line, from 1 on; in Parquet files, which row. 0 if it is not about a line.
    pub line: u64,
    /// What is counted.
    pub unit: LineUnit,
    /// Which column, if it is about one.
    pub column: Option<ColumnName>,
    /// What is wrong.
    pub problem: IngestProblem,
}

/// What a file consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LineUnit {
    /// Lines of text.
    #[default]
    Line,
    /// Rows without lines.
    Row,
}

/// A column as a person would find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnName {
    /// Its number, from 1 on, if columns have one.
    pub number: Option<usize>,
    /// Its name, if it has one.
    pub name: Option<String>,
}

/// What is wrong with source data.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IngestProblem {
    /// Reading failed, or the compression is damaged.
    #[error("{0}")]
    Read(std::io::Error),
    /// The format itself is broken.
    #[error("not valid {format}: {why}")]
    Format {
        /// Which format.
        format: &'static str,
        /// What its parser says.
        why: String,
    },
    /// A line with another number of columns than the first.
    #[error("{found} columns, the first line has {expected}: is a value missing, or a quote?")]
    Columns {
        /// In the first line.
        expected: usize,
        /// In this one.
        found: usize,
    },
    /// Pages of a Parquet file that cannot be decompressed.
    #[error(
        "its pages are compressed with {codec}, which this build does not read: write it with zstd, snappy or gzip"
    )]
    Codec {
        /// How they are compressed.
        codec: &'static str,
    },
    /// A null where there is nothing to put in its place.
    #[error("the value is null: say what stands for one (--null VALUE), or leave such rows out")]
    Null,
    /// A first line that may be data or not, and that would be published if it is taken for that.
    #[error("{why}")]
    Header {
        /// What is not known, and what to do.
        why: String,
    },
    /// A column that is looked for by its name in the table's source, and not there.
    #[error(
        "there is no such column; there are: {there}: say which is meant \
         (--{part} COL), or that the first line is data (--no-header)"
    )]
    NoPart {
        /// What would stand in it.
        part: &'static str,
        /// The columns there are.
        there: String,
    },
    /// A column that is asked for and not there.
    #[error("there is no such column; there are: {there}")]
    NoColumn {
        /// The columns there are.
        there: String,
    },
    /// Two columns of the name that is asked for.
    #[error(
        "columns {first} and {second} have this name: rename one, or ask for the column by its number (with --header, \
         if the first line names columns)"
    )]
    NameTwice {
        /// The number of the first.
        first: usize,
        /// The number of the second.
        second: usize,
    },
    /// Two fields of the name that is asked for, in one line.
    #[error("the line has two fields {name:?}: leave one out")]
    FieldTwice {
        /// Their name.
        name: String,
    },
    /// A column that is not there, since the only one was not parted.
    #[error(
        "there is no such column: the first line has one column, with {delimiter:?} in it: say that it parts columns \
         (--delimiter {fix})", fix = shell(.delimiter)
    )]
    OneColumn {
        /// What may part columns.
        delimiter: char,
    },
    /// A line without a row, where rows go by the order of lines.
    #[error(
        "the line is empty, and rows are numbered by their order: take the line out, write \"\" for an empty value, or number \
         rows in a column of their own (--row)"
    )]
    Blank,
    /// Rows of which nearly all are empty.
    #[error(
        "the largest row number is {last}, for {lines} lines: nearly all of the table would be empty rows; if the numbers are \
         keys, of people or telephones, give them as such (--key)"
    )]
    Sparse {
        /// The largest row number.
        last: u64,
        /// Lines of the file.
        lines: u64,
    },
    /// No value where one is needed.
    #[error("there is no value")]
    Missing,
    /// A value of a kind that cannot be used.
    #[error("{found} where {expected} was expected")]
    Kind {
        /// What would do.
        expected: &'static str,
        /// What there is.
        found: String,
    },
    /// A value longer than a row.
    #[error("the value has {bytes} bytes, a row has {width}: give a larger width, or shorten the value")]
    TooLong {
        /// Bytes of the value.
        bytes: usize,
        /// Bytes of a row.
        width: usize,
    },
    /// A value shorter than rows, which are values.
    #[error(
        "the value has {bytes} bytes, and each of the table's has {width}: write all of them, or encode the table afresh, \
for values of \
         any length"
    )]
    TooShort {
        /// Bytes of the value.
        bytes: usize,
        /// Bytes of each value.
        width: usize,
    },
    /// Text that is not UTF-8.
    #[error(
        "not UTF-8 from byte {at} of the value on: convert the file, or read the column as hex or base64"
    )]
    Utf8 {
        /// The first byte that is wrong.
        at: usize,
    },
    /// Text with a zero byte, which could not be told from padding.
    #[error("the text has a zero byte, which stands for its end in a row")]
    ZeroByte,
    /// A key of text with a zero byte, which nobody types.
    #[error(
        "the key has a zero byte: is the file UTF-16? convert it to UTF-8, or read keys as bytes (--form bytes)"
    )]
    ZeroByteInKey,
    /// A key longer than those of the table.
    #[error(
        "the key has {bytes} bytes, keys of the table have at most {most}: encode the table afresh, and its keys are as long \
         as the file's longest"
    )]
    LongKey {
        /// Bytes of the key.
        bytes: u64,
        /// Bytes of the table's longest.
        most: u64,
    },
    /// An IPv6 address in a table of ranges.
    #[error(
        "an IPv6 address, and range tables have IPv4 addresses only: leave the line out; single IPv6 addresses are keys of a \
         keyword table (--key COL --form ip)"
    )]
    Ipv6Range,
    /// A prefix with bits set behind it.
    #[error(
        "the address is not the first of its prefix, which is {network}: write that, or give first and last addresses"
    )]
    HostBits {
        /// The prefix with its first address.
        network: String,
    },
    /// A range that ends before it starts.
    #[error("the range ends before it starts")]
    Backwards,
    /// A key below the table's first or above its last.
    #[error("the key is not in {first}..={last}, which the table covers")]
    OutsideKeys {
        /// First key of the table.
        first: u64,
        /// Last key of the table.
        last: u64,
    },
    /// Two ranges with a key in common.
    #[error("this range overlaps that of line {other}: one key, one value")]
    Overlap {
        /// The other line.
        other: u64,
    },
    /// Two lines for one row.
    #[error("row {row} was given before (by the file's order or by its index column): one row, one line")]
    Duplicate {
        /// The row.
        row: u64,
    },
    /// A row number no table has.
    #[error("row {row} is past the last row a table can have ({last})")]
    RowTooLarge {
        /// The row.
        row: u64,
        /// The largest row number.
        last: u64,
    },
    /// A key that is none of the table's form. It is not repeated.
    #[error("{error}: {fix}", error = .0, fix = remedy(.0))]
    Key(KeyError),
    /// A key that stood in another line.
    #[error("the key is the same as that of line {other}: one key, one value")]
    SameKey {
        /// The other line.
        other: u64,
    },
    /// Keys that no table can have.
    #[error("{0}")]
    Keys(BuildError),
    /// A value that the table of keys has no room for.
    #[error(
        "a value of {bytes} bytes does not fit the table, whose values have {most}: encode it afresh, with room for longer ones"
    )]
    Misfit {
        /// Bytes of the value.
        bytes: u64,
        /// Bytes of the table's longest, or of all of them.
        most: u64,
    },
    /// A key that the table has no room for.
    #[error("there is no room for another key: encode the table afresh, with room for more")]
    Full,
    /// A file without a row.
    #[error("there are no rows in it")]
    Empty,
    /// A raw file whose length is not that of whole rows.
    #[error("{bytes} bytes are not whole rows of {width} bytes")]
    PartialRow {
        /// Bytes of the file.
        bytes: u64,
        /// Bytes of a row.
        width: usize,
    },
    /// Options that do not fit the format or each other.
    #[error("{0}")]
    Options(&'static str),
}

/// What can be done about a key that is none.
fn remedy(error: &KeyError) -> &'static str {
    match error {
        KeyError::Long { .. } => "leave it out, or make hashes of all keys (--form sha256)",
        _ => "see what the table's keys are (--form)",
    }
}

/// A delimiter as it is written on the command line.
fn shell(delimiter: &char) -> &'static str {
    match delimiter {
        '\t' => "'\\t'",
        ';' => "';'",
        _ => "'|'",
    }
}

impl IngestError {
    /// What is wrong with a file as a whole.
    pub(crate) fn of_file(path: &Path, problem: IngestProblem) -> Self {
        IngestError { path: path.into(), line: 0, unit: LineUnit::Line, column: None, problem }
    }
}

impl fmt::Display for IngestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        match (self.line, self.unit) {
            (0, _) => {}
            (line, LineUnit::Line) => write!(f, ", line {line}")?,
            (row, LineUnit::Row) => write!(f, ", row {row} (the first is 1)")?,
        }
        match (&self.column, self.unit) {
            (Some(ColumnName { name: Some(name), .. }), LineUnit::Row) => write!(f, ", column `{name}`")?,
            (Some(column), _) => write!(f, ", column {column}")?,
            (None, _) => {}
        }
        match (&self.problem, self.unit) {
            (IngestProblem::Overlap { other }, LineUnit::Row) => {
                write!(f, ": this range overlaps that of row {other}: one key, one value")
            }
            (IngestProblem::SameKey { other }, LineUnit::Row) => {
                write!(f, ": the key is the same as that of row {other}: one key, one value")
            }
            (problem, _) => write!(f, ": {problem}"),
        }
    }
}

impl std::error::Error for IngestError {}

impl ColumnName {
    /// By what it was asked for.
    pub(crate) fn asked(column: &ColumnSelector) -> Self {
        match column {
            ColumnSelector::Number(number) => ColumnName { number: Some(*number), name: None },
            ColumnSelector::Name(name) => ColumnName { number: None, name: Some(name.clone()) },
        }
    }
}

impl fmt::Display for ColumnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.number, &self.name) {
            (Some(number), Some(name)) => write!(f, "{number} ({name:?})"),
            (Some(number), None) => write!(f, "{number}"),
            (None, name) => write!(f, "{:?}", name.as_deref().unwrap_or_default()),
        }
    }
}
