//! Errors of use cases as files, with whose fault they are and what to do.

use crate::keyword::cuckoo::TableError;
use sotto_core::{Diagnose, Diagnosis, ErrorKind, Exit, ParamsError};
use sotto_db::DbError;
use std::path::PathBuf;

/// Why a use case could not be written, opened or updated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The file, or the folder it is in, cannot be used.
    #[error(transparent)]
    Db(#[from] DbError),
    /// The rows cannot make a table.
    #[error(transparent)]
    Table(#[from] TableError),
    /// Two rows have one key, or keys with the same hash.
    #[error(
        "rows {first} and {second} have the same key, or keys with the same hash (rows are counted from 1): leave \
         one out"
    )]
    Twice {
        /// Number of the first row, from 1.
        first: u64,
        /// Number of the second row, from 1.
        second: u64,
    },
    /// A row is too long for any bucket.
    #[error(
        "row {row} takes {bytes} bytes, a bucket has {bucket} (rows are counted from 1): make buckets larger"
    )]
    TooLong {
        /// Number of the row, from 1.
        row: u64,
        /// Bytes of the row in a bucket.
        bytes: usize,
        /// Bytes of a bucket.
        bucket: usize,
    },
    /// A line of a file makes a row that is too long for any bucket.
    #[error("{}, line {line}: the row takes {bytes} bytes, a bucket has {bucket}: make buckets larger", path.display())]
    LongLine {
        /// Path of the file.
        path: PathBuf,
        /// Number of the line.
        line: u64,
        /// Bytes of the row in a bucket.
        bytes: usize,
        /// Bytes of a bucket.
        bucket: usize,
    },
    /// The rows exceed the largest number of a table.
    #[error("more than {limit} rows in one table: encode several use cases")]
    TooMany {
        /// Largest number of rows.
        limit: u64,
    },
    /// The set is weak, or lookups in the table fail too often.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// An option requests something that does not exist.
    #[error("{0}")]
    Asked(String),
    /// The description in a file contradicts itself.
    #[error("{}: the description is inconsistent: {why}; encode the table afresh", path.display())]
    Description {
        /// Path of the file.
        path: PathBuf,
        /// Problem of the description.
        why: String,
    },
}

impl Diagnose for ImageError {
    fn diagnosis(&self) -> Diagnosis<'_> {
        let (exit, fix) = match self {
            ImageError::Db(error) => return Diagnosis { fix: "", ..error.diagnosis() },
            ImageError::Params(ParamsError::Insecure { .. }) => {
                (Exit::Params, "give another --set, or --allow-insecure-params")
            }
            ImageError::Params(_) | ImageError::TooMany { .. } => (Exit::Params, ""),
            ImageError::Asked(_) => (Exit::Usage, ""),
            ImageError::Table(TableError::NoPlace { .. }) => {
                (Exit::Input, "omit --buckets, or give more buckets or larger ones (--bucket-bytes)")
            }
            ImageError::TooLong { .. } | ImageError::LongLine { .. } => {
                (Exit::Input, "give a larger --bucket-bytes")
            }
            ImageError::Table(_) | ImageError::Twice { .. } | ImageError::Description { .. } => {
                (Exit::Input, "")
            }
        };
        ErrorKind::Misuse.diagnosis("encode", fix).with_exit(exit)
    }
}
