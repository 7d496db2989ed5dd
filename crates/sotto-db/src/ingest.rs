//! Source files, streamed into tables of fixed-width rows.
//!
//! | module | contents |
//! |---|---|
//! | [`options`] | the format of a file, its columns, and the kind of table to make |
//! | `index` | index tables: each line is a row |
//! | [`pairs`] | keys and values, line by line |
//! | `keyword` | keyword tables: each line is a key and its value |
//! | [`arrange`] | chooses the arrangement of a keyword table that costs least |
//! | `range` | range tables: each line is a range of keys |
//! | [`value`] | how values are written in the file, and the meaning of their bytes |
//! | `column_reader` | reads the requested columns of a file line by line, whatever its format |
//! | `line_reader` | lines of a file: their cells, and the trait of their readers |
//! | `csv`, `jsonl`, `parquet`, `raw` | one format each |
//! | `source` | a file's bytes, decompressed, counted and bounded |
//! | [`text`] | text files: UTF-8 after an optional byte order mark |
//! | `key` | reads keys in their table's form, and notes suspicious ones |
//! | [`notes`] | notes on a file for its owner |
//! | [`error`] | errors of source data, with line and column |

pub mod arrange;
pub(crate) mod column_reader;
pub(crate) mod csv;
pub(crate) mod index;
pub(crate) mod jsonl;
pub(crate) mod key;
pub(crate) mod keyword;
pub(crate) mod line_reader;
pub mod notes;
pub mod options;
pub mod pairs;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub(crate) mod range;
pub(crate) mod raw;
pub(crate) mod source;
pub mod text;
pub mod value;

pub use crate::error::ingest as error;
pub use arrange::{ArrangementLimits, KeyArrangement, arrangement};
pub use error::{ColumnName, IngestError, IngestProblem, LineUnit};
pub use notes::{Notes, out_of_proportion};
pub use options::{
    BandPolicy, ColumnSelector, CostModel, FileOptions, IndexOptions, IngestOptions, KeywordOptions,
    RangeOptions, SourceFormat, SourceLayout,
};
pub use pairs::{KeyValueFile, LineError, PairColumns};
pub use value::{Encoding, ValueOptions};

use crate::progress::Watcher;
use crate::sidecars::SourceColumns;
use crate::{Result, TableSource};
use sotto_catalog::{LayerEntry, TableKind, ValueKind};
use sotto_layers::keyword::KeyStats;
use std::path::Path;

/// A table read from a source file, ready to be encoded.
pub struct IngestedTable {
    /// The table's rows.
    pub table: Box<dyn TableSource + Send>,
    /// Kind of the table, which says how users name a row.
    pub kind: TableKind,
    /// Meaning of a row's bytes.
    pub value: ValueKind,
    /// Layers that find a user's lookup in the rows and read values out of them.
    pub layers: Vec<LayerEntry>,
    /// Columns of the source file, for later files about the same table.
    pub origin: SourceColumns,
    /// Notes on the source file for the operator.
    pub notes: Notes,
}

/// Reads a file into a table. Temporary files are written to the folder `scratch`.
///
/// Index tables are never in memory as a whole; range tables take 32 bytes per range, and keyword
/// tables at most 21 bytes per key.
///
/// # Errors
/// [`crate::DbError::Ingest`] with file, line and column; [`crate::DbError::Io`].
pub fn ingest(
    path: &Path,
    options: &IngestOptions,
    scratch: &Path,
    watch: Watcher<'_>,
) -> Result<IngestedTable> {
    match &options.layout {
        SourceLayout::Raw { row_bytes, value } => raw::build(path, *row_bytes, *value, scratch, watch),
        SourceLayout::Index(index) => index::build(path, &options.file, index, scratch, watch),
        SourceLayout::Keyword(keyword) => keyword::build(path, &options.file, keyword, scratch, watch),
        SourceLayout::Range(range) => range::build(path, &options.file, range, watch),
    }
}

/// Contents of a source file.
#[derive(Debug, Clone)]
pub struct Survey {
    /// Number of lines read.
    pub lines: u64,
    /// The rows or keys in the lines.
    pub table: SurveyedData,
}

/// Rows, or keys, of a source file.
#[derive(Debug, Clone)]
pub enum SurveyedData {
    /// A table of rows of one width.
    Rows {
        /// Number of rows.
        rows: u64,
        /// Bytes of each stored row.
        row_bytes: u64,
    },
    /// Keys, and lengths of their values. Their arrangement in rows is still open.
    Keys(Box<KeyStats>),
}

/// Reads a file as [`ingest`] does, and counts its rows or keys. Temporary files are written to the
/// folder `scratch`.
///
/// # Errors
/// The errors of [`ingest`].
pub fn survey(path: &Path, options: &IngestOptions, scratch: &Path, watch: Watcher<'_>) -> Result<Survey> {
    if let SourceLayout::Keyword(keys) = &options.layout {
        let (counted, lines) = keyword::count(path, &options.file, keys, watch)?;
        return Ok(Survey { lines, table: SurveyedData::Keys(Box::new(counted)) });
    }
    let read = ingest(path, options, scratch, watch)?;
    let (rows, row_bytes) = (read.table.rows(), read.table.row_bytes() as u64);
    Ok(Survey { lines: read.notes.lines, table: SurveyedData::Rows { rows, row_bytes } })
}
