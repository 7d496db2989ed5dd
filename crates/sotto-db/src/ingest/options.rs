//! Options of ingestion: the format of a file, its columns, and the kind of table.

use super::error::LineUnit;
use super::value::ValueOptions;
pub use crate::error::ingest::ColumnSelector;
use crate::table::BlockRule;
use sotto_catalog::{KeyKind, ValueKind};
use sotto_core::{Goal, SchemeEntry};
use sotto_layers::keyword::KeyForm;
use sotto_prg::PublicSeed;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// Options for reading a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngestOptions {
    /// Format of the file.
    pub file: FileOptions,
    /// Meaning of the file's columns.
    pub layout: SourceLayout,
}

impl IngestOptions {
    /// The options with a number of rows for each key, unless they give one.
    pub(crate) fn with_probes(&self, probes: Option<u32>) -> Self {
        let mut options = self.clone();
        if let SourceLayout::Keyword(keyword) = &mut options.layout {
            keyword.probes = keyword.probes.or(probes);
        }
        options
    }
}

/// Format of a source file and of its lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileOptions {
    /// Format of the file; `None` decides by the file's name.
    pub format: Option<SourceFormat>,
    /// Delimiter between the columns of a CSV file; `None` for a tab if the file's name ends in
    /// `.tsv`, else a comma.
    pub delimiter: Option<u8>,
    /// Whether the first line of a CSV file names the columns. `None` decides by what is requested:
    /// the first line is a header if a column is requested by name, and in a file of changes also
    /// if it has the names of the table's columns.
    pub header: Option<bool>,
}

impl FileOptions {
    /// The format of a file, given or by its name.
    pub(crate) fn format_of(&self, path: &Path) -> Option<SourceFormat> {
        self.format.or_else(|| SourceFormat::of_name(path))
    }

    /// The delimiter between the columns of a CSV file, given or by its name.
    pub(crate) fn delimiter_of(&self, path: &Path) -> u8 {
        let is_tsv = ending(path).is_some_and(|ending| matches!(ending.as_str(), "tsv" | "tab"));
        self.delimiter.unwrap_or(if is_tsv { b'\t' } else { b',' })
    }

    /// The unit that the file consists of.
    pub(crate) fn unit(&self, path: &Path) -> LineUnit {
        if self.format_of(path) == Some(SourceFormat::Parquet) { LineUnit::Row } else { LineUnit::Line }
    }
}

/// Format of files of lines with columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceFormat {
    /// Comma-separated values, or another delimiter.
    Csv,
    /// One JSON object or array per line.
    Jsonl,
    /// Apache Parquet.
    Parquet,
}

impl SourceFormat {
    /// The format for a file's name, ignoring `.gz` and `.zst` at its end.
    pub fn of_name(path: &Path) -> Option<Self> {
        match ending(path)?.as_str() {
            "csv" | "tsv" | "tab" => Some(SourceFormat::Csv),
            "jsonl" | "ndjson" => Some(SourceFormat::Jsonl),
            "parquet" => Some(SourceFormat::Parquet),
            _ => None,
        }
    }
}

/// The extension of a file's name in lower case, ignoring `.gz` and `.zst`.
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
            _ => Err("expected a format of csv, jsonl, parquet"),
        }
    }
}

/// Meaning of a file's columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceLayout {
    /// A file without columns: rows of this many bytes, one after the other.
    Raw {
        /// Bytes in a row.
        row_bytes: usize,
        /// Meaning of a row's bytes.
        value: ValueKind,
    },
    /// An index table: each line is a row.
    Index(IndexOptions),
    /// A keyword table: each line is a key and its value.
    Keyword(KeywordOptions),
    /// A range table: each line is a range of keys.
    Range(RangeOptions),
}

/// Columns of an index table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexOptions {
    /// Column of the value.
    pub value: ColumnSelector,
    /// Column of the row number; `None` numbers rows by their order in the file.
    pub row: Option<ColumnSelector>,
    /// Encoding and width of the values.
    pub values: ValueOptions,
}

/// Columns of a keyword table, and options of its arrangement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeywordOptions {
    /// Column of the key.
    pub key: ColumnSelector,
    /// Form of the keys.
    pub form: KeyForm,
    /// Column of the value; `None` for a table of keys alone, which says whether a key exists.
    pub value: Option<ColumnSelector>,
    /// Encoding of the values. Its width is that of the longest value allowed.
    pub values: ValueOptions,
    /// Number of keys to reserve space for besides those of the file.
    pub headroom: u64,
    /// Number of rows in which a key may be stored; `None` for the cheapest.
    pub probes: Option<u32>,
    /// Keys in a row; `None` for the cheapest.
    pub slots: Option<u32>,
    /// Whether keys may be stored in sums of rows.
    pub bands: BandPolicy,
    /// Costs to minimize; `None` for defaults that suit an unknown scheme.
    pub costing: Option<CostModel>,
    /// Seed of the hash functions of keys, drawn for this table.
    pub seed: PublicSeed,
}

impl KeywordOptions {
    /// Options for text values, with keys and values in columns 1 and 2, for an unknown scheme.
    pub fn new(form: KeyForm, seed: PublicSeed) -> Self {
        KeywordOptions {
            key: ColumnSelector::Number(1),
            form,
            value: Some(ColumnSelector::Number(2)),
            values: ValueOptions::default(),
            headroom: 0,
            probes: None,
            slots: None,
            bands: BandPolicy::Never,
            costing: None,
            seed,
        }
    }
}

/// Costs of arrangements of a keyword table, for one scheme and workload.
#[derive(Clone)]
pub struct CostModel {
    /// Scheme that serves the table.
    pub entry: &'static SchemeEntry,
    /// Expected number of lookups that one client makes per epoch.
    pub lookups_per_client: u64,
    /// Objective to minimize.
    pub goal: Goal,
    /// Name of the scheme's parameter set, if one is requested.
    pub set: Option<String>,
    /// Number of keys in a round of a batch code; `None` for lookups of one key.
    pub batch: Option<usize>,
}

impl fmt::Debug for CostModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CostModel { entry, lookups_per_client, goal, set, batch } = self;
        let mut tuple = f.debug_tuple("CostModel");
        tuple.field(&entry.id).field(lookups_per_client).field(goal).field(set).field(batch).finish()
    }
}

impl PartialEq for CostModel {
    fn eq(&self, other: &Self) -> bool {
        let all = |costing: &CostModel| {
            (costing.entry.id.0, costing.lookups_per_client, costing.goal, costing.set.clone(), costing.batch)
        };
        all(self) == all(other)
    }
}

impl Eq for CostModel {}

/// Whether keys may be stored in sums of rows, where the scheme adds rows up. Such rows are not
/// verified one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BandPolicy {
    /// Keys are stored in rows.
    #[default]
    Never,
    /// Keys are stored in sums if a lookup then costs less, and if rows would not be verified
    /// either because proofs are not cheap.
    IfNoRowProofs,
    /// Keys are stored in sums if a lookup then costs less.
    IfCheaper,
    /// Keys are stored in sums.
    Always,
}

/// Columns of a range table, and its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeOptions {
    /// Column of a range's first key.
    pub start: ColumnSelector,
    /// Column of a range's last key.
    pub end: ColumnSelector,
    /// Column of the value of all keys in a range.
    pub value: ColumnSelector,
    /// Encoding and width of the values.
    pub values: ValueOptions,
    /// Kind of the keys.
    pub key: KeyKind,
    /// Number of keys per row.
    pub block: u64,
    /// Rule for blocks that several ranges cover.
    pub rule: BlockRule,
    /// First key of the table.
    pub first: u64,
    /// Last key of the table; `None` for the last possible key if keys are addresses, else for the
    /// last key of any range.
    pub last: Option<u64>,
    /// Value of rows that no range covers, as it would be written in the file.
    pub empty: String,
}

impl RangeOptions {
    /// Options for text values in blocks of `block` keys, with first key, last key and value in
    /// columns 1, 2 and 3.
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
