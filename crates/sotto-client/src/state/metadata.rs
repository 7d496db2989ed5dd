//! What a state is of, and how far it is: two small values in its database.

use super::StateError;
use super::checksum::FileDigest;
use super::fingerprint::FileFingerprint;
use serde::{Deserialize, Serialize};
use sotto_catalog::{Catalog, Hex32};
use sotto_core::Epoch;
use std::path::Path;

/// The format this build reads and writes.
pub const FORMAT: &str = "sotto-state/1";

/// What a state is of. Its JSON lies in the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateMetadata {
    /// [`FORMAT`].
    pub format: String,
    /// The state's name: drawn when it was made, and its anchor's name too.
    pub id: String,
    /// The table.
    pub table: String,
    /// The server; where there are several all of them in the order of their roles, a space between two.
    pub origin: String,
    /// The scheme.
    pub scheme: String,
    /// The publisher's key.
    pub public_key: String,
    /// The digest of the parameters.
    pub params: Hex32,
    /// The parameters as the catalog has them.
    pub literal: String,
    /// How many clients it has had: each had a key of its own.
    pub clients: u64,
    /// Whether its anchor was made.
    pub anchored: bool,
    /// The newest snapshot; `None` before the first preparation has ended.
    pub snapshot: Option<Snapshot>,
    /// The file it lies in.
    pub(crate) home: FileFingerprint,
}

/// A whole client, in a file of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// The number in the file's name.
    pub generation: u64,
    /// The epoch the client is of.
    pub epoch: Epoch,
    /// The digest of the rows the client is of.
    pub rows: Hex32,
    /// Bytes that were hashed.
    pub bytes: u64,
    /// Their digest.
    pub digest: Hex32,
}

impl Snapshot {
    pub(crate) fn sum(&self) -> FileDigest {
        FileDigest { bytes: self.bytes, digest: self.digest.0 }
    }
}

/// The rows a client is of, at some epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowsVersion {
    pub(crate) epoch: Epoch,
    /// [`Catalog::digest_of_rows`]; zero if there is none.
    pub(crate) rows: Hex32,
}

impl RowsVersion {
    /// The rows of a catalog.
    pub(crate) fn of(catalog: &Catalog) -> Self {
        RowsVersion { epoch: catalog.epoch, rows: catalog.digest_of_rows().unwrap_or(Hex32::from([0; 32])) }
    }
}

/// What a state has to be of to be used.
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
    /// Reads the JSON of a state.
    ///
    /// # Errors
    /// [`StateError::WrongState`] for another format; [`StateError::Unusable`] for what is none.
    pub fn parse(json: &[u8], path: &Path) -> Result<Self, StateError> {
        /// The only field that every format has.
        #[derive(Deserialize)]
        struct FormatOnly {
            format: String,
        }
        let unusable =
            |error: serde_json::Error| StateError::Unusable { path: path.into(), why: error.to_string() };
        let found = serde_json::from_slice::<FormatOnly>(json).map_err(unusable)?.format;
        if found != FORMAT {
            let (path, wanted) = (path.into(), FORMAT.to_owned());
            return Err(StateError::WrongState { path, what: "format", found, wanted });
        }
        serde_json::from_slice(json).map_err(unusable)
    }

    /// Refuses the state of anything else.
    pub(crate) fn check(&self, wanted: &StateRequirement, path: &Path) -> Result<(), StateError> {
        let params = (self.params.to_string(), wanted.params.to_string());
        let pairs = [
            ("table", &self.table, &wanted.table),
            ("server", &self.origin, &wanted.origin),
            ("publisher", &self.public_key, &wanted.public_key),
            ("scheme", &self.scheme, &wanted.scheme),
            ("digest of parameters", &params.0, &params.1),
        ];
        match pairs.into_iter().find(|(_, found, wanted)| found != wanted) {
            None => Ok(()),
            Some((what, found, wanted)) => {
                let (found, wanted) = (found.clone(), wanted.clone());
                Err(StateError::WrongState { path: path.into(), what, found, wanted })
            }
        }
    }
}

/// How far a state is. Written in every transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct JournalMarks {
    /// Requests made, and clients begun. Never goes back; the anchor follows it.
    pub(crate) counter: u64,
    /// Entries of the journal: from the first since the snapshot to before the next.
    pub(crate) entries: (u64, u64),
    /// Their bytes.
    pub(crate) bytes: u64,
    /// The next ask's number, and how many are recorded.
    pub(crate) asks: (u64, u64),
}

/// As they lie in the database.
#[cfg(feature = "state")]
impl JournalMarks {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let JournalMarks { counter, entries, bytes, asks } = *self;
        [counter, entries.0, entries.1, bytes, asks.0, asks.1].iter().flat_map(|n| n.to_le_bytes()).collect()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        let [counter, first, next, journal, ask, asks] = words else { return None };
        let number = |word: &[u8; 8]| u64::from_le_bytes(*word);
        rest.is_empty().then(|| JournalMarks {
            counter: number(counter),
            entries: (number(first), number(next)),
            bytes: number(journal),
            asks: (number(ask), number(asks)),
        })
    }
}
