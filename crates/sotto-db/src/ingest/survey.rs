//! What a source file comes to, before anything is encoded: how many rows or keys, and how wide.

use super::{IngestOptions, SourceLayout, ingest, keyword};
use crate::Result;
use crate::progress::Watcher;
use sotto_layers::keyword::KeyStats;
use std::path::Path;

/// What there is in a file.
#[derive(Debug, Clone)]
pub struct Survey {
    /// Lines read.
    pub lines: u64,
    /// What they come to.
    pub table: SurveyedData,
}

/// Rows, or keys.
#[derive(Debug, Clone)]
pub enum SurveyedData {
    /// A table of rows, of one width.
    Rows {
        /// How many.
        rows: u64,
        /// Bytes of each, as it is stored.
        row_bytes: u64,
    },
    /// Keys, and how long their values are. How they lie in rows is still open.
    Keys(Box<KeyStats>),
}

/// Reads a file as [`ingest`] does, and counts. Temporary files go into the folder `scratch`.
///
/// # Errors
/// Those of [`ingest`].
pub fn survey(path: &Path, options: &IngestOptions, scratch: &Path, watch: Watcher<'_>) -> Result<Survey> {
    if let SourceLayout::Keyword(keys) = &options.layout {
        let (counted, lines) = keyword::count(path, &options.file, keys, watch)?;
        return Ok(Survey { lines, table: SurveyedData::Keys(Box::new(counted)) });
    }
    let read = ingest(path, options, scratch, watch)?;
    let (rows, row_bytes) = (read.table.rows(), read.table.row_bytes() as u64);
    Ok(Survey { lines: read.notes.lines, table: SurveyedData::Rows { rows, row_bytes } })
}
