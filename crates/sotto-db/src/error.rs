//! Errors of this crate, with whose fault they are and what to do.

pub mod ingest;

use crate::file_kind::FileKind;
use ingest::IngestError;
use sotto_catalog::{CatalogError, PublicKey};
use sotto_core::{Diagnose, Diagnosis, Epoch, Error, ErrorKind, Exit, Misuse};
use sotto_oprf::OprfError;
use std::io;
use std::path::{Path, PathBuf};

/// Why a table could not be read, encoded, opened or updated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DbError {
    /// A file could not be read or written.
    #[error("{}: {what}: {source}", path.display())]
    Io {
        /// The operation that failed.
        what: &'static str,
        /// Path of the file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The disk of this file is full. No half-written file is left behind.
    #[error("{}: the disk is full: free some space, then run this again", .0.display())]
    DiskFull(PathBuf),
    /// A file is not a valid image.
    #[error("{}: {problem}", path.display())]
    Image {
        /// Path of the file.
        path: PathBuf,
        /// The problem of the image.
        problem: ImageProblem,
    },
    /// The source data breaks a rule.
    #[error(transparent)]
    Ingest(#[from] Box<IngestError>),
    /// A catalog or a key was refused.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The publisher's log cannot be read or extended.
    #[error("the catalog log in {}: {source}", folder.display())]
    Log {
        /// Folder of the log.
        folder: PathBuf,
        /// The error of the log.
        source: Box<sotto_tlog::LogError>,
    },
    /// The scheme refused the table or its parameters.
    #[error(transparent)]
    Scheme(#[from] sotto_core::Error),
    /// This folder is locked by another process.
    #[error("{}: another process is writing to this table: wait for it to end, then run this again", .0.display())]
    Locked(PathBuf),
    /// This folder holds no image.
    #[error("{}: no table here yet: encode one first", .0.display())]
    Empty(PathBuf),
    /// A stack or a table of another protocol is at a path where only a table can be used.
    #[error("{}: expected a table, got {found}", path.display())]
    NotATable {
        /// The path given.
        path: PathBuf,
        /// Description of what is at the path.
        found: &'static str,
    },
    /// The epoch is not in the folder.
    #[error("{}: no epoch {epoch} here", dir.display())]
    NoEpoch {
        /// The table's folder.
        dir: PathBuf,
        /// The requested epoch.
        epoch: Epoch,
    },
    /// The folder already belongs to a table with another name.
    #[error(
        "{}: the folder holds table {found:?}, not {expected:?}: use another folder, or name the table {found:?}",
        dir.display()
    )]
    OtherTable {
        /// The table's folder.
        dir: PathBuf,
        /// The table name in the folder's images.
        found: String,
        /// The requested table name.
        expected: String,
    },
    /// The folder's images are signed with another key.
    #[error(
        "{}: the epochs here are signed by {found}, not {given}: clients that pinned the key would refuse the next \
         epoch; give the same key, or publish from another folder",
        dir.display()
    )]
    OtherKey {
        /// The table's folder.
        dir: PathBuf,
        /// Public key of the newest epoch.
        found: Box<PublicKey>,
        /// Public key given by the caller.
        given: PublicKey,
    },
    /// A signing key cannot replace the current one.
    #[error("{}: the signing key cannot be replaced: {why}", dir.display())]
    CannotRotate {
        /// The table's folder.
        dir: PathBuf,
        /// Reason why it cannot replace the current one.
        why: &'static str,
    },
    /// This key file can be read by other users.
    #[error("{}: the key file can be read by other users: chmod 600 it, and consider making a new key", .0.display())]
    KeyExposed(PathBuf),
    /// The key that opens the rows of a symmetric table is missing at this path.
    #[error(
        "{}: the OPRF key, which opens the rows of this symmetric table, is missing: restore the file; without it, \
         remove the table's epochs and encode the table afresh, with a new key",
        .0.display()
    )]
    NoOprfKey(PathBuf),
    /// A file is not a valid key of a symmetric table, or is the key of another table.
    #[error("{}: {why}", path.display())]
    OprfKey {
        /// Path of the file.
        path: PathBuf,
        /// The problem of the key.
        why: OprfError,
    },
    /// The next epoch of the masked table in this folder would be unmasked.
    #[error(
        "{}: the table here is symmetric, and its next epoch would not be: encode it with --symmetric, or into \
         another folder",
        .0.display()
    )]
    WasMasked(PathBuf),
    /// The tables of this scheme cannot be split into parts.
    #[error(
        "scheme {0} cannot split a table into parts (its README says why, under \"Tables in parts\"): leave \
         --parts out, or choose another scheme"
    )]
    CannotCut(String),
    /// The table cannot be split into as many parts as requested.
    #[error("the table can be split into at most {limit} parts, not {parts}: choose fewer")]
    TooManyParts {
        /// Number of parts requested.
        parts: u32,
        /// Largest number of parts.
        limit: u32,
    },
    /// A part of a table is invalid.
    #[error("{}: {why}", path.display())]
    Part {
        /// Path of the part.
        path: PathBuf,
        /// The problem of the part.
        why: PartProblem,
    },
    /// The source differs from the one that this front of the table was made from.
    #[error(
        "{}: the rows of this source differ from those of the front: give the same file and the same options, or \
         make the table's next epoch",
        .0.display()
    )]
    OtherRows(PathBuf),
    /// The newest epoch of the folder is not in parts, or in another number of parts.
    #[error("{}: the newest epoch here is {found}: encode the front first (--parts {parts} --part front)", dir.display())]
    NoFront {
        /// The table's folder.
        dir: PathBuf,
        /// Contents of the newest epoch's file.
        found: FileKind,
        /// Number of parts requested.
        parts: u32,
    },
    /// This scheme cannot re-encode only what changed.
    #[error("scheme {0} cannot update a table: encode it afresh, which makes the next epoch")]
    CannotUpdate(String),
    /// The rows stored for updates are invalid.
    #[error("{}: {why}: encode the table afresh, which makes the next epoch", path.display())]
    Rows {
        /// Path of the file.
        path: PathBuf,
        /// The problem of the file.
        why: &'static str,
    },
    /// The tables of the stack in this folder are not the buckets of a batch code.
    #[error("{}: the stack was not made by `sotto encode --batch`: make its next epoch as the first was made", .0.display())]
    NoBatch(PathBuf),
    /// This folder holds a table where a stack is to be made.
    #[error(
        "{}: expected a stack of tables in the directory, got a table: give another directory, or make no stack",
        .0.display()
    )]
    NoStack(PathBuf),
    /// The new epoch does not belong to the stack in the folder.
    #[error("{}: {why}: encode into another directory", dir.display())]
    OtherStack {
        /// The stack's folder.
        dir: PathBuf,
        /// The difference.
        why: String,
    },
    /// A round of the batch code takes more queries than one request allows.
    #[error(
        "a round needs {visits} queries to the whole table, and a request holds {max}: choose another round size, \
         or narrower rows"
    )]
    NoRoomInRequest {
        /// Number of queries per round to the whole table.
        visits: usize,
        /// Largest number of queries in a request.
        max: usize,
    },
    /// The batch code takes more tables than a stack may have.
    #[error(
        "the round size needs {tables} tables, and a stack holds {limit}: choose smaller rounds, or a scheme with \
         several buckets in one table"
    )]
    TooManyTables {
        /// Number of tables that the code takes.
        tables: usize,
        /// Largest number of tables in a stack.
        limit: usize,
    },
    /// This file, the stored description of a table's source, is invalid.
    #[error(
        "{}: the file does not describe how the table's source was read: remove it and name the columns, or encode \
         the table afresh",
        .0.display()
    )]
    Source(PathBuf),
    /// This changes file contains no change.
    #[error("{}: the file has no changed rows, so there is nothing to do", .0.display())]
    NoChanges(PathBuf),
    /// The changes cover only parts of blocks and give no block another value.
    #[error(
        "{}: nothing to do: the ranges cover {blocks} blocks in part, and {why}: give whole blocks, or encode the \
         table afresh",
        path.display()
    )]
    PartOfBlocks {
        /// Path of the changes file.
        path: PathBuf,
        /// Number of blocks that are partly covered.
        blocks: u64,
        /// The rule for partly covered blocks.
        why: &'static str,
    },
    /// An appended row does not fit into the table's records.
    #[error(
        "row {row} does not fit: the table has room for {capacity} rows until it is encoded afresh (which makes the \
         next epoch, and every client fetches everything again; `sotto encode --headroom N` leaves room for N more)"
    )]
    PastCapacity {
        /// Number of the row.
        row: u64,
        /// Number of rows that fit.
        capacity: u64,
    },
    /// The thread pool cannot be started.
    #[error("the thread pool could not be started: {0}")]
    Threads(io::Error),
}

/// Problem of an image file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageProblem {
    /// The file is of another kind.
    #[error("this is not a sotto image")]
    NotAnImage,
    /// The file was written by another version of the format.
    #[error("expected image format 1, got format {found}: encode the table afresh, or upgrade sotto")]
    Version {
        /// Version of the format that the file names.
        found: u32,
    },
    /// The file is shorter or longer than its header says.
    #[error(
        "the file has {have} bytes, its header says {want}: it was truncated or appended to; copy it again, or \
         encode the table afresh"
    )]
    Length {
        /// Bytes in the file.
        have: u64,
        /// Bytes that the header names.
        want: u64,
    },
    /// The file is a table of another protocol, which has no catalog.
    #[error("this is a table of Apple's protocol: `sotto serve --apple` serves it")]
    Foreign,
    /// The file is a table with a catalog where one of another protocol is required.
    #[error("this is not a table of Apple's protocol: `sotto serve` serves it without --apple")]
    NotForeign,
    /// The file holds this piece of a table in parts where another piece is required.
    #[error(
        "this is {0}: open the directory, which has all parts of the table; `sotto inspect` shows a single \
         one"
    )]
    Piece(FileKind),
    /// This part of the file does not match its digest.
    #[error("{0} does not match its digest: the file is damaged; copy it again, or encode the table afresh")]
    Digest(&'static str),
    /// These rows differ from those that the publisher signed.
    #[error(
        "the {0} differ from those that the publisher signed: do not serve the file; copy it again from the \
         publisher, or encode the table afresh"
    )]
    Rows(&'static str),
    /// The file was written to or cut short since it was opened.
    #[error(
        "the file was written to or truncated while it was open: put a complete image in its place (copy it under \
         another name, then rename it), or encode the table afresh"
    )]
    Changed,
    /// The header matches its digest but contradicts itself, in this way.
    #[error("the header is inconsistent: {0}; encode the table afresh")]
    Malformed(&'static str),
    /// The catalog in the file was refused.
    #[error("the catalog in the file: {0}")]
    Catalog(CatalogError),
}

impl DbError {
    /// Wraps an error of the file system, and tells a full disk from other errors.
    pub(crate) fn io(what: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DbError::DiskFull(path),
            _ => DbError::Io { what, path, source },
        }
    }

    /// Wraps an error of a scheme, which may come from the storage under it.
    pub(crate) fn scheme(path: &Path, error: sotto_core::Error) -> Self {
        match error {
            sotto_core::Error::Storage(source) => DbError::io("encoding", path, source),
            other => other.into(),
        }
    }

    /// Whether a file does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, DbError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

impl From<Misuse> for DbError {
    fn from(misuse: Misuse) -> Self {
        DbError::Scheme(misuse.into())
    }
}

impl From<IngestError> for DbError {
    fn from(error: IngestError) -> Self {
        Box::new(error).into()
    }
}

/// Problem of a part of a table. Parts are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartProblem {
    /// The part is missing.
    #[error(
        "part {part} of the table is missing, which every answer needs: copy it here, or make it with `sotto encode \
         --part {part}`"
    )]
    Missing {
        /// Number of the part.
        part: u32,
    },
    /// The file is another piece than its name says.
    #[error("expected part {part} of the table, got {found}: copy the right file here, or make it again")]
    Misplaced {
        /// Number of the part.
        part: u32,
        /// Contents of the file.
        found: FileKind,
    },
    /// The part belongs to another epoch, or to another encoding of the same one.
    #[error(
        "part {part} is of another encoding (epoch {found}) than the table's front (epoch {expected}): copy the \
         matching part here, or make it with `sotto encode --part {part}`"
    )]
    OtherEpoch {
        /// Number of the part.
        part: u32,
        /// Epoch of the part.
        found: Epoch,
        /// Epoch of the front.
        expected: Epoch,
    },
}

impl Diagnose for DbError {
    fn diagnosis(&self) -> Diagnosis<'_> {
        let (misuse, storage) =
            (ErrorKind::Misuse.diagnosis("encode", ""), ErrorKind::Storage.diagnosis("storage", ""));
        match self {
            DbError::Ingest(error) => error.diagnosis(),
            DbError::Scheme(error) => {
                let fix = match error {
                    Error::Params(_) => "split the table, or use narrower rows",
                    _ => "",
                };
                Diagnosis { code: "scheme", fix, ..error.diagnosis() }.of_file()
            }
            DbError::Catalog(CatalogError::Params(error)) => {
                Diagnosis { code: "bad-params", fix: "", exit: Exit::Input, ..error.diagnosis() }
            }
            DbError::Io { source, .. } => storage.with_exit(source),
            DbError::DiskFull { .. } => storage,
            DbError::Part { why: PartProblem::Missing { .. }, .. } => storage.with_exit(Exit::Missing),
            DbError::Image { .. } | DbError::Part { .. } => storage.with_exit(Exit::Input),
            DbError::Log { source, .. } => misuse.with_exit(source.diagnosis().exit),
            DbError::NotATable { .. } => ErrorKind::Misuse.diagnosis(
                "encode",
                "give a table, such as one in the folder `tables` of a stack; tables of Apple's lookups work \
                 with serve, inspect, doctor, update and backup",
            ),
            DbError::OtherTable { .. }
            | DbError::OtherKey { .. }
            | DbError::CannotRotate { .. }
            | DbError::WasMasked { .. }
            | DbError::NoFront { .. }
            | DbError::NoStack { .. }
            | DbError::OtherStack { .. }
            | DbError::NoBatch { .. } => misuse,
            DbError::OtherRows { .. }
            | DbError::Rows { .. }
            | DbError::Source { .. }
            | DbError::Catalog(_)
            | DbError::OprfKey { .. }
            | DbError::PartOfBlocks { .. }
            | DbError::NoChanges { .. } => misuse.with_exit(Exit::Input),
            DbError::CannotUpdate { .. }
            | DbError::CannotCut { .. }
            | DbError::TooManyParts { .. }
            | DbError::NoRoomInRequest { .. }
            | DbError::TooManyTables { .. }
            | DbError::PastCapacity { .. } => misuse.with_exit(Exit::Params),
            DbError::Empty { .. } | DbError::NoEpoch { .. } | DbError::NoOprfKey { .. } => {
                misuse.with_exit(Exit::Missing)
            }
            DbError::KeyExposed { .. } => misuse.with_exit(Exit::Storage),
            DbError::Locked { .. } => misuse.with_exit(Exit::Refused),
            DbError::Threads(_) => misuse.with_exit(Exit::Internal),
        }
    }
}
