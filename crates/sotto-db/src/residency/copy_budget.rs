//! Memory that copies of tables may take, over all tables together.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How much memory copies may take, and how much of it is taken.
#[derive(Debug, Default)]
pub struct CopyBudget {
    most: Option<u64>,
    taken: Mutex<u64>,
    turn: Mutex<()>,
}

/// A part of it, until it is dropped.
#[derive(Debug)]
pub(super) struct CopyGrant {
    room: Arc<CopyBudget>,
    bytes: u64,
}

impl CopyBudget {
    /// Room for `most` bytes, or for half of the memory that there is whenever a copy is wished for.
    pub fn new(most: Option<u64>) -> Arc<Self> {
        Arc::new(CopyBudget { most, ..CopyBudget::default() })
    }

    /// Bytes that are taken.
    pub fn taken(&self) -> u64 {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that are left.
    pub fn left(&self) -> u64 {
        let taken = self.taken();
        // What copies take is not available any more, and counts on both sides.
        let half = || sotto_pages::memory::available().map_or(0, |free| free.saturating_add(taken) / 2);
        self.most.unwrap_or_else(half).saturating_sub(taken)
    }

    /// Held from asking what is left until it is taken: copies are made one after the other.
    pub(super) fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes so much, whether it is left or not: that was asked before.
    pub(super) fn take(self: &Arc<Self>, bytes: u64) -> CopyGrant {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken = taken.saturating_add(bytes);
        CopyGrant { room: self.clone(), bytes }
    }
}

impl Drop for CopyGrant {
    fn drop(&mut self) {
        let mut taken = self.room.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken = taken.saturating_sub(self.bytes);
    }
}
