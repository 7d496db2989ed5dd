//! A list of words on huge pages, with a capacity that is fixed beforehand.

use std::fmt::{self, Debug, Formatter};
use std::io;
use std::ops::{Deref, DerefMut};

/// Bytes from which on a list uses huge pages: from here on, faulting in one huge page is faster
/// than faulting in the small ones.
#[cfg(unix)]
const MIN: u64 = crate::HUGE_PAGE / 16;

/// A word of a list: any bytes are one.
#[cfg(unix)]
pub trait Word:
    zerocopy::FromBytes + zerocopy::IntoBytes + zerocopy::Immutable + Copy + Default + 'static
{
}

/// A word of a list.
#[cfg(not(unix))]
pub trait Word: Copy + Default + 'static {}

impl Word for u32 {}
impl Word for u64 {}

/// The memory behind a list of words.
enum Memory<W> {
    #[cfg(unix)]
    Huge(crate::HugeBuffer),
    Small(Vec<W>),
}

/// A list of words on huge pages, where the system grants them. Its capacity is not touched before
/// words are written.
pub struct HugeWords<W = u32> {
    memory: Option<Memory<W>>,
    len: usize,
}

impl<W> Default for HugeWords<W> {
    fn default() -> Self {
        HugeWords { memory: None, len: 0 }
    }
}

impl<W> Debug for HugeWords<W> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("HugeWords").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<W: Word> HugeWords<W> {
    /// Makes a list of `words` zeros. Where the system refuses memory on huge pages, it is taken as
    /// that of any list is.
    pub fn zeroed(words: usize) -> Self {
        let memory = allocate(words).unwrap_or_else(|_| Memory::Small(vec![W::default(); words]));
        HugeWords { memory: Some(memory), len: words }
    }

    /// Makes an empty list with a capacity of `words` words.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub fn with_capacity(words: usize) -> io::Result<Self> {
        Ok(HugeWords { memory: Some(allocate(words)?), len: 0 })
    }

    /// Whether the capacity is not zero, used or not.
    pub fn has_capacity(&self) -> bool {
        self.memory.is_some()
    }
}

impl<W: Word> HugeWords<W> {
    /// Appends `words` zero words, to be overwritten, and returns them; fewer if the capacity is
    /// smaller.
    pub fn next(&mut self, words: usize) -> &mut [W] {
        let first = self.len;
        let free = self.memory.as_mut().map(all_mut).and_then(|all| all.get_mut(first..)).unwrap_or_default();
        let words = words.min(free.len());
        self.len += words;
        free.get_mut(..words).unwrap_or_default()
    }
}

/// Words past the capacity are dropped: the caller that set the capacity knows how many words there
/// will be.
impl<W: Word> Extend<W> for HugeWords<W> {
    fn extend<T: IntoIterator<Item = W>>(&mut self, words: T) {
        let Some(memory) = &mut self.memory else { return };
        for (place, word) in all_mut(memory).iter_mut().skip(self.len).zip(words) {
            *place = word;
            self.len += 1;
        }
    }
}

impl<W: Word> Deref for HugeWords<W> {
    type Target = [W];

    fn deref(&self) -> &[W] {
        self.memory.as_ref().and_then(|memory| all(memory).get(..self.len)).unwrap_or_default()
    }
}

impl<W: Word> DerefMut for HugeWords<W> {
    fn deref_mut(&mut self) -> &mut [W] {
        self.memory.as_mut().and_then(|memory| all_mut(memory).get_mut(..self.len)).unwrap_or_default()
    }
}

fn allocate<W: Word>(words: usize) -> io::Result<Memory<W>> {
    let bytes = words.checked_mul(size_of::<W>()).ok_or(io::ErrorKind::OutOfMemory)?;
    #[cfg(unix)]
    if bytes as u64 >= MIN {
        return Ok(Memory::Huge(crate::HugeBuffer::zeroed(bytes)?));
    }
    // An attempt, since on systems other than Unix all bytes are allocated at once.
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
    Ok(Memory::Small(vec![W::default(); words]))
}

/// The words of mapped memory, which starts at a page boundary and so is aligned.
fn all<W: Word>(memory: &Memory<W>) -> &[W] {
    match memory {
        #[cfg(unix)]
        Memory::Huge(memory) => zerocopy::FromBytes::ref_from_bytes(memory).unwrap_or_default(),
        Memory::Small(memory) => memory,
    }
}

fn all_mut<W: Word>(memory: &mut Memory<W>) -> &mut [W] {
    match memory {
        #[cfg(unix)]
        Memory::Huge(memory) => zerocopy::FromBytes::mut_from_bytes(memory).unwrap_or_default(),
        Memory::Small(memory) => memory,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_in_parts_and_never_more_than_fit() {
        let mut words = HugeWords::<u32>::with_capacity(1_000_003).unwrap();
        assert!(words.has_capacity() && words.is_empty());
        for part in [0..3, 3..1_000_000, 1_000_000..1_000_009] {
            words.extend(part);
        }
        assert!(words.iter().copied().eq(0..1_000_003));
        let mut parts = HugeWords::<u32>::with_capacity(5).unwrap();
        parts.next(3).copy_from_slice(&[1, 2, 3]);
        parts.extend([4]);
        assert_eq!(parts.next(9), [0]);
        assert_eq!((&*parts, parts.len()), (&[1, 2, 3, 4, 0][..], 5));
        assert!(parts.next(1).is_empty());
        let mut longer = HugeWords::<u64>::zeroed(100_000);
        longer[99_999] = u64::MAX;
        assert_eq!((longer.len(), longer[99_998], longer[99_999]), (100_000, 0, u64::MAX));
        let mut none = HugeWords::<u32>::default();
        assert!(none.next(1).is_empty());
        none.extend([1]);
        assert!(!none.has_capacity() && none.is_empty());
        assert!(HugeWords::<u32>::with_capacity(usize::MAX).is_err());
    }
}
