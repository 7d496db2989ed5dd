//! Places rows in buckets: cuckoo hashing with two tables, and rows of different lengths.
//!
//! Longest rows are placed first, each in the emptier of its two buckets. A row that fits into
//! neither displaces others, which move to their other buckets, and so on for a limited number of
//! moves (Pagh and Rodler, 2001; with several rows per bucket: Dietzfelbinger and Weidling, 2007).
//! Either every row is placed, or the table is refused. Placement is deterministic.

use crate::keyword::bucket::{EMPTY, MAX_ROWS, ROW};
use crate::keyword::{TABLES, buckets, hash};
use rayon::prelude::*;

/// Intended utilization of buckets in percent, before their number grows.
const FULL: usize = 97;

/// Largest size of a row in bytes.
const MAX_ROW: usize = ROW + u16::MAX as usize;

/// Number of times that a table may grow.
const GROWTHS: usize = 60;

/// Smallest number of buckets of a table: clients query no table of one bucket.
const MIN_BUCKETS: usize = 2;

/// A row of a keyword table.
#[derive(Debug, Clone, Copy)]
pub struct KeywordRow<'a> {
    /// Key of the row.
    pub key: &'a [u8],
    /// Value of the row, of at most 65,535 bytes.
    pub value: &'a [u8],
}

/// Hashes of rows, and their bytes in a bucket.
pub(super) fn hashed(rows: &[KeywordRow<'_>]) -> (Vec<u64>, Vec<u32>) {
    rows.iter().map(|row| (hash(row.key), (ROW + row.value.len()) as u32)).unzip()
}

/// Options for building buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CuckooOptions {
    /// Largest size of a bucket in bytes.
    pub bucket_bytes: usize,
    /// Number of buckets of each table; `None` for as few as suffice.
    pub buckets: Option<usize>,
}

/// Why rows cannot make a table. Rows are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The table has no rows.
    #[error("the table has no rows")]
    Empty,
    /// Two rows have one key, or keys with the same hash.
    #[error("rows {0} and {1} have the same key, or keys with the same hash: leave one out")]
    DuplicateKey(u32, u32),
    /// A row is too long for any bucket.
    #[error("row {0} is too long for any bucket: make buckets larger")]
    TooLong(u32),
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
    /// [`TableError`] if there is no row, if two have one hash, or if one is too long for a
    /// bucket.
    pub fn new(hashes: &'a [u64], sizes: &'a [u32], bucket_bytes: usize) -> Result<Self, TableError> {
        let mut by_hash: Vec<(u64, u32)> = hashes.iter().copied().zip(0..).collect();
        by_hash.par_sort_unstable();
        let twice = by_hash.windows(2).find(|pair| pair.first().map(|x| x.0) == pair.last().map(|x| x.0));
        if let Some([(_, first), (_, second)]) = twice {
            return Err(TableError::DuplicateKey(*first, *second));
        }
        let mut items = CuckooItems {
            hashes,
            sizes,
            order: by_hash.into_iter().map(|(_, row)| row).collect(),
            bucket_bytes,
        };
        let (shortest, longest) = items.span().ok_or(TableError::Empty)?;
        if shortest < longest {
            let size = |row: &u32| sizes.get(*row as usize).copied().unwrap_or(0);
            items.order.par_sort_by_key(|row| u32::MAX - size(row));
        }
        match items.order.first() {
            Some(row) if longest > bucket_bytes.saturating_sub(EMPTY).min(MAX_ROW) => {
                Err(TableError::TooLong(*row))
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

/// Places the rows of each shard in an equal number of buckets, so that all shards have one shape:
/// `buckets`, or as few as hold the rows and `room` further ones.
///
/// # Errors
/// [`TableError::NoPlace`].
pub fn place_all(
    shards: &[CuckooItems<'_>],
    buckets: Option<usize>,
    room: u64,
) -> Result<Vec<CuckooTables>, TableError> {
    let more = room.div_ceil(shards.len().max(1) as u64);
    let least = || shards.iter().map(|items| items.least(more)).max().unwrap_or(1);
    let mut count = buckets.unwrap_or_else(least).max(MIN_BUCKETS);
    let mut tried = count;
    for _ in 0..if buckets.is_some() { 1 } else { GROWTHS } {
        tried = count;
        if let Some(placed) = shards.iter().map(|items| items.place(count)).collect() {
            return Ok(placed);
        }
        count += count.div_ceil(64);
    }
    let rows = shards.iter().map(|items| items.hashes.len()).sum();
    let bytes = shards.first().map_or(0, |items| items.bucket_bytes);
    Err(TableError::NoPlace { rows, buckets: tried, bytes })
}

/// Rows in their buckets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CuckooTables {
    /// Rows of each bucket of each table, in the order of their hashes.
    tables: [Vec<Vec<u32>>; TABLES],
    entry_bytes: usize,
}

impl CuckooTables {
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
}

/// Largest number of rows that move to make space for one.
pub const MOVES: usize = 2000;

/// Step of a linear congruential generator, which is used in place of randomness. Its values only
/// need a long period.
pub fn step(step: u64) -> u64 {
    step.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
}

/// Buckets that are being filled. Those of the second table follow those of the first.
pub(super) struct CuckooAttempt<'a> {
    sizes: &'a [u32],
    /// The two buckets of each row.
    homes: Vec<[u32; TABLES]>,
    rows: Vec<Vec<u32>>,
    used: Vec<usize>,
    bytes: usize,
    /// State of the generator.
    step: u64,
}

impl<'a> CuckooAttempt<'a> {
    pub(super) fn new(hashes: &[u64], sizes: &'a [u32], count: usize, bytes: usize) -> Self {
        let homes = |hash: &u64| {
            let [one, other] = buckets(*hash, count);
            // If a key has only one bucket, it is in the first table, where a client looks first.
            let other = if one == other { one } else { count + other };
            [one as u32, other as u32]
        };
        let all = TABLES * count;
        CuckooAttempt {
            sizes,
            homes: hashes.par_iter().map(homes).collect(),
            rows: vec![Vec::new(); all],
            used: vec![EMPTY; all],
            bytes,
            step: 0,
        }
    }

    fn size(&self, row: u32) -> usize {
        self.sizes.get(row as usize).map_or(0, |size| *size as usize)
    }

    fn room(&self, bucket: u32) -> usize {
        let rows = self.rows.get(bucket as usize).map_or(MAX_ROWS, Vec::len);
        let used = self.used.get(bucket as usize).copied().unwrap_or(self.bytes);
        if rows < MAX_ROWS { self.bytes.saturating_sub(used) } else { 0 }
    }

    fn put(&mut self, row: u32, bucket: u32) {
        let size = self.size(row);
        if let (Some(rows), Some(used)) =
            (self.rows.get_mut(bucket as usize), self.used.get_mut(bucket as usize))
        {
            rows.push(row);
            *used += size;
        }
    }

    /// Removes some row from a bucket.
    fn take(&mut self, bucket: u32) -> Option<u32> {
        self.step = step(self.step);
        let rows = self.rows.get_mut(bucket as usize)?;
        let at = (self.step >> 33) as usize % rows.len().max(1);
        let row = (at < rows.len()).then(|| rows.swap_remove(at))?;
        let size = self.size(row);
        *self.used.get_mut(bucket as usize)? -= size;
        Some(row)
    }

    /// Places a row, and whatever it displaces.
    pub(super) fn place(&mut self, row: u32) -> bool {
        let mut homeless = vec![row];
        let mut moves = 0;
        while let Some(row) = homeless.pop() {
            let Some([one, other]) = self.homes.get(row as usize).copied() else { return false };
            let size = self.size(row);
            let emptier = if self.room(other) > self.room(one) { other } else { one };
            if self.room(emptier) < size {
                let bucket = if self.step >> 63 == 0 { one } else { other };
                while self.room(bucket) < size {
                    moves += 1;
                    match self.take(bucket) {
                        Some(moved) if moves <= MOVES => homeless.push(moved),
                        _ => return false,
                    }
                }
                self.put(row, bucket);
            } else {
                self.put(row, emptier);
            }
        }
        true
    }

    pub(super) fn done(mut self, hashes: &[u64]) -> CuckooTables {
        let hash = |row: &u32| hashes.get(*row as usize).copied();
        self.rows.iter_mut().for_each(|rows| rows.sort_unstable_by_key(hash));
        let second = self.rows.split_off(self.rows.len() / TABLES);
        let entry_bytes = self.used.iter().fold(EMPTY, |most, used| most.max(*used));
        CuckooTables { tables: [self.rows, second], entry_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(rows: &[KeywordRow<'_>], options: CuckooOptions) -> Result<CuckooTables, TableError> {
        let (hashes, sizes) = hashed(rows);
        let items = CuckooItems::new(&hashes, &sizes, options.bucket_bytes)?;
        Ok(place_all(&[items], options.buckets, 0)?.remove(0))
    }

    fn rows(keys: &[String]) -> Vec<KeywordRow<'_>> {
        let value = |i: usize| &[b'v'; 200][..if i % 100 == 7 { 200 } else { i * 7 % 41 }];
        keys.iter().enumerate().map(|(i, key)| KeywordRow { key: key.as_bytes(), value: value(i) }).collect()
    }

    fn keys(count: usize) -> Vec<String> {
        (0..count).map(|i| format!("+1555{i:07}")).collect()
    }

    #[test]
    fn every_row_is_in_one_of_its_buckets_once() {
        for (count, bucket_bytes, fixed) in
            [(1, 300, None), (1000, 1024, None), (3000, 300, None), (1000, 1024, Some(40))]
        {
            let keys = keys(count);
            let rows = rows(&keys);
            let options = CuckooOptions { bucket_bytes, buckets: fixed };
            let placed = place(&rows, options).unwrap();
            assert!(
                placed.entry_bytes() <= bucket_bytes && fixed.is_none_or(|fixed| placed.buckets() == fixed)
            );
            let mut found = vec![0; count];
            for table in 0..TABLES {
                for bucket in 0..placed.buckets() {
                    let mut used = EMPTY;
                    for i in placed.rows(table, bucket) {
                        let row = rows[*i as usize];
                        assert_eq!(buckets(hash(row.key), placed.buckets())[table], bucket);
                        used += ROW + row.value.len();
                        found[*i as usize] += 1;
                    }
                    assert!(used <= placed.entry_bytes());
                }
            }
            assert!(found.iter().all(|times| *times == 1), "{count}");
            assert_eq!(place(&rows, options), Ok(placed));
        }
    }

    #[test]
    fn buckets_are_nearly_full() {
        let keys = keys(20_000);
        let rows: Vec<KeywordRow<'_>> =
            keys.iter().map(|key| KeywordRow { key: key.as_bytes(), value: b"ab" }).collect();
        let placed = place(&rows, CuckooOptions { bucket_bytes: 1024, buckets: None }).unwrap();
        let full = rows.len() * (ROW + 2) * 100 / (TABLES * placed.buckets() * 1024);
        assert!(full >= 90, "{full} %");
    }

    #[test]
    fn rows_that_make_no_table() {
        let options = |bucket_bytes, buckets| CuckooOptions { bucket_bytes, buckets };
        let place = |rows: &[KeywordRow<'_>], options| place(rows, options).map(|_| ());
        assert_eq!(place(&[], options(1024, None)), Err(TableError::Empty));
        let row = |key: &'static str, value: &'static [u8]| KeywordRow { key: key.as_bytes(), value };
        let twice = place(&[row("a", b""), row("b", b""), row("a", b"x")], options(1024, None));
        assert_eq!(twice, Err(TableError::DuplicateKey(0, 2)));
        let long = place(&[row("a", &[1; 100])], options(110, None));
        assert_eq!(long, Err(TableError::TooLong(0)));
        assert_eq!(place(&[row("a", &[1; 100])], options(111, None)), Ok(()));
        assert!(matches!(place(&[row("a", b"")], options(0, None)), Err(TableError::TooLong(_))));
        let many = keys(1100);
        let many: Vec<KeywordRow<'_>> =
            many.iter().map(|key| KeywordRow { key: key.as_bytes(), value: b"" }).collect();
        let refused = place(&many, options(1024, Some(4)));
        assert_eq!(refused, Err(TableError::NoPlace { rows: 1100, buckets: 4, bytes: 1024 }));
        // A bucket has at most 255 rows, however many bytes it has.
        assert!(place(&many, options(60_000, Some(2))).is_err());
        assert!(place(&many, options(60_000, None)).is_ok());
    }
}
