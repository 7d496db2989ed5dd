//! Counts and widths of a source file's rows or keys, before anything is encoded.

use super::{IngestOptions, SourceLayout, ingest, keyword};
use crate::Result;
use crate::progress::Watcher;
use sotto_layers::keyword::KeyStats;
use std::path::Path;

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
