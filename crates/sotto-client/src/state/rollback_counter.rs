//! A counter in a second place, which tells an old copy of a state from the newest one.
//!
//! The file has two slots a page apart, written alternately, so that a torn write leaves the other
//! one. The larger counter of the valid slots counts.

use super::checksum::{add_checksum, check_checksum};
use super::disk::Disk;
use crate::files::StorageBackend;
use std::io;

/// Bytes from one slot to the other: no device tears more than a page in one write.
const APART: u64 = 4096;
/// Bytes of a slot: a checksum and a counter.
const SLOT: usize = 24;

/// The rollback counter of one state.
pub(crate) struct RollbackCounter {
    file: Box<dyn StorageBackend>,
    id: String,
}

fn name(id: &str) -> String {
    format!("{id}.counter")
}

impl RollbackCounter {
    /// Makes the counter of a new state, at 0.
    pub(crate) fn make(disk: &dyn Disk, id: &str) -> io::Result<Self> {
        let rollback_counter = RollbackCounter { file: disk.open(&name(id))?, id: id.to_owned() };
        rollback_counter.file.set_len(APART + SLOT as u64)?;
        rollback_counter.set(0)?;
        Ok(rollback_counter)
    }

    /// Opens the counter of a state, and returns its value; `None` if the file is missing, or no
    /// slot is valid.
    pub(crate) fn find(disk: &dyn Disk, id: &str) -> io::Result<Option<(Self, u64)>> {
        if disk.read(&name(id))?.is_none() {
            return Ok(None);
        }
        let rollback_counter = RollbackCounter { file: disk.open(&name(id))?, id: id.to_owned() };
        let at = rollback_counter.slot(0)?.max(rollback_counter.slot(1)?);
        Ok(at.map(|at| (rollback_counter, at)))
    }

    /// Removes the counter of a state that no longer exists.
    pub(crate) fn remove(disk: &dyn Disk, id: &str) -> io::Result<()> {
        disk.remove(&name(id))
    }

    /// Sets the counter, durably.
    pub(crate) fn set(&self, counter: u64) -> io::Result<()> {
        self.file.write(counter % 2 * APART, &add_checksum(&self.id, counter % 2, &counter.to_le_bytes()))?;
        self.file.sync_data()
    }

    fn slot(&self, slot: u64) -> io::Result<Option<u64>> {
        let mut bytes = [0; SLOT];
        if self.file.len()? < slot * APART + SLOT as u64 {
            return Ok(None);
        }
        self.file.read(slot * APART, &mut bytes)?;
        let counter = check_checksum(&self.id, slot, &bytes).and_then(|bytes| bytes.first_chunk().copied());
        Ok(counter.map(u64::from_le_bytes))
    }
}
