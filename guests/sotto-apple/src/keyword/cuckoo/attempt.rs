//! One attempt to place every row in a given number of buckets.

use super::CuckooTables;
use crate::keyword::bucket::{EMPTY, MAX_ROWS};
use crate::keyword::{TABLES, buckets};
use rayon::prelude::*;

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
