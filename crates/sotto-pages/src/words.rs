//! A list of words on huge pages, with a capacity that is fixed beforehand.

use std::io;
use std::ops::Deref;

/// Bytes from which on a list uses huge pages: from here on, faulting in one huge page is faster
/// than faulting in the small ones.
#[cfg(unix)]
const MIN: u64 = crate::HUGE_PAGE / 16;

/// The memory behind a list of words.
enum Memory {
    #[cfg(unix)]
    Huge(crate::HugeBuffer),
    Small(Vec<u32>),
}

/// A list of words on huge pages, where the system grants them. Its capacity is not touched before
/// words are written.
#[derive(Default)]
pub struct HugeWords {
    memory: Option<Memory>,
    len: usize,
}

impl HugeWords {
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

impl HugeWords {
    /// Appends `words` zero words, to be overwritten, and returns them; fewer if the capacity is
    /// smaller.
    pub fn next(&mut self, words: usize) -> &mut [u32] {
        let first = self.len;
        let free = self.memory.as_mut().map(all_mut).and_then(|all| all.get_mut(first..)).unwrap_or_default();
        let words = words.min(free.len());
        self.len += words;
        free.get_mut(..words).unwrap_or_default()
    }
}

/// Words past the capacity are dropped: the caller that set the capacity knows how many words there
/// will be.
impl Extend<u32> for HugeWords {
    fn extend<T: IntoIterator<Item = u32>>(&mut self, words: T) {
        let Some(memory) = &mut self.memory else { return };
        for (place, word) in all_mut(memory).iter_mut().skip(self.len).zip(words) {
            *place = word;
            self.len += 1;
        }
    }
}

impl Deref for HugeWords {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        self.memory.as_ref().and_then(|memory| all(memory).get(..self.len)).unwrap_or_default()
    }
}

fn allocate(words: usize) -> io::Result<Memory> {
    let bytes = words.checked_mul(4).ok_or(io::ErrorKind::OutOfMemory)?;
    #[cfg(unix)]
    if bytes as u64 >= MIN {
        return Ok(Memory::Huge(crate::HugeBuffer::zeroed(bytes)?));
    }
    // An attempt, since on systems other than Unix all bytes are allocated at once.
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
    Ok(Memory::Small(vec![0; words]))
}

/// The words of mapped memory, which starts at a page boundary and so is aligned.
fn all(memory: &Memory) -> &[u32] {
    match memory {
        #[cfg(unix)]
        Memory::Huge(memory) => zerocopy::FromBytes::ref_from_bytes(memory).unwrap_or_default(),
        Memory::Small(memory) => memory,
    }
}

fn all_mut(memory: &mut Memory) -> &mut [u32] {
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
        let mut words = HugeWords::with_capacity(1_000_003).unwrap();
        assert!(words.has_capacity() && words.is_empty());
        for part in [0..3, 3..1_000_000, 1_000_000..1_000_009] {
            words.extend(part);
        }
        assert!(words.iter().copied().eq(0..1_000_003));
        let mut parts = HugeWords::with_capacity(5).unwrap();
        parts.next(3).copy_from_slice(&[1, 2, 3]);
        parts.extend([4]);
        assert_eq!(parts.next(9), [0]);
        assert_eq!((&*parts, parts.len()), (&[1, 2, 3, 4, 0][..], 5));
        assert!(parts.next(1).is_empty());
        let mut none = HugeWords::default();
        assert!(none.next(1).is_empty());
        none.extend([1]);
        assert!(!none.has_capacity() && none.is_empty());
        assert!(HugeWords::with_capacity(usize::MAX).is_err());
    }
}
