//! Which rows go to which buckets: cuckoo hashing with two tables, and rows of different lengths.
//!
//! Longest rows first, each into the emptier of its two buckets. A row that fits neither takes the place of others, which move on
//! to their other buckets, and so on for a while (Pagh and Rodler, 2001; with several rows to a bucket: Dietzfelbinger and
//! Weidling, 2007). Every row is placed, or the table is refused: none is lost. The same rows give the same buckets.

mod attempt;

use super::bucket::{EMPTY, MAX_ROWS, ROW};
use super::{TABLES, hash};
use attempt::CuckooAttempt;
pub use attempt::{MOVES, step};
use rayon::prelude::*;

/// How full buckets are meant to be, in hundredths, before there are more of them.
const FULL: usize = 97;

/// Bytes of a row at most.
const MAX_ROW: usize = ROW + u16::MAX as usize;

/// How often a table gets more buckets.
pub const GROWTHS: usize = 60;

/// A row.
#[derive(Debug, Clone, Copy)]
pub struct KeywordRow<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// Its value, of at most 65,535 bytes.
    pub value: &'a [u8],
}

/// How buckets are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CuckooOptions {
    /// Bytes of a bucket at most.
    pub bucket_bytes: usize,
    /// Buckets of each table; if none are said, as few as have room.
    pub buckets: Option<usize>,
}

/// Why rows make no table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// There is no row.
    #[error("a table without rows")]
    Empty,
    /// Two rows have one key, or keys that are known by the same hash.
    #[error("two rows have the key {first:?}, or the second is {second:?} with the same hash: leave one out")]
    DuplicateKey {
        /// The key of one.
        first: String,
        /// The key of the other.
        second: String,
    },
    /// A row that no bucket holds.
    #[error("the row of {key:?} takes {bytes} bytes of a bucket, which has {bucket}: make buckets larger")]
    TooLong {
        /// Its key.
        key: String,
        /// The bytes it takes.
        bytes: usize,
        /// The bytes of a bucket.
        bucket: usize,
    },
    /// Rows that do not all find a place.
    #[error(
        "{rows} rows do not fit {buckets} buckets of {bytes} bytes in each of two tables: make more, or larger ones"
    )]
    NoPlace {
        /// How many rows there are.
        rows: usize,
        /// How many buckets were tried.
        buckets: usize,
        /// The bytes of a bucket.
        bytes: usize,
    },
}

/// What is wrong with rows, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CuckooError {
    /// There is none.
    Empty,
    /// Two have one hash.
    DuplicateKey(u32, u32),
    /// One has no room in any bucket.
    TooLong(u32),
}

/// Rows as placement sees them: of each the hash of its key and the bytes that it takes, and in which order they are placed.
#[derive(Debug)]
pub struct CuckooItems<'a> {
    hashes: &'a [u64],
    sizes: &'a [u32],
    order: Vec<u32>,
    bucket_bytes: usize,
}

impl<'a> CuckooItems<'a> {
    /// Rows for buckets of so many bytes. As many sizes as hashes.
    ///
    /// # Errors
    /// [`BucketError`] if there is no row, two have one hash, or one has no room.
    pub fn new(hashes: &'a [u64], sizes: &'a [u32], bucket_bytes: usize) -> Result<Self, CuckooError> {
        let mut by_hash: Vec<(u64, u32)> = hashes.iter().copied().zip(0..).collect();
        by_hash.par_sort_unstable();
        let twice = by_hash.windows(2).find(|pair| pair.first().map(|x| x.0) == pair.last().map(|x| x.0));
        if let Some([(_, first), (_, second)]) = twice {
            return Err(CuckooError::DuplicateKey(*first, *second));
        }
        let mut items = CuckooItems {
            hashes,
            sizes,
            order: by_hash.into_iter().map(|(_, row)| row).collect(),
            bucket_bytes,
        };
        let (shortest, longest) = items.span().ok_or(CuckooError::Empty)?;
        if shortest < longest {
            let size = |row: &u32| sizes.get(*row as usize).copied().unwrap_or(0);
            items.order.par_sort_by_key(|row| u32::MAX - size(row));
        }
        match items.order.first() {
            Some(row) if longest > bucket_bytes.saturating_sub(EMPTY).min(MAX_ROW) => {
                Err(CuckooError::TooLong(*row))
            }
            _ => Ok(items),
        }
    }

    fn span(&self) -> Option<(usize, usize)> {
        let (shortest, longest) = (self.sizes.iter().min()?, self.sizes.iter().max()?);
        Some((*shortest as usize, *longest as usize))
    }

    /// The fewest buckets of each table that may have room for so many rows more, of the same lengths.
    pub fn least(&self, more: u64) -> usize {
        let all: u64 = self.sizes.iter().map(|size| u64::from(*size)).sum();
        let rows = self.sizes.len() as u64;
        let all = (u128::from(all) * u128::from(rows.saturating_add(more)) / u128::from(rows.max(1))) as u64;
        // Of rows of one length a bucket holds a whole number.
        let room = self.bucket_bytes.saturating_sub(EMPTY);
        let room = match self.span() {
            Some((shortest, longest)) if shortest == longest => room - room % shortest.max(1),
            _ => room,
        };
        let full = (TABLES * room.max(1)) as u64;
        let of_bytes = all.saturating_mul(100).div_ceil(FULL as u64).div_ceil(full);
        of_bytes.max(rows.saturating_add(more).div_ceil((TABLES * MAX_ROWS) as u64)).max(1) as usize
    }

    /// The rows in so many buckets of each table; `None` if they find no place.
    pub fn place(&self, count: usize) -> Option<CuckooTables> {
        let mut attempt = CuckooAttempt::new(self.hashes, self.sizes, count, self.bucket_bytes);
        let all = self.order.iter().all(|row| attempt.place(*row));
        all.then(|| attempt.done(self.hashes))
    }
}

/// The next number of buckets to try.
pub fn grown(count: usize) -> usize {
    count + count.div_ceil(64)
}

/// Rows in their buckets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CuckooTables {
    /// The rows of each bucket of each table, in the order of their hashes.
    tables: [Vec<Vec<u32>>; TABLES],
    entry_bytes: usize,
}

impl CuckooTables {
    /// Finds a place for every row.
    ///
    /// # Errors
    /// [`TableError`] if there is none for some.
    pub fn new(rows: &[KeywordRow<'_>], options: CuckooOptions) -> Result<Self, TableError> {
        let hashes: Vec<u64> = rows.iter().map(|row| hash(row.key)).collect();
        let sizes: Vec<u32> = rows.iter().map(|row| (ROW + row.value.len()) as u32).collect();
        let key = |i: u32| {
            rows.get(i as usize).map_or(String::new(), |row| String::from_utf8_lossy(row.key).into_owned())
        };
        let bucket = options.bucket_bytes;
        let items = CuckooItems::new(&hashes, &sizes, bucket).map_err(|fault| match fault {
            CuckooError::Empty => TableError::Empty,
            CuckooError::DuplicateKey(first, second) => {
                TableError::DuplicateKey { first: key(first), second: key(second) }
            }
            CuckooError::TooLong(row) => {
                let bytes = EMPTY + sizes.get(row as usize).map_or(0, |size| *size as usize);
                TableError::TooLong { key: key(row), bytes, bucket }
            }
        })?;
        let counts = std::iter::successors(Some(options.buckets.unwrap_or(items.least(0)).max(1)), |count| {
            options.buckets.is_none().then(|| grown(*count))
        });
        let mut tried = 0;
        for count in counts.take(GROWTHS) {
            tried = count;
            if let Some(placed) = items.place(count) {
                return Ok(placed);
            }
        }
        Err(TableError::NoPlace { rows: rows.len(), buckets: tried, bytes: bucket })
    }

    /// Buckets of each table.
    pub fn buckets(&self) -> usize {
        self.tables.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Bytes of the fullest bucket.
    pub fn entry_bytes(&self) -> usize {
        self.entry_bytes
    }

    /// The rows of a bucket.
    pub fn rows(&self, table: usize, bucket: usize) -> &[u32] {
        self.tables.get(table).and_then(|buckets| buckets.get(bucket)).map_or(&[], Vec::as_slice)
    }

    /// Writes a bucket, of the rows that were placed.
    pub fn write(&self, rows: &[KeywordRow<'_>], table: usize, bucket: usize, out: &mut [u8]) {
        let row = |i: &u32| rows.get(*i as usize).map(|row| (hash(row.key), row.value));
        super::bucket::write(self.rows(table, bucket).iter().filter_map(row), out);
    }
}

#[cfg(test)]
mod tests;
