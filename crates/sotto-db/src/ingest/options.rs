//! Which format, which columns, which kind of table.

use super::arrange::CostModel;
use super::error::LineUnit;
use super::value::ValueOptions;
use crate::table::BlockRule;
use sotto_catalog::{KeyKind, ValueKind};
use sotto_layers::keyword::KeyForm;
use sotto_prg::PublicSeed;
use std::convert::Infallible;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// How to read a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngestOptions {
    /// Its format.
    pub file: FileOptions,
    /// What its columns are.
    pub layout: SourceLayout,
}

/// The format of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileOptions {
    /// `None` to go by the file's name.
    pub format: Option<SourceFormat>,
    /// What stands between the columns of a CSV file; `None` for a tab if the file's name ends in `.tsv`, else a comma.
    pub delimiter: Option<u8>,
    /// Whether the first line of a CSV file names the columns. `None` to tell by what is asked for: it does if that
    /// is a column by
    /// name, and in a file of changes also if it has names of the table's columns.
    pub header: Option<bool>,
}

impl FileOptions {
    /// The format of a file.
    pub(crate) fn format_of(&self, path: &Path) -> Option<SourceFormat> {
        self.format.or_else(|| SourceFormat::of_name(path))
    }

    /// What stands between the columns of a CSV file.
    pub(crate) fn delimiter_of(&self, path: &Path) -> u8 {
        let is_tsv = ending(path).is_some_and(|ending| matches!(ending.as_str(), "tsv" | "tab"));
        self.delimiter.unwrap_or(if is_tsv { b'\t' } else { b',' })
    }

    /// What the file consists of.
    pub(crate) fn unit(&self, path: &Path) -> LineUnit {
        if self.format_of(path) == Some(SourceFormat::Parquet) { LineUnit::Row } else { LineUnit::Line }
    }
}

/// A format of lines with columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceFormat {
    /// Comma-separated values, also with another delimiter.
    Csv,
    /// One JSON object or array per line.
    Jsonl,
    /// Apache Parquet.
    Parquet,
}

impl SourceFormat {
    /// By the file's name; `.gz` and `.zst` at its end do not count.
    pub fn of_name(path: &Path) -> Option<Self> {
        match ending(path)?.as_str() {
            "csv" | "tsv" | "tab" => Some(SourceFormat::Csv),
            "jsonl" | "ndjson" => Some(SourceFormat::Jsonl),
            "parquet" => Some(SourceFormat::Parquet),
            _ => None,
        }
    }
}

/// The end of a file's name, in small letters; `.gz` and `.zst` do not count.
fn ending(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    name.rsplit_once('.').map(|(_, ending)| ending.to_owned())
}

impl FromStr for SourceFormat {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "csv" => Ok(SourceFormat::Csv),
            "jsonl" => Ok(SourceFormat::Jsonl),
            "parquet" => Ok(SourceFormat::Parquet),
            _ => Err("a format is one of csv, jsonl, parquet"),
        }
    }
}

/// Which column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnSelector {
    /// By number, from 1 on.
    Number(usize),
    /// By name.
    Name(String),
}

impl FromStr for ColumnSelector {
    type Err = Infallible;
    /// Digits are a number, anything else is a name.
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

/// What the file's columns are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceLayout {
    /// No columns: rows of this many bytes, one after the other.
    Raw {
        /// Bytes in a row.
        row_bytes: usize,
        /// What they mean.
        value: ValueKind,
    },
    /// One line, one row.
    Index(IndexOptions),
    /// One line, a key and its value.
    Keyword(KeywordOptions),
    /// One line, a range of keys.
    Range(RangeOptions),
}

/// The columns of an index table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexOptions {
    /// The value.
    pub value: ColumnSelector,
    /// The row's number; `None` for the order of the file.
    pub row: Option<ColumnSelector>,
    /// How values are written.
    pub values: ValueOptions,
}

/// The columns of a keyword table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeywordOptions {
    /// The key.
    pub key: ColumnSelector,
    /// What keys are.
    pub form: KeyForm,
    /// The value; `None` for a table of keys alone, which says whether a key is there.
    pub value: Option<ColumnSelector>,
    /// How values are written. A width is that of the longest value there may be.
    pub values: ValueOptions,
    /// Keys that there is to be room for besides those of the file.
    pub room: u64,
    /// Rows in which a key may lie; `None` for what costs least.
    pub probes: Option<u32>,
    /// Keys in a row; `None` for what costs least.
    pub slots: Option<u32>,
    /// Whether keys may lie in sums of rows.
    pub bands: BandPolicy,
    /// What costs are counted with; `None` for what is usual where nothing is known of the scheme.
    pub costing: Option<CostModel>,
    /// What keys are hashed with; drawn for this table.
    pub seed: PublicSeed,
}

/// Whether keys may lie in sums of rows, where the scheme adds rows up. No such row is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BandPolicy {
    /// They lie in rows.
    #[default]
    Never,
    /// If a lookup costs less, and rows would not be verified either, as proofs are not cheap.
    IfNoRowProofs,
    /// If a lookup costs less.
    IfCheaper,
    /// They lie in sums.
    Always,
}

/// The columns of a range table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeOptions {
    /// The range's first key.
    pub start: ColumnSelector,
    /// The range's last key.
    pub end: ColumnSelector,
    /// The value of all keys between.
    pub value: ColumnSelector,
    /// How values are written.
    pub values: ValueOptions,
    /// What a key is.
    pub key: KeyKind,
    /// Keys per row.
    pub block: u64,
    /// Which range gives a block its value, where several do.
    pub rule: BlockRule,
    /// The table's first key.
    pub first: u64,
    /// The table's last key; `None` for the last there can be if keys are addresses, else for the last
    /// key of any range.
    pub last: Option<u64>,
    /// The value of rows no range covers, as it would stand in the file.
    pub empty: String,
}

impl RangeOptions {
    /// Columns 1, 2 and 3 with text values, in blocks of `block` keys.
    pub fn new(key: KeyKind, block: u64) -> Self {
        RangeOptions {
            start: ColumnSelector::Number(1),
            end: ColumnSelector::Number(2),
            value: ColumnSelector::Number(3),
            values: ValueOptions::default(),
            key,
            block,
            rule: BlockRule::First,
            first: 0,
            last: None,
            empty: String::new(),
        }
    }
}
