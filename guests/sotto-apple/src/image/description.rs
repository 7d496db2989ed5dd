//! Description of a use case in its file, as JSON. It is parsed totally, and used only where it
//! fits the file.

use crate::codec::Codec;
use crate::keyword::TABLES;
use crate::length_prefix;
use crate::sets::{ParamsSet, find};
use serde::{Deserialize, Serialize};
use sotto_bfv::mulpir::{Compression, EntryShape, ValueTable};
use sotto_catalog::{Hex32, RowForm, ValueKind};
use sotto_layers::keyword::KeyForm;
use sotto_oprf::p384::PublicKey;

/// Version of descriptions that this build writes and reads.
pub const FORMAT: &str = "sotto-apple/1";

/// Largest length of a use case's name in bytes.
pub const MAX_NAME: usize = 256;

/// Largest number of shards of a table.
pub const MAX_SHARDS: usize = 1 << 16;

/// Alignment of tables in the file: a page.
pub const ALIGNMENT: u64 = 4096;

/// Description of a use case in its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UseCaseDescription {
    pub(super) format: String,
    /// Name of the use case.
    pub name: String,
    /// Epoch of the use case.
    pub epoch: u64,
    /// Apple's name of the parameter set.
    pub set: String,
    /// Compression of clients' keys.
    pub compression: KeyCompression,
    /// Kind of lookups.
    pub kind: UseCaseKind,
    /// Kind of the values.
    pub value: ValueKind,
    /// Bytes of the longest value when the table was encoded, or of each number.
    pub value_bytes: u64,
    /// Public key of the function that seals the rows of a symmetric table.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "super::oprf::digits")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub oprf: Option<PublicKey>,
    /// Shapes of the shards.
    pub shards: Vec<ShardShape>,
    /// BLAKE3 digest of all tables.
    pub tables: Hex32,
}

/// Kind of lookups in a use case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum UseCaseKind {
    /// Rows are requested by key.
    Keyword {
        /// Form of the keys.
        form: KeyForm,
        /// Largest size of a bucket in bytes, as requested.
        bucket_bytes: u64,
        /// Whether the number of buckets was requested.
        fixed: bool,
    },
    /// Rows are requested by number.
    Index,
    /// Rows are requested by number, and each entry follows its [length](mod@crate::length_prefix).
    #[serde(rename = "index-lengths")]
    IndexWithLengths,
}

/// Name of a [`Compression`] of clients' keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum KeyCompression {
    /// One key for each round.
    #[default]
    None,
    /// Fewer keys than rounds.
    Hybrid,
    /// As few keys as possible.
    Most,
}

impl From<KeyCompression> for Compression {
    fn from(name: KeyCompression) -> Self {
        match name {
            KeyCompression::None => Compression::None,
            KeyCompression::Hybrid => Compression::Hybrid,
            KeyCompression::Most => Compression::Most,
        }
    }
}

/// Shape of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShardShape {
    /// Number of rows in the shard.
    pub rows: u64,
    /// Number of entries of each table: buckets, or rows.
    pub entries: u64,
    /// Bytes of an entry.
    pub entry_bytes: u64,
    /// Numbers of rows and columns of plaintexts.
    pub dimensions: [u64; 2],
}

/// Offsets of the tables in a file.
#[derive(Debug, Clone)]
pub struct FileLayout {
    /// Shape of each shard.
    pub shapes: Vec<EntryShape>,
    /// Offset of each table of each shard.
    pub tables: Vec<Vec<u64>>,
    /// Offset of the entries of each table of each shard.
    pub entries: Vec<Vec<u64>>,
    /// Bytes of all tables.
    pub table_bytes: u64,
    /// Bytes of all entries.
    pub entry_bytes: u64,
}

impl UseCaseKind {
    /// Number of tables of a shard.
    pub fn tables(&self) -> usize {
        match self {
            UseCaseKind::Keyword { .. } => TABLES,
            UseCaseKind::Index | UseCaseKind::IndexWithLengths => 1,
        }
    }

    /// Form of values in entries of `entry_bytes` bytes, for a table that is queried by number.
    /// `None` if it is queried by key, or if entries cannot have that size.
    pub fn row_form(&self, entry_bytes: u64) -> Option<RowForm> {
        match self {
            UseCaseKind::Keyword { .. } => None,
            UseCaseKind::Index => Some(RowForm::Whole),
            UseCaseKind::IndexWithLengths => length_prefix::longest(entry_bytes).map(length_prefix::form),
        }
    }
}

impl UseCaseDescription {
    /// Parses a description. Total.
    ///
    /// # Errors
    /// An explanation of the problem.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let read: Self = serde_json::from_slice(bytes).map_err(|why| why.to_string())?;
        if read.format != FORMAT {
            return Err(format!("the format is {:?}, expected {FORMAT:?}", read.format));
        }
        check_name(&read.name)?;
        if !(1..=MAX_SHARDS).contains(&read.shards.len()) {
            return Err("expected 1 to 65536 shards".into());
        }
        let by_number = |shard: &ShardShape| read.kind.row_form(shard.entry_bytes).is_some();
        if read.kind == UseCaseKind::IndexWithLengths && !read.shards.iter().all(by_number) {
            return Err("no entry with a length prefix has this number of bytes".into());
        }
        if read.oprf.is_some() && !matches!(read.kind, UseCaseKind::Keyword { .. }) {
            return Err("only keyword tables can be symmetric".into());
        }
        Ok(read)
    }

    /// Parameter set of the use case.
    ///
    /// # Errors
    /// If there is no set of that name.
    pub fn set(&self) -> Result<ParamsSet, sotto_core::ParamsError> {
        find(&self.set)
    }

    /// Number of rows of all shards.
    pub fn rows(&self) -> u64 {
        self.shards.iter().fold(0, |all, shard| all.saturating_add(shard.rows))
    }

    /// Offsets of all tables and entries.
    ///
    /// # Errors
    /// If a shape is invalid, or if the sizes overflow.
    pub fn places(&self, codec: &Codec) -> Result<FileLayout, String> {
        let shapes = self.shards.iter().map(|shard| self.shape(shard, codec.kit().plaintext_bytes()));
        FileLayout::of(shapes.collect::<Result<_, _>>()?, self.kind.tables(), codec)
    }

    fn shape(&self, shard: &ShardShape, plaintext_bytes: usize) -> Result<EntryShape, String> {
        let number = |x: u64| usize::try_from(x).map_err(|_| "number too large".to_owned());
        let [d0, d1] = shard.dimensions;
        let (entries, bytes) = (number(shard.entries)?, number(shard.entry_bytes)?);
        let dimensions = [number(d0)?, number(d1)?];
        EntryShape::new(entries, bytes, plaintext_bytes, dimensions, self.kind.tables())
            .map_err(|why| why.to_string())
    }
}

/// Checks the name of a use case.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    match name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
        true => Err("expected a use case name of 1 to 256 bytes without control characters".into()),
        false => Ok(()),
    }
}

impl FileLayout {
    /// Offsets of shards of these shapes.
    ///
    /// # Errors
    /// If the sizes overflow.
    pub fn of(shapes: Vec<EntryShape>, tables: usize, codec: &Codec) -> Result<Self, String> {
        let mut places = FileLayout {
            shapes: Vec::new(),
            tables: Vec::new(),
            entries: Vec::new(),
            table_bytes: 0,
            entry_bytes: 0,
        };
        for shape in shapes {
            let len = ValueTable::len(codec.kit(), &shape).map_err(|why| why.to_string())?;
            let (mut of_tables, mut of_entries) = (Vec::new(), Vec::new());
            for _ in 0..tables {
                let start = places.table_bytes.next_multiple_of(ALIGNMENT);
                of_tables.push(start);
                of_entries.push(places.entry_bytes);
                let ends = (start.checked_add(len), places.entry_bytes.checked_add(shape.bytes_of_entries()));
                let (Some(table_bytes), Some(entry_bytes)) = ends else { return Err(TOO_LARGE.into()) };
                (places.table_bytes, places.entry_bytes) = (table_bytes, entry_bytes);
                if table_bytes > i64::MAX as u64 / 2 {
                    return Err(TOO_LARGE.into());
                }
            }
            places.shapes.push(shape);
            places.tables.push(of_tables);
            places.entries.push(of_entries);
        }
        Ok(places)
    }
}

const TOO_LARGE: &str = "the tables are larger than any file";
