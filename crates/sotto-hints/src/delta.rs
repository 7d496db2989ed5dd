//! A rows delta: for each changed row its number and old ^ new, by ascending numbers.

use sotto_core::{PeerMisbehaved, Result};

/// The changed rows of an epoch.
pub struct RowsDelta<'a> {
    rows: Vec<(u64, &'a [u8])>,
}

impl<'a> RowsDelta<'a> {
    /// Reads a whole delta of a table with so many rows.
    ///
    /// # Errors
    /// [`sotto_core::Error::Peer`] for bytes that are none.
    pub fn read(delta: &'a [u8], len: u64, row_bytes: usize) -> Result<Self> {
        let record = 8 + row_bytes;
        if !delta.len().is_multiple_of(record) {
            return Err(malformed("a row that is cut short"));
        }
        let (mut rows, mut least) = (Vec::with_capacity(delta.len() / record), 0);
        for (row, change) in delta.chunks_exact(record).filter_map(|record| record.split_first_chunk()) {
            let row = u64::from_le_bytes(*row);
            if !(least..len).contains(&row) {
                return Err(malformed("rows out of order, or past the last"));
            }
            least = row + 1;
            rows.push((row, change));
        }
        Ok(RowsDelta { rows })
    }

    /// Each changed row and what changed about it, by ascending numbers.
    pub fn rows(&self) -> &[(u64, &'a [u8])] {
        &self.rows
    }
}

/// The changed rows of one partition.
pub struct PartitionDelta<'a> {
    changes: &'a [(u64, &'a [u8])],
    /// By offset one more than which change, and 0 for a row that stays.
    which: Vec<u32>,
}

impl<'a> RowsDelta<'a> {
    /// Each partition with a changed row, where one has so many rows, and its changes.
    pub fn partitions(&self, rows: usize) -> impl Iterator<Item = (u64, PartitionDelta<'_>)> {
        let w = rows as u64;
        self.rows.chunk_by(move |(one, _), (next, _)| one / w == next / w).map(move |changes| {
            let mut which = vec![0; rows];
            for (i, (row, _)) in (1..).zip(changes) {
                if let Some(which) = which.get_mut((row % w) as usize) {
                    *which = i;
                }
            }
            (changes.first().map_or(0, |(row, _)| row / w), PartitionDelta { changes, which })
        })
    }
}

impl<'a> PartitionDelta<'a> {
    /// What changed about the row at an offset.
    pub fn at(&self, offset: u16) -> Option<&'a [u8]> {
        let i = self.which.get(usize::from(offset)).copied().unwrap_or(0);
        self.changes.get((i as usize).wrapping_sub(1)).map(|(_, change)| *change)
    }
}

/// Adds what changed to what the row is in.
pub fn add(parity: &mut [u8], change: &[u8]) {
    parity.iter_mut().zip(change).for_each(|(byte, change)| *byte ^= change);
}

fn malformed(why: &str) -> sotto_core::Error {
    PeerMisbehaved::Malformed { what: "rows delta", why: why.into() }.into()
}
