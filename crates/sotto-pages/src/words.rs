//! A list of words on huge pages, as long as is known beforehand.

use std::io;
use std::ops::Deref;

#[cfg(unix)]
type Memory = crate::HugeBuffer;
#[cfg(not(unix))]
type Memory = Vec<u32>;

/// Words on huge pages where the system grants them. Its room is not touched before words come.
#[derive(Default)]
pub struct HugeWords {
    memory: Option<Memory>,
    len: usize,
}

impl HugeWords {
    /// Room for so many words.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub fn with_room(words: usize) -> io::Result<Self> {
        Ok(HugeWords { memory: Some(room(words)?), len: 0 })
    }

    /// Whether there is room for any, taken or not.
    pub fn has_room(&self) -> bool {
        self.memory.is_some()
    }
}

/// What does not fit is left out: who makes the room knows how many words there will be.
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

#[cfg(unix)]
fn room(words: usize) -> io::Result<Memory> {
    crate::HugeBuffer::zeroed(words.checked_mul(4).ok_or(io::ErrorKind::OutOfMemory)?)
}

/// Mapped memory begins with a page, so it always is words.
#[cfg(unix)]
fn all(memory: &Memory) -> &[u32] {
    zerocopy::FromBytes::ref_from_bytes(memory).unwrap_or_default()
}

#[cfg(unix)]
fn all_mut(memory: &mut Memory) -> &mut [u32] {
    zerocopy::FromBytes::mut_from_bytes(memory).unwrap_or_default()
}

#[cfg(not(unix))]
fn room(words: usize) -> io::Result<Memory> {
    let mut memory = Vec::new();
    memory.try_reserve_exact(words).map_err(|_| io::ErrorKind::OutOfMemory)?;
    memory.resize(words, 0);
    Ok(memory)
}

#[cfg(not(unix))]
fn all(memory: &Memory) -> &[u32] {
    memory
}

#[cfg(not(unix))]
fn all_mut(memory: &mut Memory) -> &mut [u32] {
    memory
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_in_parts_and_never_more_than_fit() {
        let mut words = HugeWords::with_room(1_000_003).unwrap();
        assert!(words.has_room() && words.is_empty());
        for part in [0..3, 3..1_000_000, 1_000_000..1_000_009] {
            words.extend(part);
        }
        assert!(words.iter().copied().eq(0..1_000_003));
        let mut none = HugeWords::default();
        none.extend([1]);
        assert!(!none.has_room() && none.is_empty());
        assert!(HugeWords::with_room(usize::MAX).is_err());
    }
}
