//! What a state belongs to, and its counters: two small values in its file. What one transaction
//! changes, also for builds without such files.

use super::StateError;
use super::checksum::FileDigest;
use crate::files::{self, FileIdentity};
use serde::{Deserialize, Serialize};
use sotto_catalog::{Catalog, Hex32};
use sotto_core::Epoch;
use std::io;
use std::path::Path;

/// Format that this build reads and writes.
pub const FORMAT: &str = "sotto-state/4";

/// What a state belongs to, stored as JSON in its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateMetadata {
    /// Always [`FORMAT`].
    pub format: String,
    /// Random name of the state, and of its rollback counter.
    pub id: String,
    /// Name of the table.
    pub table: String,
    /// Origin of the server; of several servers, all origins in the order of their roles, separated
    /// by spaces.
    pub origin: String,
    /// Id of the scheme.
    pub scheme: String,
    /// Key of the publisher.
    pub public_key: String,
    /// Digest of the parameters.
    pub params: Hex32,
    /// Parameters as in the catalog.
    pub literal: String,
    /// Number of clients that the state has had, each with a key of its own.
    pub clients: u64,
    /// Whether the rollback counter was made.
    pub has_counter: bool,
    /// Newest snapshot; `None` before the first preparation has ended.
    pub snapshot: Option<Snapshot>,
    /// Fingerprint of the file that the state is in.
    pub(crate) home: FileFingerprint,
}

/// A whole client, in a file of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Number in the file's name.
    pub generation: u64,
    /// Epoch of the client.
    pub epoch: Epoch,
    /// Digest of the rows that the client is made from.
    pub rows: Hex32,
    /// Number of hashed bytes.
    pub bytes: u64,
    /// Digest of those bytes.
    pub digest: Hex32,
}

impl Snapshot {
    pub(crate) fn sum(&self) -> FileDigest {
        FileDigest { bytes: self.bytes, digest: self.digest.0 }
    }
}

/// The rows that a client is made from, and their epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowsVersion {
    pub(crate) epoch: Epoch,
    /// Digest as in [`Catalog::digest_of_rows`]; zero if there is none.
    pub(crate) rows: Hex32,
}

impl RowsVersion {
    /// The rows of a catalog.
    pub(crate) fn of(catalog: &Catalog) -> Self {
        RowsVersion { epoch: catalog.epoch, rows: catalog.digest_of_rows().unwrap_or(Hex32::from([0; 32])) }
    }
}

/// What a state has to belong to in order to be used.
#[derive(Debug, Clone)]
pub(crate) struct StateRequirement {
    pub(crate) table: String,
    pub(crate) origin: String,
    pub(crate) scheme: String,
    pub(crate) public_key: String,
    pub(crate) params: Hex32,
    pub(crate) literal: String,
}

impl StateMetadata {
    /// Parses the JSON of a state.
    ///
    /// # Errors
    /// [`StateError::WrongState`] for another format; [`StateError::Unusable`] for anything else.
    pub fn parse(json: &[u8], path: &Path) -> Result<Self, StateError> {
        /// The only field that every format has.
        #[derive(Deserialize)]
        struct FormatOnly {
            format: String,
        }
        let unusable =
            |error: serde_json::Error| StateError::Unusable { path: path.into(), why: error.to_string() };
        let found = sotto_core::json::from_slice::<FormatOnly>(json).map_err(unusable)?.format;
        if found != FORMAT {
            let (path, expected) = (path.into(), FORMAT.to_owned());
            return Err(StateError::WrongState { path, what: "format", found, expected });
        }
        sotto_core::json::from_slice(json).map_err(unusable)
    }

    /// Fails if the state belongs to something else than `expected`.
    pub(crate) fn check(&self, expected: &StateRequirement, path: &Path) -> Result<(), StateError> {
        let params = (self.params.to_string(), expected.params.to_string());
        let pairs = [
            ("table", &self.table, &expected.table),
            ("server", &self.origin, &expected.origin),
            ("publisher", &self.public_key, &expected.public_key),
            ("scheme", &self.scheme, &expected.scheme),
            ("digest of parameters", &params.0, &params.1),
        ];
        match pairs.into_iter().find(|(_, found, expected)| found != expected) {
            None => Ok(()),
            Some((what, found, expected)) => {
                let (found, expected) = (found.clone(), expected.clone());
                Err(StateError::WrongState { path: path.into(), what, found, expected })
            }
        }
    }
}

/// Counters of a state, written in every transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct JournalMarks {
    /// Number of requests made plus clients begun. It never decreases, and the rollback counter
    /// follows it.
    pub(crate) counter: u64,
    /// Range of the journal's entries since the snapshot: the first, and one past the last.
    pub(crate) entries: (u64, u64),
    /// Bytes of those entries.
    pub(crate) bytes: u64,
    /// Number of the next request, and how many are logged.
    pub(crate) requests: (u64, u64),
}

/// Encoding in the state's file.
#[cfg(feature = "state")]
impl JournalMarks {
    /// Bytes of the encoding.
    pub(crate) const BYTES: usize = 48;

    pub(crate) fn encode(&self) -> Vec<u8> {
        let JournalMarks { counter, entries, bytes, requests } = *self;
        [counter, entries.0, entries.1, bytes, requests.0, requests.1]
            .iter()
            .flat_map(|n| n.to_le_bytes())
            .collect()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        let [counter, first, next, journal, request, requests] = words else { return None };
        let number = |word: &[u8; 8]| u64::from_le_bytes(*word);
        rest.is_empty().then(|| JournalMarks {
            counter: number(counter),
            entries: (number(first), number(next)),
            bytes: number(journal),
            requests: (number(request), number(requests)),
        })
    }
}

/// Fingerprint of a state's file: which file, on which machine. A copy is another file, and so is a
/// restored one. A value that the system does not know is 0 or empty, and then equal everywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileFingerprint {
    device: u64,
    inode: u64,
    /// Time when the file was made, in nanoseconds since 1970.
    born: u64,
    /// Hash of the machine's id, which is meant to stay on the machine itself.
    machine: String,
}

impl FileFingerprint {
    /// The fingerprint of the file at `path`.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let FileIdentity { device, inode, born } = files::identity(path)?;
        let name = files::machine();
        let machine = name.map_or_else(String::new, |name| {
            let mut hasher = blake3::Hasher::new_derive_key("sotto 2026 client state machine v1");
            hasher.update(name.trim().as_bytes()).finalize().to_hex().chars().take(32).collect()
        });
        Ok(FileFingerprint { device, inode, born, machine })
    }

    /// The property in which `now` differs from this fingerprint; `None` if they are equal.
    pub(crate) fn differs(&self, now: &FileFingerprint) -> Option<&'static str> {
        let FileFingerprint { device, inode, born, machine } = self;
        match () {
            () if *machine != now.machine => Some("the machine"),
            () if *device != now.device => Some("the device"),
            () if *inode != now.inode => Some("the inode"),
            () if *born != now.born => Some("the file's creation time"),
            () => None,
        }
    }

    #[cfg(test)]
    pub(crate) fn made_up(machine: &str, inode: u64) -> Self {
        FileFingerprint { device: 1, inode, born: inode, machine: machine.to_owned() }
    }
}

/// Name of the file in the state's folder.
pub(crate) const FILE: &str = "state";

/// Name of the file of `sotto-state/2` and earlier formats.
#[cfg(feature = "state")]
pub(crate) const EARLIER_FILE: &str = "state.redb";

/// An operation on the state's file failed.
#[derive(Debug)]
#[cfg_attr(not(feature = "state"), expect(dead_code, reason = "nothing breaks that is not there"))]
pub(crate) enum StateFileError {
    /// The disk failed.
    Disk(io::Error),
    /// The file is damaged, or one of another program.
    Damaged(String),
}

impl From<io::Error> for StateFileError {
    fn from(error: io::Error) -> Self {
        StateFileError::Disk(error)
    }
}

/// Changes of one transaction.
#[derive(Default)]
#[cfg_attr(not(feature = "state"), expect(dead_code, reason = "nobody reads it where there is no file"))]
pub(crate) struct StateTransaction<'a> {
    pub(crate) metadata: Option<&'a StateMetadata>,
    pub(crate) marks: JournalMarks,
    /// Whether to drop the journal, which a snapshot contains.
    pub(crate) forget_journal: bool,
    /// Whether to drop all logged requests, whose client was replaced.
    pub(crate) forget_requests: bool,
    pub(crate) append: Option<(u64, &'a [u8])>,
    pub(crate) logged: Option<(u64, &'a [u8])>,
    pub(crate) settle: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Diagnose;

    /// Journals of `sotto-state/1` have parities where this build's have rows.
    #[test]
    fn an_older_format_is_refused_and_the_fix_is_named() {
        let error = StateMetadata::parse(br#"{"format":"sotto-state/1"}"#, Path::new("s")).unwrap_err();
        assert!(matches!(error, StateError::WrongState { what: "format", .. }), "{error}");
        assert!(error.diagnosis().fix.contains("delete this one"));
    }
}
