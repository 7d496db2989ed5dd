//! Buckets of a shard, and their changes: rows that change, are removed, or are added.
//!
//! A row that grows beyond the space in its bucket, or that is new, displaces others, which move to
//! their other buckets: the same cuckoo steps that build a table, starting from the existing one.
//! Only buckets that are accessed are decoded.

use crate::keyword::bucket::{self, EMPTY, MAX_ROWS, ROW};
use crate::keyword::cuckoo::{MOVES, step};
use crate::keyword::{TABLES, buckets};
use std::collections::BTreeMap;

/// Address of a bucket: its table, and its number.
pub(super) type BucketAddress = (usize, usize);

/// A row: the hash of its key, and its value.
type Row = (u64, Vec<u8>);

/// Why buckets cannot be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BucketError {
    /// The bytes of a bucket are invalid.
    Damaged,
    /// A row finds no place.
    Full,
}

/// Buckets of a shard, decoded on access.
pub(super) struct Buckets<'a> {
    /// Bytes of each table's buckets.
    tables: [&'a [u8]; TABLES],
    count: usize,
    entry_bytes: usize,
    /// Buckets that were decoded.
    read: BTreeMap<BucketAddress, Vec<Row>>,
    step: u64,
}

impl<'a> Buckets<'a> {
    pub(super) fn new(tables: [&'a [u8]; TABLES], count: usize, entry_bytes: usize) -> Self {
        Buckets { tables, count, entry_bytes, read: BTreeMap::new(), step: 0 }
    }

    /// Bytes of a bucket before the changes.
    pub(super) fn old(&self, (table, i): BucketAddress) -> Option<&'a [u8]> {
        let start = i.checked_mul(self.entry_bytes)?;
        self.tables.get(table)?.get(start..start.checked_add(self.entry_bytes)?)
    }

    fn rows(&mut self, place: BucketAddress) -> Result<&mut Vec<Row>, BucketError> {
        if !self.read.contains_key(&place) {
            let rows = self.old(place).and_then(bucket::read).ok_or(BucketError::Damaged)?;
            let rows = rows.into_iter().map(|(hash, value)| (hash, value.to_vec())).collect();
            self.read.insert(place, rows);
        }
        self.read.get_mut(&place).ok_or(BucketError::Damaged)
    }

    /// The two buckets of a row; twice the same where it has only one.
    fn homes(&self, hash: u64) -> [BucketAddress; TABLES] {
        let [one, other] = buckets(hash, self.count);
        [(0, one), if one == other { (0, one) } else { (1, other) }]
    }

    fn free_bytes(&mut self, place: BucketAddress) -> Result<usize, BucketError> {
        let most = self.entry_bytes;
        let rows = self.rows(place)?;
        let used = rows.iter().fold(EMPTY, |used, (_, value)| used + ROW + value.len());
        Ok(if rows.len() < MAX_ROWS { most.saturating_sub(used) } else { 0 })
    }

    /// Bucket of a row, and the row's index in it.
    fn find(&mut self, hash: u64) -> Result<Option<(BucketAddress, usize)>, BucketError> {
        for place in self.homes(hash) {
            if let Some(at) = self.rows(place)?.iter().position(|(there, _)| *there == hash) {
                return Ok(Some((place, at)));
            }
        }
        Ok(None)
    }

    /// Whether there is a row with this hash.
    pub(super) fn has(&mut self, hash: u64) -> Result<bool, BucketError> {
        Ok(self.find(hash)?.is_some())
    }

    /// Removes a row, if it exists.
    pub(super) fn remove(&mut self, hash: u64) -> Result<(), BucketError> {
        if let Some((place, at)) = self.find(hash)? {
            self.rows(place)?.remove(at);
        }
        Ok(())
    }

    /// Sets the value of a row, whether it exists or not.
    pub(super) fn set(&mut self, hash: u64, value: &[u8]) -> Result<(), BucketError> {
        if let Some((place, at)) = self.find(hash)? {
            let free_bytes = self.free_bytes(place)?;
            let rows = self.rows(place)?;
            match rows.get_mut(at) {
                Some((_, held)) if value.len() <= held.len() + free_bytes => {
                    *held = value.to_vec();
                    return Ok(());
                }
                _ => drop(rows.remove(at)),
            }
        }
        self.place((hash, value.to_vec()))
    }

    /// Places a row, and whatever it displaces.
    fn place(&mut self, row: Row) -> Result<(), BucketError> {
        let (mut homeless, mut moves) = (vec![row], 0);
        while let Some(row) = homeless.pop() {
            let size = ROW + row.1.len();
            let [one, other] = self.homes(row.0);
            let (of_one, of_other) = (self.free_bytes(one)?, self.free_bytes(other)?);
            let emptier = if of_other > of_one { other } else { one };
            let mut to = emptier;
            if of_one.max(of_other) < size {
                to = if self.step >> 63 == 0 { one } else { other };
                while self.free_bytes(to)? < size {
                    moves += 1;
                    match self.take(to)? {
                        Some(moved) if moves <= MOVES => homeless.push(moved),
                        _ => return Err(BucketError::Full),
                    }
                }
            }
            self.rows(to)?.push(row);
        }
        Ok(())
    }

    /// Removes some row from a bucket.
    fn take(&mut self, place: BucketAddress) -> Result<Option<Row>, BucketError> {
        self.step = step(self.step);
        let at = (self.step >> 33) as usize;
        let rows = self.rows(place)?;
        let at = at % rows.len().max(1);
        Ok((at < rows.len()).then(|| rows.swap_remove(at)))
    }

    /// Buckets whose bytes changed.
    pub(super) fn changed(mut self) -> BTreeMap<BucketAddress, Vec<u8>> {
        let mut changed = BTreeMap::new();
        for (place, mut rows) in std::mem::take(&mut self.read) {
            rows.sort_unstable_by_key(|(hash, _)| *hash);
            let mut bytes = vec![0; self.entry_bytes];
            bucket::write(rows.iter().map(|(hash, value)| (*hash, value.as_slice())), &mut bytes);
            if self.old(place) != Some(&bytes) {
                changed.insert(place, bytes);
            }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyword::hash;

    /// Encoded buckets with rows of the sizes at hand, each in one of its two buckets.
    fn filled(rows: usize, count: usize, entry_bytes: usize) -> [Vec<u8>; TABLES] {
        let empty = || vec![0; count * entry_bytes];
        let tables = [empty(), empty()];
        let mut buckets = Buckets::new([&tables[0], &tables[1]], count, entry_bytes);
        (0..rows).for_each(|i| buckets.set(hash(&i.to_le_bytes()), &[i as u8; 10]).unwrap());
        after(&tables, buckets.changed(), entry_bytes)
    }

    fn after(
        tables: &[Vec<u8>; TABLES],
        changed: BTreeMap<BucketAddress, Vec<u8>>,
        entry_bytes: usize,
    ) -> [Vec<u8>; TABLES] {
        let mut tables = tables.clone();
        for ((table, i), bytes) in changed {
            tables[table][i * entry_bytes..][..entry_bytes].copy_from_slice(&bytes);
        }
        tables
    }

    fn all(tables: &[Vec<u8>; TABLES], count: usize, entry_bytes: usize) -> BTreeMap<u64, Vec<u8>> {
        let mut all = BTreeMap::new();
        for (table, bytes) in tables.iter().enumerate() {
            for (i, bytes) in bytes.chunks_exact(entry_bytes).enumerate() {
                for (hash, value) in bucket::read(bytes).unwrap() {
                    let [one, other] = buckets(hash, count);
                    assert_eq!(i, if table == 0 { one } else { other });
                    assert!(all.insert(hash, value.to_vec()).is_none(), "a row twice");
                }
            }
        }
        all
    }

    #[test]
    fn rows_change_go_and_come_and_no_other_is_lost() {
        let (rows, count, entry_bytes) = (1000, 55, 200);
        // Nine rows fit into a bucket: 990 places would be too few for 1,000 rows; 55 buckets in
        // each of two tables have 990.
        assert_eq!((entry_bytes - EMPTY) / (ROW + 10) * count * TABLES, 990);
        let rows = rows - 60;
        let before = filled(rows, count, entry_bytes);
        let mut expected = all(&before, count, entry_bytes);
        assert_eq!(expected.len(), rows);
        let mut buckets = Buckets::new([&before[0], &before[1]], count, entry_bytes);
        let key = |i: usize| hash(&i.to_le_bytes());
        for i in 0..rows + 20 {
            match i {
                i if i >= rows || i % 10 == 1 => {
                    // One value in four is longer than before.
                    let value = vec![1; if i % 4 == 0 { 30 } else { 10 }];
                    buckets.set(key(i), &value).unwrap();
                    expected.insert(key(i), value);
                }
                i if i % 10 == 2 => {
                    assert!(buckets.has(key(i)).unwrap());
                    buckets.remove(key(i)).unwrap();
                    assert!(!buckets.has(key(i)).unwrap());
                    expected.remove(&key(i));
                }
                _ => (),
            }
        }
        let after = after(&before, buckets.changed(), entry_bytes);
        assert_eq!(all(&after, count, entry_bytes), expected);
    }

    #[test]
    fn buckets_without_room_and_buckets_that_are_none() {
        let before = filled(6, 2, 50);
        let mut buckets = Buckets::new([&before[0], &before[1]], 2, 50);
        assert_eq!(buckets.set(9, &[0; 40]), Err(BucketError::Full));
        assert_eq!(Buckets::new([&[1; 50], &[1; 50]], 1, 50).has(1), Err(BucketError::Damaged));
        assert_eq!(Buckets::new([&[], &[]], 1, 50).has(1), Err(BucketError::Damaged));
        // Setting the same value again changes nothing.
        let mut buckets = Buckets::new([&before[0], &before[1]], 2, 50);
        buckets.set(hash(&3usize.to_le_bytes()), &[3; 10]).unwrap();
        assert!(buckets.changed().is_empty());
    }
}
