//! Where a word lies in a list, found without telling by time where.

use crate::simd::{self, Kernels};
use zeroize::Zeroize;

/// What a kernel may write beyond the last position that is kept.
pub(crate) const SPARE: usize = 16;

/// A list of positions with fixed room, wiped on drop.
///
/// What does not fit is counted and dropped, so that neither memory nor time follows what was found.
pub struct Found {
    /// The positions, and [`SPARE`] more that are never read.
    room: Vec<u32>,
    count: usize,
}

impl Found {
    /// An empty list with room for `capacity` positions.
    pub fn new(capacity: usize) -> Self {
        Found { room: vec![0; capacity.saturating_add(SPARE)], count: 0 }
    }

    /// Forgets all positions.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// How many positions the list holds, without those that did not fit.
    pub fn len(&self) -> usize {
        self.count.min(self.capacity())
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The positions that fitted, in the order in which they were found.
    pub fn as_slice(&self) -> &[u32] {
        &self.room[..self.len()]
    }

    /// Whether something was found that did not fit.
    pub fn overflowed(&self) -> bool {
        self.count > self.capacity()
    }

    fn capacity(&self) -> usize {
        self.room.len() - SPARE
    }
}

impl core::fmt::Debug for Found {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Found(..)")
    }
}

impl Drop for Found {
    fn drop(&mut self) {
        self.room.zeroize();
    }
}

/// Appends `base + i`, modulo 2^32, for every `i` with `a[i] & mask == x` or `b[i] == y`.
///
/// Time depends on lengths alone, and on whether the list overflows. Every position is written and the list's end
/// moves on or does not, so the only address that depends on content is that of the end, within the list.
///
/// # Panics
/// If `a` and `b` differ in length.
pub fn either16(a: &[u16], mask: u16, x: u16, b: &[u16], y: u16, base: u32, found: &mut Found) {
    either16_with(simd::kernels(), &Either { a, mask, x, b, y }, base, found);
}

/// What [`either16`] looks for, and where.
pub(crate) struct Either<'a> {
    pub(crate) a: &'a [u16],
    pub(crate) mask: u16,
    pub(crate) x: u16,
    pub(crate) b: &'a [u16],
    pub(crate) y: u16,
}

fn either16_with(kernels: &dyn Kernels, sought: &Either<'_>, base: u32, found: &mut Found) {
    assert_eq!(sought.a.len(), sought.b.len(), "as many words in both lists");
    found.count = kernels.either16(sought, base, &mut found.room, found.count);
}

#[cfg(test)]
mod tests;
