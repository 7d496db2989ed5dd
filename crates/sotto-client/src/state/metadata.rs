//! What a state belongs to, and its counters: two small values in its database.

use super::StateError;
use super::checksum::FileDigest;
use super::fingerprint::FileFingerprint;
use serde::{Deserialize, Serialize};
use sotto_catalog::{Catalog, Hex32};
use sotto_core::Epoch;
use std::path::Path;

/// Format that this build reads and writes.
pub const FORMAT: &str = "sotto-state/1";

/// What a state belongs to, stored as JSON in its database.
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
    pub anchored: bool,
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
        let found = serde_json::from_slice::<FormatOnly>(json).map_err(unusable)?.format;
        if found != FORMAT {
            let (path, wanted) = (path.into(), FORMAT.to_owned());
            return Err(StateError::WrongState { path, what: "format", found, wanted });
        }
        serde_json::from_slice(json).map_err(unusable)
    }

    /// Fails if the state belongs to something else than `wanted`.
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

/// Encoding in the database.
#[cfg(feature = "state")]
impl JournalMarks {
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
