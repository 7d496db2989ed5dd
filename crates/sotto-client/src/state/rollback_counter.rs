//! A counter in a second place, by which an old copy of a state is told from the newest one.
//!
//! Two slots a page apart, written in turn, so that a write which is torn leaves the other one. The larger counter of
//! those that are whole is the anchor.

use super::checksum::{add_checksum, check_checksum};
use super::disk::Disk;
use crate::files::StorageBackend;
use std::io;

/// Bytes from one slot to the other: no device tears more than a page in one write.
const APART: u64 = 4096;
/// A check and a counter.
const SLOT: usize = 24;

/// The anchor of one state.
pub(crate) struct RollbackCounter {
    file: Box<dyn StorageBackend>,
    id: String,
}

fn name(id: &str) -> String {
    format!("{id}.anchor")
}

impl RollbackCounter {
    /// Makes the anchor of a new state, at 0.
    pub(crate) fn make(disk: &dyn Disk, id: &str) -> io::Result<Self> {
        let anchor = RollbackCounter { file: disk.open(&name(id))?, id: id.to_owned() };
        anchor.file.set_len(APART + SLOT as u64)?;
        anchor.set(0)?;
        Ok(anchor)
    }

    /// The anchor of a state and where it stands; `None` if it is not there, or nothing of it can be read.
    pub(crate) fn find(disk: &dyn Disk, id: &str) -> io::Result<Option<(Self, u64)>> {
        if disk.read(&name(id))?.is_none() {
            return Ok(None);
        }
        let anchor = RollbackCounter { file: disk.open(&name(id))?, id: id.to_owned() };
        let at = anchor.slot(0)?.max(anchor.slot(1)?);
        Ok(at.map(|at| (anchor, at)))
    }

    /// Removes the anchor of a state that is no more.
    pub(crate) fn remove(disk: &dyn Disk, id: &str) -> io::Result<()> {
        disk.remove(&name(id))
    }

    /// Moves it, durably.
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
