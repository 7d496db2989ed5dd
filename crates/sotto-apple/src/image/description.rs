//! What a file says of itself, as JSON: read totally, and believed only where it fits the file.

use crate::codec::Codec;
use crate::keyword::TABLES;
use crate::length_prefix;
use crate::sets::{ParamsSet, find};
use serde::{Deserialize, Serialize};
use sotto_bfv::mulpir::{Compression, EntryShape, ValueTable};
use sotto_catalog::{Hex32, RowForm, ValueKind};
use sotto_layers::keyword::KeyForm;
use sotto_oprf::p384::PublicKey;

/// The version of descriptions that this build writes and reads.
pub const FORMAT: &str = "sotto-apple/1";

/// Bytes of a use case's name at most.
pub const MAX_NAME: usize = 256;

/// Shards of a table at most.
pub const MAX_SHARDS: usize = 1 << 16;

/// A multiple of this is where a table begins: a page.
pub const ALIGNMENT: u64 = 4096;

/// What a file says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UseCaseDescription {
    pub(super) format: String,
    /// The use case's name.
    pub name: String,
    /// Which epoch of it this is.
    pub epoch: u64,
    /// The parameter set, by Apple's name.
    pub set: String,
    /// How many keys clients send.
    pub compression: KeyCompression,
    /// How rows are asked for.
    pub kind: UseCaseKind,
    /// What values are.
    pub value: ValueKind,
    /// Bytes of the longest value there was when the table was encoded, or of each number.
    pub value_bytes: u64,
    /// Of a symmetric table: the public half of the key that its rows are sealed with.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "super::oprf::digits")]
    pub oprf: Option<PublicKey>,
    /// Its shards.
    pub shards: Vec<ShardShape>,
    /// BLAKE3 of all tables.
    pub tables: Hex32,
}

/// How rows are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum UseCaseKind {
    /// By key.
    Keyword {
        /// How keys are spelled.
        form: KeyForm,
        /// Bytes of a bucket at most, as was asked for.
        bucket_bytes: u64,
        /// Whether it was asked for how many buckets there are.
        fixed: bool,
    },
    /// By number.
    Index,
    /// By number, and each entry has its [length](mod@crate::lengths) before it.
    #[serde(rename = "index-lengths")]
    IndexWithLengths,
}

/// How many keys clients send: [`Compression`] by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyCompression {
    /// One for each round.
    #[default]
    None,
    /// Fewer.
    Hybrid,
    /// The fewest.
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

/// A shard's shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardShape {
    /// Rows that are in it.
    pub rows: u64,
    /// Entries of each of its tables: buckets, or rows.
    pub entries: u64,
    /// Bytes of each.
    pub entry_bytes: u64,
    /// Rows and columns of plaintexts.
    pub dimensions: [u64; 2],
}

/// Where the tables of a file lie.
#[derive(Debug, Clone)]
pub struct FileLayout {
    /// The shape of each shard.
    pub shapes: Vec<EntryShape>,
    /// Where each of its tables begins.
    pub tables: Vec<Vec<u64>>,
    /// Where the entries of each of its tables begin.
    pub entries: Vec<Vec<u64>>,
    /// Bytes of all tables.
    pub table_bytes: u64,
    /// Bytes of all entries.
    pub entry_bytes: u64,
}

impl UseCaseKind {
    /// Tables of a shard.
    pub fn tables(&self) -> usize {
        match self {
            UseCaseKind::Keyword { .. } => TABLES,
            UseCaseKind::Index | UseCaseKind::IndexWithLengths => 1,
        }
    }

    /// How values lie in entries of so many bytes, of a table that is asked by number. `None` if it is asked by key, or entries
    /// have no such size.
    pub fn row_form(&self, entry_bytes: u64) -> Option<RowForm> {
        match self {
            UseCaseKind::Keyword { .. } => None,
            UseCaseKind::Index => Some(RowForm::Whole),
            UseCaseKind::IndexWithLengths => length_prefix::longest(entry_bytes).map(length_prefix::form),
        }
    }
}

impl UseCaseDescription {
    /// Reads a description. Total.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let read: Self = serde_json::from_slice(bytes).map_err(|why| why.to_string())?;
        if read.format != FORMAT {
            return Err(format!("it is written as {:?}, and this build reads {FORMAT:?}", read.format));
        }
        check_name(&read.name)?;
        if !(1..=MAX_SHARDS).contains(&read.shards.len()) {
            return Err("a table has 1 to 65536 shards".into());
        }
        let by_number = |shard: &ShardShape| read.kind.row_form(shard.entry_bytes).is_some();
        if read.kind == UseCaseKind::IndexWithLengths && !read.shards.iter().all(by_number) {
            return Err("no entry with its length before it has so many bytes".into());
        }
        if read.oprf.is_some() && !matches!(read.kind, UseCaseKind::Keyword { .. }) {
            return Err("only tables that are asked by key are symmetric".into());
        }
        Ok(read)
    }

    /// The parameter set.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn set(&self) -> Result<ParamsSet, sotto_core::ParamsError> {
        find(&self.set)
    }

    /// Rows of all shards.
    pub fn rows(&self) -> u64 {
        self.shards.iter().fold(0, |all, shard| all.saturating_add(shard.rows))
    }

    /// Where everything lies.
    ///
    /// # Errors
    /// If a shape is none, or there are more bytes than addresses.
    pub fn places(&self, codec: &Codec) -> Result<FileLayout, String> {
        let shapes = self.shards.iter().map(|shard| self.shape(shard, codec.kit().plaintext_bytes()));
        FileLayout::of(shapes.collect::<Result<_, _>>()?, self.kind.tables(), codec)
    }

    fn shape(&self, shard: &ShardShape, plaintext_bytes: usize) -> Result<EntryShape, String> {
        let number = |x: u64| usize::try_from(x).map_err(|_| "a number is too large".to_owned());
        let [d0, d1] = shard.dimensions;
        let (entries, bytes) = (number(shard.entries)?, number(shard.entry_bytes)?);
        let dimensions = [number(d0)?, number(d1)?];
        EntryShape::new(entries, bytes, plaintext_bytes, dimensions, self.kind.tables())
            .map_err(|why| why.to_string())
    }
}

/// Refuses a name that is no name.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    match name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
        true => Err("a use case's name has 1 to 256 bytes, and no control characters".into()),
        false => Ok(()),
    }
}

impl FileLayout {
    /// Where shards of these shapes lie.
    ///
    /// # Errors
    /// If there are more bytes than addresses.
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

const TOO_LARGE: &str = "its tables are larger than any file";
