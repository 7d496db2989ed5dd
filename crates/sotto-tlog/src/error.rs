//! Errors of logs: the file, the problem, and the remedy.

use sotto_core::{Diagnose, Diagnosis, ErrorKind, Exit};
use std::io;

/// Why a log, or a file of it, was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// A file is longer than the limit.
    #[error("{what} has more than {limit} bytes, its maximum")]
    TooLarge {
        /// Name of the file.
        what: String,
        /// Largest size in bytes.
        limit: u64,
    },
    /// The checkpoint's log is longer than the limit.
    #[error("the checkpoint has {size} leaves, expected at most {limit} tiles of 256")]
    TooManyTiles {
        /// Number of leaves.
        size: u64,
        /// Largest number of tiles.
        limit: u64,
    },
    /// Text or bytes do not have their format.
    #[error("{what}: {why}")]
    Malformed {
        /// Name of the structure.
        what: &'static str,
        /// Description of what was expected.
        why: String,
    },
    /// Text is not a key.
    #[error("the log's key: {0}")]
    KeyText(&'static str),
    /// The checkpoint belongs to another log.
    #[error("expected a checkpoint of log {pinned:?}, got one of {found:?}: wrong address or wrong key")]
    WrongOrigin {
        /// Name of the requested log.
        pinned: String,
        /// Name of the log in the checkpoint.
        found: String,
    },
    /// No signature is of the pinned key.
    #[error(
        "the checkpoint has no signature of {name}+{id:08x}: it belongs to another log, or the log changed keys; \
         ask the log's operator, then pin the new key"
    )]
    NotSigned {
        /// Name of the pinned key.
        name: String,
        /// Key id of the pinned key.
        id: u32,
    },
    /// A signature claims to be of the pinned key of this name, but is not.
    #[error("the signature of {0} is not valid: the text was changed on its way, or was never signed")]
    BadSignature(String),
    /// The file at this path in the log's folder is missing.
    #[error(
        "{0} is missing: fetch it from the log (a log that deletes old entries cannot be read completely)"
    )]
    Missing(String),
    /// A tile is too short or too long.
    #[error("{path} has {got} bytes, expected {want}: it is truncated or not a tile; fetch it again")]
    TileLength {
        /// Path of the tile relative to the log's folder.
        path: String,
        /// Bytes of the tile.
        got: u64,
        /// Bytes of the expected number of hashes.
        want: u64,
    },
    /// A file is stored with the compression that HTTP carried it in.
    #[error(
        "{path} is compressed with {codec} (it begins with {magic}): a mirror stores files without Content-Encoding; unpack it, \
         as {codec} -d does, and have the mirror do so"
    )]
    Compressed {
        /// Path of the file relative to the log's folder.
        path: String,
        /// Name of the compression.
        codec: &'static str,
        /// First bytes of the file.
        magic: &'static str,
    },
    /// A tile does not match the hash in its parent.
    #[error("{path} does not match its hash in {parent}: it is damaged or of another log; fetch it again")]
    TileHash {
        /// Path of the tile relative to the log's folder.
        path: String,
        /// Path of the tile above.
        parent: String,
    },
    /// The partial tiles at the right edge, which have no parent, do not lead to the checkpoint's
    /// root.
    #[error(
        "the last tiles ({tiles}) do not hash to the checkpoint's root at {size} leaves: one of them is damaged or \
         of another log; fetch them and the checkpoint again"
    )]
    Edge {
        /// Paths of the tiles.
        tiles: String,
        /// Number of leaves of the checkpoint.
        size: u64,
    },
    /// An entry of a bundle is malformed.
    #[error(
        "{path}, entry {index} of the log: {why}; fetch it again, and check that the layout is the log's"
    )]
    Entry {
        /// Path of the bundle relative to the log's folder.
        path: String,
        /// Index of the entry.
        index: u64,
        /// Description of what was expected.
        why: String,
    },
    /// An entry does not match its leaf hash.
    #[error(
        "{path}: entry {index} does not match its leaf hash: it is damaged or of another log; fetch it again"
    )]
    EntryHash {
        /// Path of the bundle relative to the log's folder.
        path: String,
        /// Index of the entry.
        index: u64,
    },
    /// The log is shorter than before.
    #[error(
        "expected at least {known} leaves in the log, got {found}: this is an older copy; fetch the checkpoint \
         again"
    )]
    Older {
        /// Number of leaves before.
        known: u64,
        /// Number of leaves now.
        found: u64,
    },
    /// The log's earlier leaves changed. Both checkpoints are signed: together they prove it.
    #[error(
        "the log's first {size} leaves differ from those seen before: the log shows different leaves to different \
         people. Keep both checkpoints, which prove it, and do not use this one"
    )]
    Fork {
        /// Number of leaves of the older checkpoint.
        size: u64,
    },
    /// An entry of a publisher's log contradicts an earlier one. Both are in one signed log:
    /// together they prove it.
    #[error(
        "entry {index} of the log, {subject}: {why}. The log proves that its publisher shows different data to \
         different people"
    )]
    Conflict {
        /// Index of the entry.
        index: u64,
        /// Kind, name and epoch of the entry.
        subject: String,
        /// The contradiction.
        why: String,
    },
    /// A catalog or a stack cannot be appended to the publisher's log.
    #[error(
        "{subject} cannot be logged: the log's last entry of the table is of epoch {last}, with another digest; \
         continue in the folder that published that epoch, or encode under another name or key"
    )]
    Superseded {
        /// Kind, name and epoch of the document.
        subject: String,
        /// Epoch of the last entry of that name.
        last: u64,
    },
    /// A note adds no cosignature to a log.
    #[error(
        "no named witness has cosigned the note of {size} entries of this log, which has {newest} entries: have a \
         witness cosign the current log"
    )]
    NotCosigned {
        /// Number of entries in the note.
        size: u64,
        /// Number of entries in the log.
        newest: u64,
    },
    /// A line of a policy is wrong.
    #[error("policy, line {line}: {why}")]
    Policy {
        /// Number of the line, from 1.
        line: usize,
        /// Description of what was expected.
        why: String,
    },
    /// The checkpoint belongs to a log that the policy does not list.
    #[error("the policy does not list the log {0:?}")]
    NotListed(String),
    /// An inclusion proof does not lead to the root, or an index is past the end.
    #[error(transparent)]
    Tree(#[from] sotto_core::Error),
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    Storage {
        /// Path of the file.
        path: String,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl LogError {
    pub(crate) fn malformed(what: &'static str, why: impl Into<String>) -> Self {
        LogError::Malformed { what, why: why.into() }
    }

    /// Replaces this error if the file is compressed, because fetching it again would not help.
    pub(crate) fn of_file(self, path: &str, bytes: &[u8]) -> Self {
        let (codec, magic) = match bytes {
            [0x1f, 0x8b, ..] => ("gzip", "1f 8b"),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => ("zstd", "28 b5 2f fd"),
            _ => return self,
        };
        LogError::Compressed { path: path.into(), codec, magic }
    }

    pub(crate) fn storage(path: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| LogError::Storage { path, source }
    }
}

impl Diagnose for LogError {
    fn diagnosis(&self) -> Diagnosis<'_> {
        let (kind, exit) = match self {
            LogError::Storage { source, .. } => (ErrorKind::Storage, source.into()),
            LogError::Missing { .. } => (ErrorKind::Storage, Exit::Missing),
            LogError::KeyText(_) => (ErrorKind::Misuse, Exit::Usage),
            LogError::Policy { .. } => (ErrorKind::Misuse, Exit::Input),
            LogError::Fork { .. }
            | LogError::Older { .. }
            | LogError::Conflict { .. }
            | LogError::NotListed(_) => (ErrorKind::Peer, Exit::Peer),
            _ => (ErrorKind::Peer, Exit::Input),
        };
        kind.diagnosis("log", "").with_exit(exit)
    }
}
