//! Whose fault, and what to do.

use crate::keyword::cuckoo::TableError;
use sotto_core::ParamsError;
use sotto_db::DbError;
use std::path::PathBuf;

/// Why a use case could not be written, opened or updated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The file, or the folder it is in.
    #[error(transparent)]
    Db(#[from] DbError),
    /// Rows that make no table.
    #[error(transparent)]
    Table(#[from] TableError),
    /// Two rows with one key, or keys that are known by one hash.
    #[error(
        "rows {first} and {second} have the same key, or keys of the same hash (rows count from 1): leave one out"
    )]
    Twice {
        /// The number of one, from 1 on.
        first: u64,
        /// The number of the other.
        second: u64,
    },
    /// A row that no bucket holds.
    #[error(
        "row {row} takes {bytes} bytes of a bucket, which has {bucket} (rows count from 1): make buckets larger"
    )]
    TooLong {
        /// Its number, from 1 on.
        row: u64,
        /// The bytes it takes.
        bytes: usize,
        /// The bytes of a bucket.
        bucket: usize,
    },
    /// The same of a line of a file.
    #[error("{}, line {line}: the row takes {bytes} bytes of a bucket, which has {bucket}: make buckets larger", path.display())]
    LongLine {
        /// The file.
        path: PathBuf,
        /// The line.
        line: u64,
        /// The bytes it takes.
        bytes: usize,
        /// The bytes of a bucket.
        bucket: usize,
    },
    /// More rows than a table has numbers for.
    #[error("more than {most} rows in one table: encode several use cases")]
    TooMany {
        /// The most there may be.
        most: u64,
    },
    /// A set that is weak, or a table that fails too often.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// Something was asked for that there is not.
    #[error("{0}")]
    Asked(String),
    /// What a file says of itself contradicts itself.
    #[error("{}: the description contradicts itself: {why}; encode the table afresh", path.display())]
    Description {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}
