//! Source files, each streamed into a table of fixed-width rows.
//!
//! | module | what lives there |
//! |---|---|
//! | [`options`] | which format, which columns, which kind of table |
//! | `index` | index tables: one line, one row |
//! | [`pairs`] | keys and values, line by line |
//! | `keyword` | keyword tables: one line, a key and its value |
//! | [`arrange`] | which arrangement of a keyword table costs least |
//! | `range` | range tables: one line, a range of keys |
//! | [`survey`](mod@survey) | what a file comes to, before anything is encoded |
//! | [`value`] | how a value is written in the file, and what its bytes are |
//! | `reader` | a file as lines of the wanted columns, whatever its format |
//! | `csv`, `jsonl`, `parquet`, `raw` | one format each |
//! | `source` | a file's bytes, decompressed, counted and bounded |
//! | [`text`] | text files: UTF-8 behind an optional byte order mark |
//! | `key` | keys in their table's form, and what is odd about them |
//! | [`notes`] | what was found in a file, and what its owner should hear |
//! | [`error`] | what is wrong with source data, with line and column |

pub mod arrange;
pub(crate) mod csv;
pub mod error;
pub(crate) mod index;
pub(crate) mod jsonl;
pub(crate) mod key;
pub(crate) mod keyword;
pub mod notes;
pub mod options;
pub mod pairs;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub(crate) mod range;
pub(crate) mod raw;
pub(crate) mod reader;
pub(crate) mod source;
pub mod survey;
pub mod text;
pub mod value;

pub use arrange::{ArrangementLimits, CostModel, KeyArrangement, arrangement};
pub use error::{ColumnName, IngestError, IngestProblem, LineUnit};
pub use notes::{Notes, out_of_proportion};
pub use options::{
    BandPolicy, ColumnSelector, FileOptions, IndexOptions, IngestOptions, KeywordOptions, RangeOptions,
    SourceFormat, SourceLayout,
};
pub use pairs::{KeyValueFile, LineError, PairColumns};
pub use survey::{Survey, SurveyedData, survey};
pub use value::{Encoding, ValueOptions};

use crate::progress::Watcher;
use crate::source_columns::SourceColumns;
use crate::{Result, TableSource};
use sotto_catalog::{LayerEntry, TableKind, ValueKind};
use std::path::Path;

/// A table read from a file, ready to be encoded.
pub struct IngestedTable {
    /// Its rows.
    pub table: Box<dyn TableSource + Send>,
    /// How a user names a row.
    pub kind: TableKind,
    /// What a row's bytes mean.
    pub value: ValueKind,
    /// What says where a user's request lies in the rows, and how values lie there.
    pub layers: Vec<LayerEntry>,
    /// How the file was read, for the next one about the same table.
    pub origin: SourceColumns,
    /// What the operator should hear.
    pub notes: Notes,
}

/// Reads a file into a table. Temporary files go into the folder `scratch`.
///
/// Index tables are never in memory whole; range tables take 32 bytes per range, and
/// keyword tables at most 21 per key.
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
