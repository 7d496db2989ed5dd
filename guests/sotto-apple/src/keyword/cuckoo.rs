//! Places rows in buckets: cuckoo hashing with two tables, and rows of different lengths.
//!
//! Longest rows are placed first, each in the emptier of its two buckets. A row that fits into
//! neither displaces others, which move to their other buckets, and so on for a limited number of
//! moves (Pagh and Rodler, 2001; with several rows per bucket: Dietzfelbinger and Weidling, 2007).
//! Either every row is placed, or the table is refused. Placement is deterministic.

mod attempt;

use super::bucket::{EMPTY, MAX_ROWS, ROW};
use super::{TABLES, hash};
use attempt::CuckooAttempt;
pub use attempt::{MOVES, step};
use rayon::prelude::*;

/// Intended utilization of buckets in percent, before their number grows.
const FULL: usize = 97;

/// Largest size of a row in bytes.
const MAX_ROW: usize = ROW + u16::MAX as usize;

/// Number of times that a table may grow.
pub const GROWTHS: usize = 60;

/// A row of a keyword table.
#[derive(Debug, Clone, Copy)]
pub struct KeywordRow<'a> {
    /// Key of the row.
    pub key: &'a [u8],
    /// Value of the row, of at most 65,535 bytes.
    pub value: &'a [u8],
}

/// Options for building buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CuckooOptions {
    /// Largest size of a bucket in bytes.
    pub bucket_bytes: usize,
    /// Number of buckets of each table; `None` for as few as suffice.
    pub buckets: Option<usize>,
}

/// Why rows cannot make a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The table has no rows.
    #[error("the table has no rows")]
    Empty,
    /// Two rows have one key, or keys with the same hash.
    #[error(
        "two rows have the key {first:?}, or the second has key {second:?} with the same hash: leave one out"
    )]
    DuplicateKey {
        /// Key of the first row.
        first: String,
        /// Key of the second row.
        second: String,
    },
    /// A row is too long for any bucket.
    #[error("the row of {key:?} takes {bytes} bytes, a bucket has {bucket}: make buckets larger")]
    TooLong {
        /// Key of the row.
        key: String,
        /// Bytes of the row in a bucket.
        bytes: usize,
        /// Bytes of a bucket.
        bucket: usize,
    },
    /// Not all rows find a place.
    #[error(
        "{rows} rows do not fit {buckets} buckets of {bytes} bytes in each of two tables: make more or larger buckets"
    )]
    NoPlace {
        /// Number of rows.
        rows: usize,
        /// Number of buckets of the last attempt.
        buckets: usize,
        /// Bytes of a bucket.
        bytes: usize,
    },
}

/// Why rows cannot be placed, with the rows' numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CuckooError {
    /// The table has no rows.
    Empty,
    /// Two rows have one hash.
    DuplicateKey(u32, u32),
    /// A row is too long for any bucket.
    TooLong(u32),
}

/// Rows to be placed: the hash of each key, the bytes of each row in a bucket, and the order of
/// placement.
#[derive(Debug)]
pub struct CuckooItems<'a> {
    hashes: &'a [u64],
    sizes: &'a [u32],
    order: Vec<u32>,
    bucket_bytes: usize,
}

impl<'a> CuckooItems<'a> {
    /// Prepares rows for buckets of `bucket_bytes` bytes. There must be as many sizes as hashes.
    ///
    /// # Errors
    /// [`CuckooError`] if there is no row, if two have one hash, or if one is too long for a
    /// bucket.
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

    /// Smallest number of buckets of each table that may hold the rows and `more` further ones of
    /// the same lengths.
    pub fn least(&self, more: u64) -> usize {
        let all: u64 = self.sizes.iter().map(|size| u64::from(*size)).sum();
        let rows = self.sizes.len() as u64;
        let all = (u128::from(all) * u128::from(rows.saturating_add(more)) / u128::from(rows.max(1))) as u64;
        // Rows of one length: a bucket holds a whole number of them.
        let room = self.bucket_bytes.saturating_sub(EMPTY);
        let room = match self.span() {
            Some((shortest, longest)) if shortest == longest => room - room % shortest.max(1),
            _ => room,
        };
        let full = (TABLES * room.max(1)) as u64;
        let of_bytes = all.saturating_mul(100).div_ceil(FULL as u64).div_ceil(full);
        of_bytes.max(rows.saturating_add(more).div_ceil((TABLES * MAX_ROWS) as u64)).max(1) as usize
    }

    /// Places the rows in `count` buckets of each table; `None` if they find no place.
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
    /// Rows of each bucket of each table, in the order of their hashes.
    tables: [Vec<Vec<u32>>; TABLES],
    entry_bytes: usize,
}

impl CuckooTables {
    /// Places every row.
    ///
    /// # Errors
    /// [`TableError`] if some row finds no place.
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

    /// Number of buckets of each table.
    pub fn buckets(&self) -> usize {
        self.tables.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Bytes of the fullest bucket.
    pub fn entry_bytes(&self) -> usize {
        self.entry_bytes
    }

    /// Rows of a bucket.
    pub fn rows(&self, table: usize, bucket: usize) -> &[u32] {
        self.tables.get(table).and_then(|buckets| buckets.get(bucket)).map_or(&[], Vec::as_slice)
    }

    /// Writes a bucket of the rows that were placed.
    pub fn write(&self, rows: &[KeywordRow<'_>], table: usize, bucket: usize, out: &mut [u8]) {
        let row = |i: &u32| rows.get(*i as usize).map(|row| (hash(row.key), row.value));
        super::bucket::write(self.rows(table, bucket).iter().filter_map(row), out);
    }
}

#[cfg(test)]
mod tests;
