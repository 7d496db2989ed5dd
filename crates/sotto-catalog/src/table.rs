//! Table names and layers; index, range and keyword tables; and the meaning of a row's bytes.

use crate::text::checked_text;
use crate::{CatalogError, Hex32, HexBytes, Result};
use serde::{Deserialize, Serialize};
use sotto_core::{Artifact, Epoch};
use sotto_math::modulus::divide;
use std::net::Ipv4Addr;
use std::ops::Range;

checked_text! {
    /// Name of a table or a stack: 1 to 64 characters of `a-z`, `0-9` and `-`, so that it can be used
    /// in a path as it is.
    TableName,
    /// Error for text that cannot be the name of a table or a stack.
    TableNameError = "expected a table name of 1 to 64 characters of a-z, 0-9 and '-'",
    "table",
    |text| {
        let allowed = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        (1..=64).contains(&text.len()) && text.bytes().all(allowed)
    }
}

/// Kind of a table, which says how users name a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum TableKind {
    /// Rows are named by their number.
    Index,
    /// Rows are named by a key, which is in one of several rows: the catalog's layer says in which.
    Keyword,
    /// Rows are named by any key of the block of keys that the row stands for.
    Range {
        /// Kind of the keys.
        key: KeyKind,
        /// Number of keys per row.
        block: u64,
        /// First key of row 0.
        first: u64,
        /// Value of rows that no range covers; right-padded with zero bytes to a row.
        empty: HexBytes,
    },
}

/// Kind of the keys of a range table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum KeyKind {
    /// An unsigned 32-bit integer.
    U32,
    /// An unsigned 64-bit integer.
    U64,
    /// An IPv4 address, as a big-endian integer.
    Ipv4,
}

impl KeyKind {
    /// Largest key of this kind.
    pub fn last(self) -> u64 {
        match self {
            KeyKind::U32 | KeyKind::Ipv4 => u64::from(u32::MAX),
            KeyKind::U64 => u64::MAX,
        }
    }

    /// Parses a key: decimal digits, or for [`KeyKind::Ipv4`] also a dotted address.
    pub fn parse(self, text: &str) -> Option<u64> {
        let dotted = || (self == KeyKind::Ipv4).then(|| text.parse::<Ipv4Addr>().ok()).flatten();
        match dotted() {
            Some(address) => Some(u64::from(u32::from(address))),
            None => text.parse().ok().filter(|&key| key <= self.last()),
        }
    }
}

impl TableKind {
    /// Row that contains `key`; `None` below the first block, and for tables without keys.
    ///
    /// The row may be past the table's last one: only the catalog knows the number of rows.
    pub fn row_of_key(&self, key: u64) -> Option<u64> {
        match self {
            TableKind::Index | TableKind::Keyword => None,
            TableKind::Range { block, first, .. } => Some(divide(key.checked_sub(*first)?, *block).0),
        }
    }

    /// Row that a user means by `text` in a table of this name and number of rows: see
    /// [`crate::Catalog::parse_row`].
    ///
    /// # Errors
    /// [`CatalogError::NoSuchRow`].
    pub fn parse_row(&self, text: &str, table: &TableName, rows: u64) -> Result<u64> {
        let text = text.trim();
        let number = || text.parse().ok().filter(|&row: &u64| row < rows);
        let (row, rule) = match self {
            TableKind::Index => (number(), "a row number"),
            TableKind::Keyword => (None, "a key, which may be in several rows,"),
            // A number is a key too: an address is written as a number or with dots, here as in the
            // table's source.
            TableKind::Range { key, .. } => {
                let rule =
                    if *key == KeyKind::Ipv4 { "an IPv4 address, dotted or as a number," } else { "a key" };
                let row = key.parse(text).and_then(|key| self.row_of_key(key));
                (row.filter(|&row| row < rows), rule)
            }
        };
        row.ok_or_else(|| {
            CatalogError::NoSuchRow(format!("expected {rule} of table {table}, which has {rows} rows"))
        })
    }

    pub(crate) fn check(&self, rows: u64, row_bytes: u64) -> Result<()> {
        let TableKind::Range { key, block, first, empty } = self else { return Ok(()) };
        if *block == 0 {
            return Err(CatalogError::invalid("kind.block", "expected at least one key for each row"));
        }
        let last_block = u128::from(*first) + u128::from(rows.saturating_sub(1)) * u128::from(*block);
        if last_block > u128::from(key.last()) {
            return Err(CatalogError::invalid("kind", "the last row lies past the largest key"));
        }
        if empty.0.len() as u64 > row_bytes {
            return Err(CatalogError::invalid("kind.empty", "the empty value is longer than a row"));
        }
        Ok(())
    }
}

/// Meaning of a row's bytes to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ValueKind {
    /// Uninterpreted bytes.
    #[default]
    Bytes,
    /// UTF-8 text, right-padded with zero bytes.
    Text,
    /// An unsigned little-endian integer of at most 8 bytes.
    Unsigned,
}

impl ValueKind {
    /// Displays a value: the text, the number, or lower-case hexadecimal digits.
    pub fn show(self, row: &[u8]) -> String {
        let hex = || HexBytes(row.to_vec()).to_string();
        match self {
            ValueKind::Bytes => hex(),
            ValueKind::Text => {
                let end = row.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
                let text = row.get(..end).and_then(|text| std::str::from_utf8(text).ok());
                text.map_or_else(hex, str::to_owned)
            }
            ValueKind::Unsigned if row.len() <= 8 => {
                let value = row.iter().rev().fold(0u64, |value, &b| value << 8 | u64::from(b));
                value.to_string()
            }
            ValueKind::Unsigned => hex(),
        }
    }
}

/// Name and parameters of a layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LayerEntry {
    /// Name of the layer, with its version.
    pub name: String,
    /// Parameters of the layer.
    pub params: serde_json::Value,
}

/// Largest number of chunks of an artifact.
pub const MAX_CHUNKS: usize = 4096;

/// Smallest chunk size in bytes.
pub const MIN_CHUNK_BYTES: u64 = 64 << 10;

/// Largest chunk size in bytes.
pub const MAX_CHUNK_BYTES: u64 = 1 << 30;

/// Chunk size in bytes of artifacts that are small enough for it.
const DEFAULT_CHUNK_BYTES: u64 = 1 << 20;

/// Catalog entry of an artifact. Chunks let a client keep what it has when a download is
/// interrupted, and detect a wrong byte after one chunk instead of after the whole file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ArtifactEntry {
    /// Kind of the artifact.
    pub artifact: Artifact,
    /// Bytes of the artifact.
    pub bytes: u64,
    /// BLAKE3 digest of the artifact, and its name in `GET /v1/artifacts/{digest}`.
    pub digest: Hex32,
    /// Bytes per chunk, a power of two; the last chunk may be shorter.
    pub chunk_bytes: u64,
    /// BLAKE3 digest of each chunk.
    pub chunks: Vec<Hex32>,
    /// Epoch that a delta starts from; `None` for other artifacts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_epoch: Option<Epoch>,
    /// Digest of the rows that a rows delta starts from. A client that applies the delta does not
    /// hold the resulting rows, and so cannot check them; but it knows which rows its state was
    /// made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_digest: Option<Hex32>,
}

impl ArtifactEntry {
    /// Builds the entry of an artifact from its bytes.
    pub fn of(artifact: Artifact, bytes: &[u8], from_epoch: Option<Epoch>) -> Self {
        let chunk_bytes = chunk_bytes_for(bytes.len() as u64);
        let size = usize::try_from(chunk_bytes).unwrap_or(usize::MAX);
        ArtifactEntry {
            artifact,
            bytes: bytes.len() as u64,
            digest: blake3::hash(bytes).into(),
            chunk_bytes,
            chunks: bytes.chunks(size).map(|chunk| blake3::hash(chunk).into()).collect(),
            from_epoch,
            from_digest: None,
        }
    }

    /// Byte range of chunk `index`; `None` past the last one.
    pub fn chunk_range(&self, index: usize) -> Option<Range<u64>> {
        self.chunks.get(index)?;
        let start = self.chunk_bytes.checked_mul(index as u64)?;
        Some(start..self.bytes.min(start.checked_add(self.chunk_bytes)?))
    }

    /// Whether `bytes` have the digest of chunk `index`.
    pub fn is_chunk(&self, index: usize, bytes: &[u8]) -> bool {
        self.chunks.get(index).is_some_and(|digest| *digest == blake3::hash(bytes).into())
    }

    pub(crate) fn check(&self, epoch: Epoch) -> Result<()> {
        let refuse = |field, why: &str| Err(CatalogError::invalid(field, why));
        let size = self.chunk_bytes;
        if !size.is_power_of_two() || !(MIN_CHUNK_BYTES..=MAX_CHUNK_BYTES).contains(&size) {
            return refuse("artifacts.chunk_bytes", "expected a power of two from 64 KiB to 1 GiB");
        }
        if self.chunks.len() > MAX_CHUNKS {
            return refuse("artifacts.chunks", "expected at most 4096 chunks");
        }
        if self.chunks.len() as u64 != self.bytes.div_ceil(size) {
            return refuse("artifacts.chunks", "expected as many chunks as the bytes fill");
        }
        if matches!(self.chunks.as_slice(), [only] if *only != self.digest) {
            return refuse("artifacts.chunks", "expected a single chunk to have the digest of the whole");
        }
        if self.from_digest.is_some() != (self.artifact == Artifact::RowsDelta) {
            return refuse(
                "artifacts.from_digest",
                "expected the digest of the rows that a rows delta starts from, and none for other artifacts",
            );
        }
        match (self.artifact.is_delta(), self.from_epoch) {
            (true, Some(from)) if from.0 >= 1 && from < epoch => Ok(()),
            (true, _) => {
                refuse("artifacts.from_epoch", "expected an earlier epoch, from which the delta starts")
            }
            (false, None) => Ok(()),
            (false, Some(_)) => refuse(
                "artifacts.from_epoch",
                "expected none, since only a delta starts from an \
                 epoch",
            ),
        }
    }
}

/// Chunk size for an artifact of `bytes` bytes: 1 MiB, or more where that would make over 4096
/// chunks.
pub fn chunk_bytes_for(bytes: u64) -> u64 {
    let least = bytes.div_ceil(MAX_CHUNKS as u64).checked_next_power_of_two().unwrap_or(MAX_CHUNK_BYTES);
    least.clamp(DEFAULT_CHUNK_BYTES, MAX_CHUNK_BYTES)
}
