//! Memory budget for copies of tables, over all tables together.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Limit on the memory that copies of tables may take, and the amount taken.
#[derive(Debug, Default)]
pub struct CopyBudget {
    max_bytes: Option<u64>,
    taken: Mutex<u64>,
    turn: Mutex<()>,
}

/// A share of the budget, released on drop.
#[derive(Debug)]
pub(super) struct CopyGrant {
    budget: Arc<CopyBudget>,
    bytes: u64,
}

impl CopyBudget {
    /// A budget of `max_bytes` bytes. `None` allows half of the memory that is available when a copy is
    /// requested.
    pub fn new(max_bytes: Option<u64>) -> Arc<Self> {
        Arc::new(CopyBudget { max_bytes, ..CopyBudget::default() })
    }

    /// Bytes that are taken.
    pub fn taken(&self) -> u64 {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that are left.
    pub fn left(&self) -> u64 {
        let taken = self.taken();
        // The memory of copies is not available any more, so it counts on both sides.
        let half = || sotto_pages::memory::available().map_or(0, |free| free.saturating_add(taken) / 2);
        self.max_bytes.unwrap_or_else(half).saturating_sub(taken)
    }

    /// Lock to hold from reading what is left until taking it: copies are made one after the other.
    pub(super) fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes `bytes` from the budget without checking what is left: the caller has checked.
    pub(super) fn take(self: &Arc<Self>, bytes: u64) -> CopyGrant {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken = taken.saturating_add(bytes);
        CopyGrant { budget: self.clone(), bytes }
    }
}

impl Drop for CopyGrant {
    fn drop(&mut self) {
        let mut taken = self.budget.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken = taken.saturating_sub(self.bytes);
    }
}
