//! Small types for the names and numbers of the domain, so that they cannot be confused with each
//! other.

use serde::{Deserialize, Serialize};
use std::fmt;
use zeroize::Zeroizing;

/// A scheme's stable name on the wire, such as `simplepir/1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SchemeId(pub &'static str);

impl fmt::Display for SchemeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Index of a *record*, which is the unit that a scheme fetches. The table layer maps rows to
/// records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordIndex(pub u64);

/// A recovered record. Wiped on drop; its `Debug` output shows only its length.
#[derive(Clone, PartialEq, Eq)]
pub struct Record(pub Zeroizing<Vec<u8>>);

impl Record {
    /// Wraps recovered bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Record(Zeroizing::new(bytes))
    }

    /// The record's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Record({} bytes)", self.0.len())
    }
}

/// The number of an immutable version of a table. The first is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// BLAKE3 digest of a scheme's id and its literal parameters, which pins a session to both.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ParamsDigest(pub [u8; 32]);

impl ParamsDigest {
    /// Computes the digest of `scheme` and the canonical JSON of its literal.
    pub fn of(scheme: SchemeId, literal_json: &[u8]) -> Self {
        let mut h = blake3::Hasher::new_derive_key("sotto 2026 params digest v1");
        h.update(&(scheme.0.len() as u64).to_le_bytes());
        h.update(scheme.0.as_bytes());
        h.update(literal_json);
        ParamsDigest(*h.finalize().as_bytes())
    }
}

impl fmt::Display for ParamsDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for ParamsDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParamsDigest({self})")
    }
}
