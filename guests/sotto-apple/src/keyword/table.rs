//! The tables of a shard, ready to answer. An index table is a shard with one table and no hashes.

use super::cuckoo::{CuckooItems, CuckooOptions, KeywordRow, TableError, hashed, place_all};
use super::{TABLES, bucket, buckets_of_secret};
use crate::codec::Codec;
use sotto_bfv::mulpir::elements;
use sotto_bfv::mulpir::{Compression, EntryShape, ValueTable};
use sotto_core::{Misuse, Result};
use subtle::{Choice, ConditionallySelectable};
use zeroize::Zeroizing;

/// A shard whose tables were not built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Rows find no place.
    #[error(transparent)]
    Placement(#[from] TableError),
    /// The tables do not fit the dimensions, or memory is exhausted.
    #[error(transparent)]
    Tables(#[from] sotto_core::Error),
}

/// Tables with the rows of one shard.
#[derive(Debug)]
pub struct Shard {
    shape: EntryShape,
    tables: Vec<ValueTable>,
}

impl Shard {
    /// Places rows, and computes their tables. A query requests a bucket of each table.
    ///
    /// # Errors
    /// [`BuildError`] if rows find no place, or if memory is exhausted.
    pub fn build(codec: &Codec, rows: &[KeywordRow<'_>], options: CuckooOptions) -> Result<Self, BuildError> {
        let (hashes, sizes) = hashed(rows);
        let items = CuckooItems::new(&hashes, &sizes, options.bucket_bytes)?;
        let placed = place_all(&[items], options.buckets, 0)?.remove(0);
        let entry_bytes = options.buckets.map_or(placed.entry_bytes(), |_| options.bucket_bytes);
        let plaintexts = plaintexts(codec, placed.buckets(), entry_bytes);
        let dimensions = EntryShape::quickest(plaintexts);
        let row = |i: &u32| Some((*hashes.get(*i as usize)?, rows.get(*i as usize)?.value));
        Ok(Self::of_entries(codec, placed.buckets(), entry_bytes, dimensions, |table, at, out| {
            bucket::write(placed.rows(table, at).iter().filter_map(row), out);
        })?)
    }

    /// Makes a shard of buckets that `entry` writes into zeros, given the numbers of the table and
    /// of the bucket.
    ///
    /// # Errors
    /// If there are no buckets, if they do not fit the dimensions, or if memory is exhausted.
    pub fn of_entries(
        codec: &Codec,
        count: usize,
        entry_bytes: usize,
        dimensions: [usize; 2],
        entry: impl Fn(usize, usize, &mut [u8]) + Sync,
    ) -> Result<Self> {
        let plaintext_bytes = codec.kit().plaintext_bytes();
        let shape = EntryShape::new(count, entry_bytes, plaintext_bytes, dimensions, TABLES)?;
        let table = |k| ValueTable::encode(codec.kit(), &shape, |i, out: &mut [u8]| entry(k, i, out));
        Ok(Shard { shape, tables: (0..TABLES).map(table).collect::<Result<_>>()? })
    }

    /// Makes a shard of tables with one shape: as many as a query requests entries, so that each
    /// entry is of one table.
    ///
    /// # Errors
    /// [`Misuse`] if the tables do not match.
    pub fn of_tables(shape: EntryShape, tables: Vec<ValueTable>) -> Result<Self> {
        match tables.len() == shape.batch() && tables.iter().all(|table| *table.shape() == shape) {
            true => Ok(Shard { shape, tables }),
            false => Err(Misuse::Rule("expected tables of one shape, one for each entry of a query").into()),
        }
    }

    /// Shape of the tables.
    pub fn shape(&self) -> &EntryShape {
        &self.shape
    }

    /// Tables of the shard.
    pub fn tables(&self) -> Vec<&ValueTable> {
        self.tables.iter().collect()
    }

    /// Automorphisms that the shard's queries need.
    pub fn elements(&self, codec: &Codec, compression: Compression) -> Vec<usize> {
        elements(codec.kit().degree(), self.shape.outputs(), compression)
    }
}

/// Number of plaintexts of `count` buckets, including each of their chunks.
pub(crate) fn plaintexts(codec: &Codec, count: usize, entry_bytes: usize) -> usize {
    count.div_ceil((codec.kit().plaintext_bytes() / entry_bytes.max(1)).max(1))
}

/// Buckets in which a key's row may be, for a shard of this shape, in constant time: one for each
/// of its one or two hash functions.
pub fn requested_buckets(shape: &EntryShape, hash: u64) -> Vec<usize> {
    let mut buckets = buckets_of_secret(hash, shape.entries()).to_vec();
    buckets.truncate(shape.batch());
    buckets
}

/// Value of a key in the buckets that were requested for it; `None` if neither contains it.
///
/// All bytes are read, whatever they are. Then the function branches on whether the key was found,
/// and how long its value is: its caller learns that, and so may a server that times what the
/// caller does next.
///
/// # Errors
/// If a bucket is damaged.
pub fn found(hash: u64, entries: &[impl AsRef<[u8]>]) -> Result<Option<Vec<u8>>> {
    let bytes = entries.iter().map(|entry| entry.as_ref().len()).max().unwrap_or(0);
    let (mut value, mut length) = (Zeroizing::new(vec![0; bytes]), 0);
    let (mut is_whole, mut is_there) = (Choice::from(1), Choice::from(0));
    for entry in entries {
        let found = bucket::find(entry.as_ref(), hash);
        is_whole &= found.is_whole;
        let take = found.is_there & !is_there;
        is_there |= take;
        length.conditional_assign(&found.length, take);
        value.iter_mut().zip(found.value.iter()).for_each(|(out, byte)| out.conditional_assign(byte, take));
    }
    if !bool::from(is_whole) {
        return Err(sotto_core::Error::Unreadable);
    }
    value.truncate(length as usize);
    Ok(bool::from(is_there).then(|| std::mem::take(&mut *value)))
}
