//! Anonymous memory that requests huge pages.

use std::io;
use std::ops::{Deref, DerefMut};

#[cfg(unix)]
type Memory = memmap2::MmapMut;
#[cfg(not(unix))]
type Memory = Vec<u8>;

/// A byte buffer on huge pages, where the system grants them.
///
/// Anonymous memory can be on huge pages whatever the file system, and is not evicted in favor of
/// cached files.
pub struct HugeBuffer {
    memory: Memory,
    bytes: usize,
}

impl HugeBuffer {
    /// Makes a buffer of `bytes` zeros.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub fn zeroed(bytes: usize) -> io::Result<Self> {
        // A mapping cannot be empty.
        Ok(HugeBuffer { memory: map(bytes.max(1))?, bytes })
    }

    /// Makes a copy of `bytes`.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub fn of(bytes: &[u8]) -> io::Result<Self> {
        let mut copy = HugeBuffer::zeroed(bytes.len())?;
        copy.copy_from_slice(bytes);
        Ok(copy)
    }
}

/// Maps zeros without physical pages yet: the size of a page is decided when it is first written
/// to.
#[cfg(unix)]
fn map(bytes: usize) -> io::Result<Memory> {
    let map = Memory::map_anon(bytes)?;
    // The advice is a hint, and may fail.
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    Ok(map)
}

#[cfg(not(unix))]
fn map(bytes: usize) -> io::Result<Memory> {
    let mut memory = Vec::new();
    memory.try_reserve_exact(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
    memory.resize(bytes, 0);
    Ok(memory)
}

impl Deref for HugeBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.memory.get(..self.bytes).unwrap_or_default()
    }
}

impl DerefMut for HugeBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.memory.get_mut(..self.bytes).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_equal_and_aligned() {
        for bytes in [0, 1, 4096, 5000] {
            let from: Vec<u8> = (0..bytes).map(|i| i as u8).collect();
            let copy = HugeBuffer::of(&from).unwrap();
            assert_eq!(copy[..], from);
            #[cfg(unix)]
            assert_eq!(copy.as_ptr().align_offset(4096), 0);
        }
    }

    #[test]
    fn it_begins_with_zeros_and_keeps_what_is_written() {
        let mut buffer = HugeBuffer::zeroed(3 << 20).unwrap();
        assert!(buffer.iter().all(|byte| *byte == 0));
        buffer[2_000_000] = 7;
        assert_eq!(buffer.iter().map(|byte| u64::from(*byte)).sum::<u64>(), 7);
    }
}
