//! Large buffers that one answer leaves to the next.
//!
//! Selectors and sums take tens of megabytes. Fresh from the operating system, each page of them would have to
//! be cleared and mapped, which takes a tenth of an answer's time.

use std::sync::{Mutex, PoisonError};

/// Buffers nobody uses now.
pub struct BufferPool<T> {
    most: usize,
    kept: Mutex<Vec<T>>,
}

impl<T> BufferPool<T> {
    /// Room for at most so many.
    pub fn new(most: usize) -> Self {
        BufferPool { most, kept: Mutex::new(Vec::new()) }
    }

    /// A buffer that was kept, with whatever is in it.
    pub fn take(&self) -> Option<T> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Keeps a buffer, or drops it if there are enough.
    pub fn keep(&self, buffer: T) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < self.most {
            kept.push(buffer);
        }
    }
}
