//! Which rows go to which buckets: cuckoo hashing with two tables, and rows of different lengths.
//!
//! Longest rows first, each into the emptier of its two buckets. A row that fits neither takes the place of others, which move on
//! to their other buckets, and so on for a while (Pagh and Rodler, 2001; with several rows to a bucket: Dietzfelbinger and
//! Weidling, 2007). Every row is placed, or the table is refused: none is lost. The same rows give the same buckets.

use super::bucket::{EMPTY, MOST_ROWS, ROW};
use super::{TABLES, buckets, hash};

/// How full buckets are meant to be, in hundredths, before there are more of them.
const FULL: usize = 97;

/// Rows that move to make room for one, at most.
const MOVES: usize = 2000;

/// How often a table gets more buckets.
const GROWTHS: usize = 60;

/// A row.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// Its value, of at most 65,535 bytes.
    pub value: &'a [u8],
}

/// How buckets are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
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
    Twice {
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

/// Rows in their buckets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    hashes: Vec<u64>,
    /// The rows of each bucket of each table, in the order of their hashes.
    tables: [Vec<Vec<u32>>; TABLES],
    entry_bytes: usize,
}

impl Placed {
    /// Finds a place for every row.
    ///
    /// # Errors
    /// [`TableError`] if there is none for some.
    pub fn new(rows: &[Row<'_>], options: Options) -> Result<Self, TableError> {
        let name = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
        let hashes: Vec<u64> = rows.iter().map(|row| hash(row.key)).collect();
        let mut order: Vec<u32> = (0..rows.len() as u32).collect();
        let of = |i: u32| (rows.get(i as usize), hashes.get(i as usize).copied().unwrap_or(0));
        order.sort_unstable_by_key(|i| of(*i).1);
        for pair in order.windows(2) {
            if let [first, second] = pair
                && of(*first).1 == of(*second).1
            {
                let key = |i: u32| of(i).0.map_or(String::new(), |row| name(row.key));
                return Err(TableError::Twice { first: key(*first), second: key(*second) });
            }
        }
        let sizes: Vec<usize> = rows.iter().map(|row| ROW + row.value.len()).collect();
        let size = |i: u32| sizes.get(i as usize).copied().unwrap_or(0);
        order.sort_by_key(|i| usize::MAX - size(*i));
        let longest = order.first().copied().ok_or(TableError::Empty)?;
        let bucket = options.bucket_bytes;
        if size(longest) > bucket.saturating_sub(EMPTY).min(ROW + usize::from(u16::MAX)) {
            let key = of(longest).0.map_or(String::new(), |row| name(row.key));
            return Err(TableError::TooLong { key, bytes: EMPTY + size(longest), bucket });
        }
        let all: usize = sizes.iter().sum();
        // Of rows of one length a bucket holds a whole number.
        let shortest = order.last().map_or(0, |i| size(*i));
        let room = bucket - EMPTY;
        let room = if shortest == size(longest) { room - room % shortest } else { room };
        let least = (all * 100 / FULL).div_ceil(TABLES * room).max(rows.len().div_ceil(TABLES * MOST_ROWS));
        let mut count = options.buckets.unwrap_or(least.max(1)).max(1);
        for _ in 0..GROWTHS {
            let mut attempt = Attempt::new(&hashes, &sizes, count, bucket);
            if order.iter().all(|row| attempt.place(*row)) {
                return Ok(attempt.done(hashes.clone()));
            }
            if options.buckets.is_some() {
                break;
            }
            count += count.div_ceil(64);
        }
        Err(TableError::NoPlace { rows: rows.len(), buckets: count, bytes: bucket })
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
    pub fn write(&self, rows: &[Row<'_>], table: usize, bucket: usize, out: &mut [u8]) {
        let row = |i: &u32| Some((*self.hashes.get(*i as usize)?, rows.get(*i as usize)?.value));
        super::bucket::write(self.rows(table, bucket).iter().filter_map(row), out);
    }
}

/// Buckets that are filled. Those of the second table come after those of the first.
struct Attempt<'a> {
    sizes: &'a [usize],
    /// The two buckets of each row.
    homes: Vec<[u32; TABLES]>,
    rows: Vec<Vec<u32>>,
    used: Vec<usize>,
    bytes: usize,
    /// What is taken in place of chance.
    step: u64,
}

impl<'a> Attempt<'a> {
    fn new(hashes: &[u64], sizes: &'a [usize], count: usize, bytes: usize) -> Self {
        let homes = |hash: &u64| {
            let [one, other] = buckets(*hash, count);
            // Where a key has only one bucket, it is in the first table, where a client looks first.
            let other = if one == other { one } else { count + other };
            [one as u32, other as u32]
        };
        let all = TABLES * count;
        Attempt {
            sizes,
            homes: hashes.iter().map(homes).collect(),
            rows: vec![Vec::new(); all],
            used: vec![EMPTY; all],
            bytes,
            step: 0,
        }
    }

    fn size(&self, row: u32) -> usize {
        self.sizes.get(row as usize).copied().unwrap_or(0)
    }

    fn room(&self, bucket: u32) -> usize {
        let rows = self.rows.get(bucket as usize).map_or(MOST_ROWS, Vec::len);
        let used = self.used.get(bucket as usize).copied().unwrap_or(self.bytes);
        if rows < MOST_ROWS { self.bytes.saturating_sub(used) } else { 0 }
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

    /// Takes some row out of a bucket.
    fn take(&mut self, bucket: u32) -> Option<u32> {
        // A linear congruential generator: what it gives need only not repeat soon.
        self.step = self.step.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let rows = self.rows.get_mut(bucket as usize)?;
        let at = (self.step >> 33) as usize % rows.len().max(1);
        let row = (at < rows.len()).then(|| rows.swap_remove(at))?;
        let size = self.size(row);
        *self.used.get_mut(bucket as usize)? -= size;
        Some(row)
    }

    /// Places a row, and whatever it displaces.
    fn place(&mut self, row: u32) -> bool {
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

    fn done(mut self, hashes: Vec<u64>) -> Placed {
        let hash = |row: &u32| hashes.get(*row as usize).copied();
        self.rows.iter_mut().for_each(|rows| rows.sort_unstable_by_key(hash));
        let second = self.rows.split_off(self.rows.len() / TABLES);
        let entry_bytes = self.used.iter().fold(EMPTY, |most, used| most.max(*used));
        Placed { hashes, tables: [self.rows, second], entry_bytes }
    }
}

#[cfg(test)]
mod tests;
