//! Errors of source data: file, line, column, problem and remedy.

use sotto_core::{Diagnose, Diagnosis, ErrorKind, Exit};
use sotto_layers::keyword::{BuildError, KeyError};
use std::convert::Infallible;
use std::path::Path;
use std::str::FromStr;
use std::{fmt, io};

/// Error in source data that breaks a rule.
#[derive(Debug)]
pub struct IngestError {
    /// Path of the source file.
    pub path: Box<Path>,
    /// Number of the line, from 1; in Parquet files, number of the row; 0 if the error is not about
    /// a line.
    pub line: u64,
    /// Unit that the number counts.
    pub unit: LineUnit,
    /// Column of the error, if it is about one.
    pub column: Option<ColumnName>,
    /// Problem of the source data.
    pub problem: IngestProblem,
}

/// Unit that a source file consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LineUnit {
    /// Lines of text.
    #[default]
    Line,
    /// Rows without lines.
    Row,
}

/// Number and name of a column, for a person who looks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnName {
    /// Number of the column, from 1, if columns are numbered.
    pub number: Option<usize>,
    /// Name of the column, if it has one.
    pub name: Option<String>,
}

/// Problem of source data.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IngestProblem {
    /// The file cannot be read, or its compression is damaged.
    #[error("{0}")]
    Read(io::Error),
    /// The file violates its format.
    #[error("not valid {format}: {why}")]
    Format {
        /// Name of the format.
        format: &'static str,
        /// Message of the format's parser.
        why: String,
    },
    /// A line has another number of columns than the first line.
    #[error(
        "expected {expected} columns as in the first line, got {found}: look for a missing value or quote"
    )]
    Columns {
        /// Number of columns in the first line.
        expected: usize,
        /// Number of columns in this line.
        found: usize,
    },
    /// Pages of a Parquet file are compressed with this codec, which the build does not support.
    #[error(
        "the pages are compressed with {0}, which this build does not read: write the file with zstd, snappy or \
         gzip"
    )]
    Codec(&'static str),
    /// A value is null, and no option says what to store in its place.
    #[error("the value is null: give a value for it (--null VALUE), or leave such rows out")]
    Null,
    /// The first line may be a header or data, and data taken for a header would be published as
    /// column names.
    #[error("{0}")]
    Header(String),
    /// A column of the table's source is not in the changes file.
    #[error(
        "no such column; the columns are: {there}: choose one (--{part} COL), or pass --no-header if the first line \
         is data"
    )]
    NoPart {
        /// Expected content of the column.
        part: &'static str,
        /// Names of the columns in the file.
        there: String,
    },
    /// The requested column is not in the file, which has these columns.
    #[error("no such column; the columns are: {0}")]
    NoColumn(String),
    /// Two columns have the requested name.
    #[error(
        "columns {first} and {second} have the same name: rename one, or give the column by its number (with \
         --header, if the first line names columns)"
    )]
    NameTwice {
        /// Number of the first column of this name.
        first: usize,
        /// Number of the second column of this name.
        second: usize,
    },
    /// Two fields of a line have this name, the requested one.
    #[error("the line has two fields {0:?}: leave one out")]
    FieldTwice(String),
    /// The requested column is missing, and the only column contains another delimiter.
    #[error(
        "no such column: the first line is one column that contains {delimiter:?}: if that separates columns, pass \
         --delimiter {fix}", fix = shell(.delimiter)
    )]
    OneColumn {
        /// The likely delimiter.
        delimiter: char,
    },
    /// An empty line where the order of lines numbers the rows.
    #[error(
        "the line is empty, and rows are numbered by their order: remove the line, write \"\" for an empty value, \
         or number the rows in a column (--row)"
    )]
    Blank,
    /// Nearly all rows of the table would be empty.
    #[error(
        "the largest row number is {last}, for {lines} lines, so nearly all rows would be empty; if the numbers are \
         keys, such as telephone numbers, give their column with --key"
    )]
    Sparse {
        /// The largest row number.
        last: u64,
        /// Number of lines in the file.
        lines: u64,
    },
    /// A value is missing where one is required.
    #[error("the value is missing")]
    Missing,
    /// A value has an unsuitable type.
    #[error("expected {expected}, got {found}")]
    Kind {
        /// The expected type.
        expected: &'static str,
        /// The type found.
        found: String,
    },
    /// A value is longer than a row.
    #[error("the value has {bytes} bytes, a row has {width}: give a larger width, or shorten the value")]
    TooLong {
        /// Bytes of the value.
        bytes: usize,
        /// Bytes of a row.
        width: usize,
    },
    /// A value is shorter than the rows of a table whose rows are whole values.
    #[error(
        "the value has {bytes} bytes, and each of the table's has {width}: write all of them, or encode the table afresh, \
for values of \
         any length"
    )]
    TooShort {
        /// Bytes of the value.
        bytes: usize,
        /// Bytes of each value of the table.
        width: usize,
    },
    /// Text is not UTF-8.
    #[error(
        "not UTF-8 from byte {at} of the value on: convert the file, or read the column as hex or base64"
    )]
    Utf8 {
        /// Offset of the first invalid byte.
        at: usize,
    },
    /// Text has a zero byte, which cannot be told from padding.
    #[error("the text has a zero byte, which marks the end of a text in a row")]
    ZeroByte,
    /// A text key has a zero byte, which no one can type.
    #[error(
        "the key has a zero byte: is the file UTF-16? convert it to UTF-8, or read keys as bytes (--key-form bytes)"
    )]
    ZeroByteInKey,
    /// A key is longer than the keys of the table.
    #[error(
        "the key has {bytes} bytes, keys of the table at most {limit}: encode the table afresh, for keys as long as \
         the file's longest"
    )]
    LongKey {
        /// Bytes of the key.
        bytes: u64,
        /// Bytes of the table's longest key.
        limit: u64,
    },
    /// An IPv6 address is in a table of ranges.
    #[error(
        "an IPv6 address, and range tables have IPv4 addresses only: leave the line out; single IPv6 addresses are keys of a \
         keyword table (--key COL --key-form ip)"
    )]
    Ipv6Range,
    /// A prefix has bits set after its length; this is the prefix with its first address.
    #[error("the address is not the first of its prefix, {0}: write that, or give first and last addresses")]
    HostBits(String),
    /// A range ends before it starts.
    #[error("the range ends before it starts")]
    Backwards,
    /// A key is below the table's first key or above its last.
    #[error("the key is outside the table's keys {first}..={last}")]
    OutsideKeys {
        /// First key of the table.
        first: u64,
        /// Last key of the table.
        last: u64,
    },
    /// Two ranges have a key in common.
    #[error("this range overlaps that of line {other}: each key needs one value")]
    Overlap {
        /// Line of the other range.
        other: u64,
    },
    /// Two lines are for the same row.
    #[error("row {row} is given twice (by the file's order or by its index column): each row needs one line")]
    Duplicate {
        /// Number of the row.
        row: u64,
    },
    /// A row number is larger than any table allows.
    #[error("row {row} is past the last row a table can have ({last})")]
    RowTooLarge {
        /// The row number found.
        row: u64,
        /// The largest row number allowed.
        last: u64,
    },
    /// A key does not have the table's form. The message does not repeat the key.
    #[error("{error}: {fix}", error = .0, fix = remedy(.0))]
    Key(KeyError),
    /// A key is in two lines.
    #[error("the key is the same as that of line {other}: each key needs one value")]
    SameKey {
        /// The other line.
        other: u64,
    },
    /// The keys cannot be arranged in any table.
    #[error("{0}")]
    Keys(BuildError),
    /// A value does not fit into a keyword table.
    #[error(
        "the value has {bytes} bytes, values of the table have {limit}: encode the table afresh, for longer values"
    )]
    Misfit {
        /// Bytes of the value.
        bytes: u64,
        /// Bytes of the table's longest value, or of all its values if they have one length.
        limit: u64,
    },
    /// A keyword table has no space for another key.
    #[error("the table has no room for another key: encode the table afresh, with room for more")]
    Full,
    /// The file has no rows.
    #[error("the source has no rows")]
    Empty,
    /// The length of a raw file is not a multiple of the row width.
    #[error("expected whole rows of {width} bytes, got {bytes} bytes")]
    PartialRow {
        /// Bytes of the file.
        bytes: u64,
        /// Bytes of a row.
        width: usize,
    },
    /// The options contradict the format or each other.
    #[error("{0}")]
    Options(&'static str),
}

/// Remedy for a key that does not have the table's form.
fn remedy(error: &KeyError) -> &'static str {
    match error {
        KeyError::Long { .. } => "leave the key out, or hash all keys (--key-form sha256)",
        _ => "check the form of the table's keys (--key-form)",
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
    /// Error about a file as a whole.
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
            (row, LineUnit::Row) => write!(f, ", row {row} (counted from 1)")?,
        }
        match (&self.column, self.unit) {
            (Some(ColumnName { name: Some(name), .. }), LineUnit::Row) => write!(f, ", column `{name}`")?,
            (Some(column), _) => write!(f, ", column {column}")?,
            (None, _) => {}
        }
        match (&self.problem, self.unit) {
            (IngestProblem::Overlap { other }, LineUnit::Row) => {
                write!(f, ": this range overlaps that of row {other}: each key needs one value")
            }
            (IngestProblem::SameKey { other }, LineUnit::Row) => {
                write!(f, ": the key is the same as that of row {other}: each key needs one value")
            }
            (problem, _) => write!(f, ": {problem}"),
        }
    }
}

impl std::error::Error for IngestError {}

impl ColumnName {
    /// Name of a column as it was requested.
    pub(crate) fn requested(column: &ColumnSelector) -> Self {
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

/// Number or name of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnSelector {
    /// Number of the column, from 1.
    Number(usize),
    /// Name of the column.
    Name(String),
}

impl FromStr for ColumnSelector {
    type Err = Infallible;
    /// Parses digits as a number, and anything else as a name.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.parse().map_or_else(|_| ColumnSelector::Name(text.to_owned()), ColumnSelector::Number))
    }
}

impl fmt::Display for ColumnSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnSelector::Number(number) => write!(f, "{number}"),
            ColumnSelector::Name(name) => f.write_str(name),
        }
    }
}

impl Diagnose for IngestError {
    fn diagnosis(&self) -> Diagnosis<'_> {
        use IngestProblem as P;
        let exit = match &self.problem {
            P::Read(error) if error.kind() == io::ErrorKind::NotFound => Exit::Missing,
            P::NoColumn { .. }
            | P::NoPart { .. }
            | P::OneColumn { .. }
            | P::NameTwice { .. }
            | P::Header { .. }
            | P::Options(_) => Exit::Usage,
            // An error of reading may be the disk or a damaged archive; the archive is far more likely.
            _ => Exit::Input,
        };
        ErrorKind::Misuse.diagnosis("bad-data", "").with_exit(exit)
    }
}
