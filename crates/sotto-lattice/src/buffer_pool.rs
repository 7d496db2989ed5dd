//! Memory that one answer leaves to the next: pools of large buffers, and words that start on a
//! cache line.
//!
//! Selectors and sums take tens of megabytes. Fresh from the operating system, each of their pages
//! would have to be cleared and mapped, which takes a tenth of an answer's time, or a quarter of an
//! expansion's.
//!
//! An allocator places large blocks 16 bytes past a page boundary, where every load of a full
//! vector register would touch two cache lines. Eight additional words leave space to begin at the
//! next line instead.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A pool of unused buffers.
#[derive(Debug)]
pub struct BufferPool<T> {
    capacity: usize,
    buffers: Mutex<Vec<T>>,
}

impl<T> BufferPool<T> {
    /// Makes an empty pool that stores at most `capacity` buffers.
    pub fn new(capacity: usize) -> Self {
        BufferPool { capacity, buffers: Mutex::new(Vec::new()) }
    }

    /// Takes a stored buffer, with arbitrary contents; `None` if there is none.
    pub fn take(&self) -> Option<T> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Stores a buffer, or drops it if the pool is full.
    pub fn keep(&self, buffer: T) {
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        if buffers.len() < self.capacity {
            buffers.push(buffer);
        }
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Unused memory. Only ciphertexts and what is computed from them are in [`AlignedWords`], and no
/// secret.
static IDLE: Mutex<WordPool> = Mutex::new(WordPool::new());

/// Largest number of unused bytes that are kept: the selectors and folded columns of a batch of
/// large tables.
const MAX_IDLE: usize = 64 << 20;

/// Words of the smallest block that is worth keeping, which is a page.
const MIN: usize = 512;

struct WordPool {
    /// Unused blocks by length, so that a block that is found fits.
    blocks: BTreeMap<usize, Vec<Vec<u64>>>,
    bytes: usize,
}

impl WordPool {
    const fn new() -> Self {
        WordPool { blocks: BTreeMap::new(), bytes: 0 }
    }

    fn keep(&mut self, block: Vec<u64>) {
        let bytes = size_of_val(block.as_slice());
        if block.len() >= MIN && self.bytes + bytes <= MAX_IDLE {
            self.bytes += bytes;
            self.blocks.entry(block.len()).or_default().push(block);
        }
    }

    fn take(&mut self, len: usize) -> Option<Vec<u64>> {
        let block = self.blocks.get_mut(&len)?.pop()?;
        self.bytes -= size_of_val(block.as_slice());
        Some(block)
    }
}

/// Locks the pool. No panic leaves it half changed.
fn idle() -> MutexGuard<'static, WordPool> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A fixed number of words, the first of which starts a cache line.
#[derive(Debug)]
pub(crate) struct AlignedWords {
    // Never grown after it is made: growing would move it, and the start with it.
    block: Vec<u64>,
    start: usize,
    len: usize,
}

impl AlignedWords {
    pub(crate) fn zero(len: usize) -> Self {
        match idle().take(len + LINE / 8) {
            Some(block) => {
                let mut words = AlignedWords::within(block, len);
                words.fill(0);
                words
            }
            None => AlignedWords::fresh(len),
        }
    }

    /// Returns words for a caller that sets them all: they have arbitrary contents.
    pub(crate) fn unfilled(len: usize) -> Self {
        let found = idle().take(len + LINE / 8);
        found.map_or_else(|| AlignedWords::fresh(len), |block| AlignedWords::within(block, len))
    }

    fn fresh(len: usize) -> Self {
        AlignedWords::within(vec![0; len + LINE / 8], len)
    }

    fn within(block: Vec<u64>, len: usize) -> Self {
        // The standard library may decline to align, by returning `usize::MAX`. Alignment only
        // saves time.
        let start = match block.as_ptr().align_offset(LINE) {
            offset if offset <= LINE / 8 => offset,
            _ => 0,
        };
        AlignedWords { block, start, len }
    }
}

impl Drop for AlignedWords {
    fn drop(&mut self) {
        idle().keep(std::mem::take(&mut self.block));
    }
}

impl Clone for AlignedWords {
    fn clone(&self) -> Self {
        let mut copy = AlignedWords::unfilled(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl Deref for AlignedWords {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.block[self.start..self.start + self.len]
    }
}

impl DerefMut for AlignedWords {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.block[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_start_a_cache_line_and_clones_are_equal() {
        for len in [0, 1, 8, 64, 4096, 1 << 18] {
            let mut words = AlignedWords::zero(len);
            words.iter_mut().zip(0..).for_each(|(word, i)| *word = i);
            let copy = words.clone();
            assert_eq!(*words, *copy);
            assert_eq!((words.as_ptr() as usize % LINE, copy.as_ptr() as usize % LINE), (0, 0));
        }
    }

    #[test]
    fn zeroed_words_are_zero_in_reused_memory() {
        const LEN: usize = 12_345;
        for _ in 0..3 {
            let mut words = AlignedWords::zero(LEN);
            assert!(words.iter().all(|word| *word == 0));
            words.fill(7);
        }
    }

    #[test]
    fn idle_blocks_are_found_by_length_and_limited() {
        let mut idle = WordPool::new();
        for len in [MIN - 1, MIN, 5000] {
            idle.keep(vec![len as u64; len]);
        }
        let mut found = |len| idle.take(len).map(|block| (block.len(), block[0]));
        assert_eq!([found(MIN - 1), found(MIN + 1), found(5001)], [None; 3]);
        assert_eq!(
            [found(5000), found(5000), found(MIN)],
            [Some((5000, 5000)), None, Some((MIN, MIN as u64))]
        );
        assert_eq!(idle.bytes, 0);
        let each = MAX_IDLE / 8 / 10;
        (0..12).for_each(|_| idle.keep(vec![0; each]));
        assert_eq!((idle.blocks[&each].len(), idle.bytes), (10, 80 * each));
    }
}
