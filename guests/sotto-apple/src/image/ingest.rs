//! Encodes a file of keys and values as the next epoch's file: CSV, JSON lines or Parquet, as
//! [`mod@sotto_db::ingest`] reads them.

use super::encode::{UseCaseOptions, UseCaseSummary, encode};
use super::error::ImageError;
use super::row_intake::RowIntake;
use sotto_db::encode::in_pool;
use sotto_db::ingest::FileOptions;
use sotto_db::ingest::{IngestProblem, KeyValueFile, LineError, Notes, PairColumns};
use sotto_db::{DbError, SourceColumns, Watcher, WriteLock};
use sotto_oprf::p384::SecretKey;
use std::path::Path;

/// A source file, and the options for reading it.
#[derive(Debug, Clone, Copy)]
pub struct SourceFile<'a> {
    /// Path of the file.
    pub path: &'a Path,
    /// Format of the file.
    pub file: &'a FileOptions,
    /// Columns of the file.
    pub columns: PairColumns<'a>,
}

/// Summary of a file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngestSummary {
    /// Columns of the file, for later files about the same table.
    pub origin: SourceColumns,
    /// Notes on the file.
    pub notes: Notes,
}

/// Reads a file of keys and values, and encodes it as the next epoch of a keyword table. The table
/// is symmetric if there is a key to seal its rows with.
///
/// # Errors
/// [`ImageError`], with the line of the error.
pub fn encode_file(
    from: SourceFile<'_>,
    how: &UseCaseOptions,
    sealing: Option<&SecretKey>,
    lock: &WriteLock,
    threads: Option<usize>,
    watch: Watcher<'_>,
) -> Result<(UseCaseSummary, IngestSummary), ImageError> {
    let pairs = KeyValueFile::new(from.path, from.file, from.columns, watch)?;
    let origin = pairs.origin()?;
    let mut intake = RowIntake::new(sealing, threads);
    let most = intake.most_bytes();
    let width = from.columns.values.width.map_or(most, |width| width.min(most));
    let mut notes = pairs.read(|key, value| {
        if value.len() > width {
            return Err(LineError::Line(IngestProblem::TooLong { bytes: value.len(), width }));
        }
        intake.push(key, value).map_err(|why| match why {
            ImageError::Db(error) => LineError::Db(error),
            ImageError::TooMany { .. } => {
                LineError::Line(IngestProblem::Options("more than 2^32 rows in one table"))
            }
            // The length of the value was checked before.
            _ => LineError::Line(IngestProblem::Options(
                "expected keys of at most 65535 bytes in a symmetric table",
            )),
        })
    })?;
    if notes.lines == 0 {
        return Err(DbError::from(pairs.fault(0, IngestProblem::Empty)).into());
    }
    let mut rows = intake.finish()?;
    if from.columns.value.is_none() {
        notes.repeated_keys = rows.drop_repeated();
    }
    let written = in_pool(threads, || encode(rows, how, lock, watch))?.or_else(|why| match why {
        ImageError::Twice { first, second } => {
            let [other, line] = pairs.lines([first, second])?;
            Err(DbError::from(pairs.fault(line, IngestProblem::SameKey { other })).into())
        }
        ImageError::TooLong { row, bytes, bucket } => {
            let [line, _] = pairs.lines([row, 0])?;
            Err(ImageError::LongLine { path: from.path.to_owned(), line, bytes, bucket })
        }
        other => Err(other),
    })?;
    Ok((written, IngestSummary { origin, notes }))
}
