//! Rows deltas: for each changed row its number and old xor new, by ascending numbers.

use sotto_core::{PeerMisbehaved, Result};

/// The changed rows between two epochs, read from a delta file.
pub struct RowsDelta<'a> {
    rows: Vec<(u64, &'a [u8])>,
}

impl<'a> RowsDelta<'a> {
    /// Reads a whole delta of a table with `len` rows.
    ///
    /// # Errors
    /// [`sotto_core::Error::Peer`] for malformed bytes.
    pub fn read(delta: &'a [u8], len: u64, row_bytes: usize) -> Result<Self> {
        let record = 8 + row_bytes;
        if !delta.len().is_multiple_of(record) {
            return Err(malformed("the last row is cut short"));
        }
        let (mut rows, mut least) = (Vec::with_capacity(delta.len() / record), 0);
        for (row, change) in delta.chunks_exact(record).filter_map(|record| record.split_first_chunk()) {
            let row = u64::from_le_bytes(*row);
            if !(least..len).contains(&row) {
                return Err(malformed("rows must ascend, and be within the table"));
            }
            least = row + 1;
            rows.push((row, change));
        }
        Ok(RowsDelta { rows })
    }

    /// The numbers of the changed rows and their changes (old xor new), by ascending numbers.
    pub fn rows(&self) -> &[(u64, &'a [u8])] {
        &self.rows
    }
}

/// The changed rows of one partition.
pub struct PartitionDelta<'a> {
    changes: &'a [(u64, &'a [u8])],
    /// For each offset, 1 plus the index of its change, and 0 for an unchanged row.
    which: Vec<u32>,
}

impl<'a> RowsDelta<'a> {
    /// The partitions of `rows` rows that have a changed row, each with its changes.
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
    /// The change (old xor new) of the row at an offset.
    pub fn at(&self, offset: u16) -> Option<&'a [u8]> {
        let i = self.which.get(usize::from(offset)).copied().unwrap_or(0);
        self.changes.get((i as usize).wrapping_sub(1)).map(|(_, change)| *change)
    }
}

/// Adds the change of a row to a parity that contains the row.
pub fn add(parity: &mut [u8], change: &[u8]) {
    parity.iter_mut().zip(change).for_each(|(byte, change)| *byte ^= change);
}

fn malformed(why: &str) -> sotto_core::Error {
    PeerMisbehaved::Malformed { what: "rows delta", why: why.into() }.into()
}
