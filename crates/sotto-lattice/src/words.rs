//! Words that start on a cache line.
//!
//! An allocator gives large blocks 16 bytes past a page, where every load of a full vector register would touch two
//! cache lines. Eight words more than needed leave room to begin at the next line instead.

use std::ops::{Deref, DerefMut};

const LINE: usize = 64;

/// A fixed number of words, the first of which starts a cache line.
#[derive(Debug)]
pub(crate) struct Words {
    // Never grown after it is made: growing would move it, and the start with it.
    room: Vec<u64>,
    start: usize,
    len: usize,
}

impl Words {
    pub(crate) fn zero(len: usize) -> Self {
        let room = vec![0; len + LINE / 8];
        // The standard library may decline to tell, by answering something huge. Alignment only saves time.
        let start = match room.as_ptr().align_offset(LINE) {
            offset if offset <= LINE / 8 => offset,
            _ => 0,
        };
        Words { room, start, len }
    }
}

impl Clone for Words {
    fn clone(&self) -> Self {
        let mut copy = Words::zero(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl Deref for Words {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.room[self.start..self.start + self.len]
    }
}

impl DerefMut for Words {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.room[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_start_a_line_and_clones_are_equal() {
        for len in [0, 1, 8, 64, 4096, 1 << 18] {
            let mut words = Words::zero(len);
            words.iter_mut().zip(0..).for_each(|(word, i)| *word = i);
            let copy = words.clone();
            assert_eq!(*words, *copy);
            assert_eq!((words.as_ptr() as usize % LINE, copy.as_ptr() as usize % LINE), (0, 0));
        }
    }
}
