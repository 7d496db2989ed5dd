//! Source files, streamed into tables of fixed-width rows.
//!
//! | module | contents |
//! |---|---|
//! | [`options`] | the format of a file, its columns, and the kind of table to make |
//! | `index` | index tables: each line is a row, or all rows follow each other |
//! | [`pairs`] | keys, in their table's form, and values, line by line |
//! | `keyword` | keyword tables: each line is a key and its value; the arrangement that costs least |
//! | `range` | range tables: each line is a range of keys |
//! | [`value`] | how values are written in the file, and the meaning of their bytes |
//! | `column_reader` | reads the requested columns of a file line by line, whatever its format |
//! | `line_reader` | lines of a file and their cells; its bytes, decompressed, counted and bounded; text is UTF-8 |
//! | `csv`, `jsonl`, `parquet` | one format each |
//! | [`error`] | errors of source data, with line and column |

pub(crate) mod column_reader;
pub(crate) mod csv;
pub(crate) mod index;
pub(crate) mod jsonl;
pub(crate) mod keyword;
pub(crate) mod line_reader;
pub mod options;
pub mod pairs;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub(crate) mod range;
pub mod value;

pub use crate::error::ingest as error;
use crate::progress::Watcher;
use crate::sidecars::SourceColumns;
use crate::table::BlockRule;
use crate::{Result, TableSource};
pub use column_reader::ChangeFile;
pub use error::{ColumnName, IngestError, IngestProblem, LineUnit};
pub use keyword::{ArrangementLimits, KeyArrangement, arrangement};
pub use line_reader::{Text, open_text};
pub use options::{
    BandPolicy, ColumnSelector, CostModel, FileOptions, IndexOptions, IngestOptions, KeywordOptions,
    RangeOptions, SourceFormat, SourceLayout,
};
pub use pairs::{KeyValueFile, LineError, PairColumns};
use serde::Serialize;
use sotto_catalog::{LayerEntry, TableKind, ValueKind};
use sotto_layers::keyword::KeyStats;
use std::path::Path;
pub use value::{Encoding, ValueOptions};

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
        SourceLayout::Raw { row_bytes, value } => index::build_raw(path, *row_bytes, *value, scratch, watch),
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

/// Counts of what was found in a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Notes {
    /// Lines read, without the header.
    pub lines: u64,
    /// Rows without a line; they hold zero bytes.
    pub missing_rows: u64,
    /// Blocks with keys of more than one value, of which a row can hold only one.
    pub mixed_blocks: u64,
    /// Lines of a CSV file that begin with `#`; they were read like all others.
    pub comment_lines: u64,
    /// The likely delimiter of a CSV file whose lines have one column, each with this character in
    /// it.
    pub undivided: Option<char>,
    /// Keys of a set that occurred before.
    pub repeated_keys: u64,
    /// Keys that begin with `*.`; a wildcard matches no other key.
    pub wildcard_keys: u64,
    /// Text keys that are telephone numbers with separators between the digits.
    pub spaced_numbers: u64,
    /// Text keys that are hashes in hexadecimal digits; the other letter case is a different key.
    pub digest_keys: u64,
}

impl Notes {
    /// Remarks for the file's owner, each a sentence with its remedy.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let mut add = |count: u64, remark: &str| {
            if count > 0 {
                remarks.push(format!("{count} {remark}"));
            }
        };
        add(self.missing_rows, "rows have no line in the file and hold zero bytes");
        add(
            self.mixed_blocks,
            "blocks have keys with different values, of which a row holds only one (see --block-value)",
        );
        add(
            self.comment_lines,
            "lines begin with # and were read like all others: remove comments from the file",
        );
        add(self.repeated_keys, "keys are repeated in the file, and the table has each once");
        add(
            self.wildcard_keys,
            "keys begin with *., and a lookup of a name below does not find them: give the name without *., and \
             have clients look up each parent of a name",
        );
        add(
            self.spaced_numbers,
            "keys are telephone numbers with signs between the digits, which phones do not send: --key-form phone \
             removes the signs",
        );
        add(
            self.digest_keys,
            "keys are hexadecimal digits and differ by case: --key-form md5, sha1 or sha256 accepts either case",
        );
        if let Some(delimiter) = self.undivided {
            let delimiter = delimiter.escape_default();
            remarks.push(format!(
                "each line has one column that contains {delimiter}: if that separates columns, pass --delimiter \
                 '{delimiter}'"
            ));
        }
        remarks
    }
}

/// Remark about blocks that ranges of an update cover partly.
pub(crate) fn of_partial_blocks(blocks: u64, rule: BlockRule) -> Option<String> {
    let of_rule = match rule {
        BlockRule::First => "a block changes if its first key does (--block-value first)",
        BlockRule::Most => {
            "a block changes if most of its keys have the new value, where all others count with the old one \
             (--block-value most)"
        }
    };
    (blocks > 0).then(|| format!("{blocks} blocks are covered in part, and each holds one value: {of_rule}"))
}

/// Bytes of an image that is never remarked on, whatever the file.
const DEFAULT_IMAGE_BYTES: u64 = 64 << 20;

/// Ratio of an image's bytes to the file's bytes above which there is a remark.
const DEFAULT_RATIO: u64 = 100;

/// Remark about an image that is out of proportion to its file.
pub fn out_of_proportion(image_bytes: u64, file_bytes: u64) -> Option<String> {
    (image_bytes > DEFAULT_IMAGE_BYTES && image_bytes / DEFAULT_RATIO > file_bytes).then(|| {
        format!(
            "images have {} MiB, for a file of {file_bytes} bytes: `sotto plan` shows schemes with smaller ones; a range table \
             gets smaller with larger blocks (--block), or between --first and --last; an index table without gaps (--row)",
            image_bytes >> 20
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_out_of_proportion_is_remarked() {
        let (mib, gib) = (1 << 20, 1 << 30);
        assert_eq!(out_of_proportion(DEFAULT_IMAGE_BYTES, 7), None, "small tables have their minimum");
        assert_eq!(out_of_proportion(2 * gib, gib), None);
        assert!(out_of_proportion(2 * gib, 90).unwrap().contains("2048 MiB, for a file of 90 bytes"));
        assert!(out_of_proportion(864 * mib, 200_000).unwrap().contains("--block"));
    }
}
