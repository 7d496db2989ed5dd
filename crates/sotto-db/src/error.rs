//! Whose fault, and what to do.

use crate::image::FileKind;
use crate::ingest::IngestError;
use crate::parts::PartProblem;
use crate::table::BlockRule;
use sotto_catalog::{CatalogError, PublicKey};
use sotto_core::Epoch;
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
        /// What was being done.
        what: &'static str,
        /// Which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The disk is full. Nothing half-written is left behind.
    #[error("{}: the disk is full: free some space, then run this again", path.display())]
    DiskFull {
        /// What was being written.
        path: PathBuf,
    },
    /// A file that is no good image.
    #[error("{}: {problem}", path.display())]
    Image {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        problem: ImageProblem,
    },
    /// Source data that breaks a rule.
    #[error(transparent)]
    Ingest(#[from] Box<IngestError>),
    /// A catalog or a key was refused.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The publisher's log.
    #[error("the log of catalogs in {}: {source}", folder.display())]
    Log {
        /// Its folder.
        folder: PathBuf,
        /// What is wrong.
        source: Box<sotto_tlog::LogError>,
    },
    /// The scheme refused the table, or its parameters.
    #[error(transparent)]
    Scheme(sotto_core::Error),
    /// Another process writes to the folder.
    #[error("{}: another process is writing to this table: wait for it to end, then run this again", dir.display())]
    Locked {
        /// The table's folder.
        dir: PathBuf,
    },
    /// The folder holds no image.
    #[error("{}: no table here yet: encode one first", dir.display())]
    Empty {
        /// The table's folder.
        dir: PathBuf,
    },
    /// A stack, or a table of another protocol, where only a table can be taken.
    #[error("{}: this is {found}, and a table is needed", path.display())]
    NotATable {
        /// The path given.
        path: PathBuf,
        /// What is there.
        found: &'static str,
    },
    /// The epoch is not in the folder.
    #[error("{}: there is no epoch {epoch} here", dir.display())]
    NoEpoch {
        /// The table's folder.
        dir: PathBuf,
        /// The epoch asked for.
        epoch: Epoch,
    },
    /// The folder already belongs to a table of another name.
    #[error("{}: this folder holds table {found:?}, not {wanted:?}: use another folder, or that name", dir.display())]
    OtherTable {
        /// The table's folder.
        dir: PathBuf,
        /// The name in its images.
        found: String,
        /// The name asked for.
        wanted: String,
    },
    /// The folder's images are signed with another key.
    #[error(
        "{}: the epochs here are signed by {found}, not {given}: clients that pinned that key would \
         refuse the next one; give the same key, or publish from another folder",
        dir.display()
    )]
    OtherKey {
        /// The table's folder.
        dir: PathBuf,
        /// The key of the newest epoch.
        found: PublicKey,
        /// The key given.
        given: PublicKey,
    },
    /// A key that cannot be given another's place.
    #[error("{}: no other key can sign this: {why}", dir.display())]
    CannotRotate {
        /// The table's folder.
        dir: PathBuf,
        /// Why not.
        why: &'static str,
    },
    /// The key file can be read by others.
    #[error("{}: this key can be read by other users: chmod 600 it (and think of making a new one)", path.display())]
    KeyExposed {
        /// The key file.
        path: PathBuf,
    },
    /// A symmetric table without the key that opens its rows.
    #[error(
        "{}: the key that opens the rows of this symmetric table is not here: bring the file back; without it, remove \
        the table's \
         epochs and encode it afresh, with a key of its own",
        path.display()
    )]
    NoOprfKey {
        /// Where it would be.
        path: PathBuf,
    },
    /// A file that is no such key, or the key of another table.
    #[error("{}: {why}", path.display())]
    OprfKey {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        why: OprfError,
    },
    /// An epoch in the clear after one that was masked.
    #[error(
        "{}: the table here is symmetric, and its next epoch would be in the clear: encode it with --symmetric, or into another \
         folder",
        dir.display()
    )]
    WasMasked {
        /// The table's folder.
        dir: PathBuf,
    },
    /// The scheme's tables cannot be cut.
    #[error(
        "scheme {scheme} cannot cut a table (its README says why, under \"Tables in parts\"): leave --partitions out, or take \
         another scheme"
    )]
    CannotCut {
        /// The scheme.
        scheme: String,
    },
    /// A table that cannot be cut into so many parts.
    #[error("this table can be cut into {most} parts at most, and not into {parts}: ask for fewer")]
    TooManyParts {
        /// How many were asked for.
        parts: u32,
        /// How many there may be.
        most: u32,
    },
    /// A part of a table that is no good.
    #[error("{}: {why}", path.display())]
    Part {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        why: PartProblem,
    },
    /// Another source than the table's front was made of.
    #[error(
        "{}: the rows of this source are not those that the front was made of: give the same file and the same options, or \
        make the table's next epoch",
        front.display()
    )]
    OtherRows {
        /// The front.
        front: PathBuf,
    },
    /// A folder whose newest epoch is in no parts, or in another number of them.
    #[error("{}: the newest epoch here is {found}: make its front first (--partitions {parts} --part front)", dir.display())]
    NoFront {
        /// The table's folder.
        dir: PathBuf,
        /// What it is.
        found: FileKind,
        /// How many parts were asked for.
        parts: u32,
    },
    /// The scheme has no way to re-encode only what changed.
    #[error("scheme {scheme} cannot update a table: encode it afresh, which makes the next epoch")]
    CannotUpdate {
        /// The scheme.
        scheme: String,
    },
    /// The rows that are kept for updates are no good.
    #[error("{}: {why}: encode the table afresh, which makes the next epoch", path.display())]
    Rows {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A stack whose tables are no buckets of a batch code.
    #[error("{}: this stack is not one of `sotto encode --batch`: make its next epoch as it was made", dir.display())]
    NoBatch {
        /// The stack's folder.
        dir: PathBuf,
    },
    /// A table where a stack was to be made.
    #[error(
        "{}: the directory holds a table, and not a stack of tables: give another directory, or make no stack",
        dir.display()
    )]
    NoStack {
        /// The folder.
        dir: PathBuf,
    },
    /// A stack that the new epoch would not be one of.
    #[error("{}: {why}: encode into another directory", dir.display())]
    OtherStack {
        /// The stack's folder.
        dir: PathBuf,
        /// What differs.
        why: String,
    },
    /// A batch code that no request has room for.
    #[error(
        "a round asks the whole table {visits} times, and a request has room for {room}: make rounds of another size, or rows \
        narrower"
    )]
    NoRoomInRequest {
        /// How often it asks.
        visits: usize,
        /// How often it may.
        room: usize,
    },
    /// A batch code of more tables than a stack has.
    #[error(
        "a round of so many takes {tables} tables, and a stack has {most}: make smaller rounds, or take a scheme that has \
        several buckets in one table"
    )]
    TooManyTables {
        /// How many it takes.
        tables: usize,
        /// How many there may be.
        most: usize,
    },
    /// What is kept of a table's source is no good.
    #[error(
        "{}: it does not say how the table's source was read: \
         remove it, and say which columns are meant; or encode the table afresh",
        path.display()
    )]
    Source {
        /// Which file.
        path: PathBuf,
    },
    /// A changes file without a change in it.
    #[error("{}: no changed rows in it: nothing to do", path.display())]
    NoChanges {
        /// The changes file.
        path: PathBuf,
    },
    /// Changes to parts of blocks, none of which gives its block another value.
    #[error(
        "{}: nothing to do: its ranges cover {blocks} blocks in part, and {why}: give whole blocks, or encode the table afresh",
        path.display()
    )]
    PartOfBlocks {
        /// The changes file.
        path: PathBuf,
        /// How many.
        blocks: u64,
        /// The rule.
        why: &'static str,
    },
    /// An appended row that the records have no place for.
    #[error(
        "row {row} does not fit: the table has room for {capacity} rows until it is encoded afresh \
         (which makes the next epoch, and every client fetches everything anew; `sotto encode --room N` leaves room for N more)"
    )]
    PastCapacity {
        /// The row.
        row: u64,
        /// Rows that fit.
        capacity: u64,
    },
    /// The thread pool could not be started.
    #[error("the thread pool could not be started: {0}")]
    Threads(String),
}

/// What is wrong with an image file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageProblem {
    /// Another kind of file.
    #[error("this is not a sotto image")]
    NotAnImage,
    /// Written by another version of the format.
    #[error(
        "written in image format {found}, this build reads format 1: encode the table afresh, or upgrade"
    )]
    Version {
        /// The version it names.
        found: u32,
    },
    /// Shorter or longer than its header says.
    #[error(
        "the file has {have} bytes, its header says {want}: it was cut short or appended to; copy it again, or encode \
        the table afresh"
    )]
    Length {
        /// Bytes in the file.
        have: u64,
        /// Bytes there should be.
        want: u64,
    },
    /// A table of another protocol, which has no catalog.
    #[error("this is a table of Apple's lookups: `sotto serve --apple` serves it")]
    Foreign,
    /// A table with a catalog where one of another protocol is wanted.
    #[error("this is no table of Apple's lookups: `sotto serve` serves it without --apple")]
    NotForeign,
    /// A piece of a table that is cut, where another one is wanted.
    #[error("this is {found}: a directory opens all pieces of a table together, `sotto inspect` shows one")]
    Piece {
        /// Which piece it is.
        found: FileKind,
    },
    /// Bytes that do not match their digest.
    #[error(
        "{part} does not match its digest: the file is damaged; copy it again, or encode the table afresh"
    )]
    Digest {
        /// Which part.
        part: &'static str,
    },
    /// Other rows than its publisher has signed.
    #[error(
        "its {what} are not those that its publisher has signed: do not serve it; copy it again from its publisher, or \
        encode the table afresh"
    )]
    Rows {
        /// What differs.
        what: &'static str,
    },
    /// Written to, or cut short, since it was opened.
    #[error(
        "the file was written to or cut short while it was open: put a whole image in its place (copy it under another name, \
         then rename it), or encode the table afresh"
    )]
    Changed,
    /// A header that matches its digest, and yet contradicts itself.
    #[error("the header contradicts itself: {why}; encode the table afresh")]
    Malformed {
        /// What is wrong with it.
        why: &'static str,
    },
    /// The catalog inside was refused.
    #[error("the catalog inside: {why}")]
    Catalog {
        /// What is wrong with it.
        why: String,
    },
}

impl DbError {
    /// A changes file that changes no row.
    pub(crate) fn no_changes(path: &Path, partial_blocks: u64, rule: BlockRule) -> Self {
        let path = path.to_owned();
        let why = match rule {
            BlockRule::First => "no first key of one (--rule first)",
            BlockRule::Most => "not most keys of one (--rule most)",
        };
        match partial_blocks {
            0 => DbError::NoChanges { path },
            blocks => DbError::PartOfBlocks { path, blocks, why },
        }
    }

    /// Wraps a failure of the file system, telling a full disk from the rest.
    pub(crate) fn io(what: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DbError::DiskFull { path },
            _ => DbError::Io { what, path, source },
        }
    }

    /// Wraps an error of a scheme, which may be one of the storage under it.
    pub(crate) fn scheme(path: &Path, error: sotto_core::Error) -> Self {
        match error {
            sotto_core::Error::Storage(source) => DbError::io("encoding", path, source),
            other => DbError::Scheme(other),
        }
    }
}

impl From<IngestError> for DbError {
    fn from(error: IngestError) -> Self {
        Box::new(error).into()
    }
}
