//! Pool of large buffers that one answer leaves to the next.
//!
//! Selectors and sums take tens of megabytes. Fresh from the operating system, each of their pages
//! would have to be cleared and mapped, which takes a tenth of an answer's time.

use std::sync::{Mutex, PoisonError};

/// A pool of unused buffers.
pub struct BufferPool<T> {
    most: usize,
    kept: Mutex<Vec<T>>,
}

impl<T> BufferPool<T> {
    /// Makes an empty pool that stores at most `most` buffers.
    pub fn new(most: usize) -> Self {
        BufferPool { most, kept: Mutex::new(Vec::new()) }
    }

    /// Takes a stored buffer, with arbitrary contents; `None` if there is none.
    pub fn take(&self) -> Option<T> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Stores a buffer, or drops it if the pool is full.
    pub fn keep(&self, buffer: T) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < self.most {
            kept.push(buffer);
        }
    }
}
