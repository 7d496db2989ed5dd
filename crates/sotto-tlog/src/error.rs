//! What is wrong with which file, and what to do.

use std::io;

/// Why a log, or something of it, was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// More bytes than are ever read.
    #[error("{what} has more than {limit} bytes, the most that is read")]
    TooLarge {
        /// Which file.
        what: String,
        /// The limit.
        limit: u64,
    },
    /// A checkpoint of a longer log than is read.
    #[error("the checkpoint is of {size} leaves: a log of more than {limit} tiles of 256 is not read")]
    TooManyTiles {
        /// Leaves.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// Text or bytes that are not in their format.
    #[error("{what}: {why}")]
    Malformed {
        /// Which structure.
        what: &'static str,
        /// What was expected.
        why: String,
    },
    /// Text that is no key.
    #[error("the log's key: {0}")]
    KeyText(&'static str),
    /// A checkpoint of another log.
    #[error("the checkpoint is of the log {found:?}, wanted was {pinned:?}: wrong place, or wrong key")]
    WrongOrigin {
        /// The log that was asked for.
        pinned: String,
        /// The log that the checkpoint names.
        found: String,
    },
    /// Nothing signed with the pinned key.
    #[error(
        "the checkpoint has no signature of {name}+{id:08x}: it is of another log, or the log changed keys; \
         ask the log's operator, then pin the new key"
    )]
    NotSigned {
        /// The name of the pinned key.
        name: String,
        /// Its number.
        id: u32,
    },
    /// A signature that claims to be of the pinned key, and is not.
    #[error("the signature of {name} is not valid: what it signs was changed on the way, or never signed")]
    BadSignature {
        /// The name of the pinned key.
        name: String,
    },
    /// A file that should be there.
    #[error("{path} is missing: fetch it from the log (a log that deletes old entries cannot be read whole)")]
    Missing {
        /// Relative to the log's folder.
        path: String,
    },
    /// A tile that is cut or goes on.
    #[error("{path} has {got} bytes, {want} were due: it was cut or is no tile; fetch it again")]
    TileLength {
        /// Relative to the log's folder.
        path: String,
        /// Bytes found.
        got: u64,
        /// Bytes of so many hashes.
        want: u64,
    },
    /// A file that is not as the log sent it, but as HTTP carried it.
    #[error(
        "{path} is compressed with {codec} (it begins with {magic}): a mirror stores files without Content-Encoding; unpack it, \
         as {codec} -d does, and have the mirror do so"
    )]
    Compressed {
        /// Relative to the log's folder.
        path: String,
        /// With what.
        codec: &'static str,
        /// Its first bytes.
        magic: &'static str,
    },
    /// A tile that is not the one its parent was made of.
    #[error(
        "{path} does not hash to what {parent} says of it: it is damaged or of another log; fetch it again"
    )]
    TileHash {
        /// Relative to the log's folder.
        path: String,
        /// The tile above.
        parent: String,
    },
    /// The tiles at the right edge, of which there is no parent, are not those of the checkpoint.
    #[error(
        "the last tiles ({tiles}) do not lead to the checkpoint's root at {size} leaves: \
         one of them is damaged or of another log; fetch them and the checkpoint again"
    )]
    Edge {
        /// Their paths.
        tiles: String,
        /// The checkpoint's.
        size: u64,
    },
    /// Entries that cannot be told apart.
    #[error(
        "{path}, entry {index} of the log: {why}; fetch it again, and check that the layout is the log's"
    )]
    Entry {
        /// Relative to the log's folder.
        path: String,
        /// Which entry.
        index: u64,
        /// What was expected.
        why: String,
    },
    /// An entry that is not the one the log hashed.
    #[error(
        "{path}: entry {index} does not hash to its leaf: it is damaged or of another log; fetch it again"
    )]
    EntryHash {
        /// Relative to the log's folder.
        path: String,
        /// Which entry.
        index: u64,
    },
    /// A log that is shorter than it was.
    #[error("the log has {found} leaves, it had {known}: this is an older copy; fetch the checkpoint again")]
    Older {
        /// Leaves it had.
        known: u64,
        /// Leaves it has.
        found: u64,
    },
    /// A log that is not what it was. Both checkpoints are signed: together they prove it.
    #[error(
        "the log's first {size} leaves are not those it had: the log shows different people different leaves. \
         Keep both checkpoints, they prove it, and do not use this one"
    )]
    Fork {
        /// Leaves of the older checkpoint.
        size: u64,
    },
    /// An entry of a publisher's log that contradicts one before it. Both are in one signed log: together they prove it.
    #[error(
        "entry {index} of the log, {subject}: {why}. The log proves that its publisher shows different people different data"
    )]
    Conflict {
        /// Which entry.
        index: u64,
        /// Kind, name and epoch.
        subject: String,
        /// What it contradicts.
        why: String,
    },
    /// A catalog or a stack that a publisher's log may not take.
    #[error(
        "{subject} is not written into the log: the log's last entry of that name is of epoch {last}, with another digest; go on \
         in the folder that published that epoch, or encode under another name or key"
    )]
    Superseded {
        /// Kind, name and epoch.
        subject: String,
        /// The epoch of the last entry of that name.
        last: u64,
    },
    /// A note that adds no cosignature to a log.
    #[error(
        "the note of {size} entries has no cosignature of these witnesses for a checkpoint of this log, which has {newest} \
         entries: have the witness cosign the log as it is now"
    )]
    NotCosigned {
        /// Entries in the note.
        size: u64,
        /// Entries in the log.
        newest: u64,
    },
    /// An inclusion proof that leads elsewhere, or an index past the end.
    #[error(transparent)]
    Tree(#[from] sotto_core::Error),
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Storage {
        /// Which file.
        path: String,
        /// What the operating system says.
        source: io::Error,
    },
}

impl LogError {
    pub(crate) fn malformed(what: &'static str, why: impl Into<String>) -> Self {
        LogError::Malformed { what, why: why.into() }
    }

    /// This error, or that a file which could not be read is compressed: fetching it again would not help.
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
