//! Anonymous memory on huge pages, so that a read pass measures memory and not address translation.

use memmap2::MmapMut;
use std::io;

/// A filled buffer, on huge pages where the system grants them.
pub(crate) struct HugeBuffer(MmapMut);

fn map(bytes: usize) -> io::Result<MmapMut> {
    let map = MmapMut::map_anon(bytes.max(1))?;
    // Only a wish: a system without huge pages measures with ordinary ones.
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    Ok(map)
}

impl HugeBuffer {
    /// Maps and fills `bytes` bytes.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub(crate) fn new(bytes: usize) -> io::Result<Self> {
        let mut map = map(bytes)?;
        // Unwritten pages all are the one zero page, which would be read from cache.
        map.fill(0x5a);
        Ok(HugeBuffer(map))
    }

    /// Maps memory for a copy of `bytes`.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub(crate) fn of(bytes: &[u8]) -> io::Result<Self> {
        let mut map = map(bytes.len())?;
        if let Some(place) = map.get_mut(..bytes.len()) {
            place.copy_from_slice(bytes);
        }
        Ok(HugeBuffer(map))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
