//! Tables, sinks and images in memory, and a disk that fills up.

use sotto_core::{Artifact, Image, Misuse, RecordSource, Result, Section, Sink};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Records in one vector.
#[derive(Debug, Clone)]
pub struct MemoryRows {
    record_bytes: usize,
    bytes: Vec<u8>,
}

impl MemoryRows {
    /// Records of `record_bytes` each, one after the other. A last, partial record is cut off.
    pub fn new(record_bytes: usize, mut bytes: Vec<u8>) -> Self {
        bytes.truncate(bytes.len() / record_bytes * record_bytes);
        MemoryRows { record_bytes, bytes }
    }

    /// All records, one after the other.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// All records, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl RecordSource for MemoryRows {
    fn records(&self) -> u64 {
        (self.bytes.len() / self.record_bytes) as u64
    }

    fn record_bytes(&self) -> usize {
        self.record_bytes
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let start = first.saturating_mul(self.record_bytes as u64) as usize;
        let range = start..start.saturating_add(out.len());
        let Some(bytes) = self.bytes.get(range) else {
            let last = first.saturating_add((out.len() / self.record_bytes) as u64);
            return Err(Misuse::IndexPastEnd { index: last, len: self.records() }.into());
        };
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> Result<()> {
        let end = offset.saturating_add(out.len() as u64);
        if record >= self.records() || end > self.record_bytes as u64 {
            return Err(Misuse::IndexPastEnd { index: record, len: self.records() }.into());
        }
        let start = record as usize * self.record_bytes + offset as usize;
        out.copy_from_slice(&self.bytes[start..start + out.len()]);
        Ok(())
    }
}

/// Records on a disk with a sector that cannot be read.
#[derive(Debug)]
pub struct UnreadableRows {
    /// The content of the disk.
    pub rows: MemoryRows,
    /// The record that cannot be read.
    pub lost: u64,
}

impl RecordSource for UnreadableRows {
    fn records(&self) -> u64 {
        self.rows.records()
    }

    fn record_bytes(&self) -> usize {
        self.rows.record_bytes()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let records = (out.len() / self.record_bytes()) as u64;
        if (first..first.saturating_add(records)).contains(&self.lost) {
            return Err(io::Error::from(io::ErrorKind::InvalidData).into());
        }
        self.rows.read(first, out)
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> Result<()> {
        if record == self.lost {
            return Err(io::Error::from(io::ErrorKind::InvalidData).into());
        }
        self.rows.read_part(record, offset, out)
    }
}

/// Bytes that start on a 64-byte boundary, as sections of a mapped image do.
#[derive(Debug)]
struct Aligned {
    buffer: Vec<u8>,
    start: usize,
    len: usize,
}

impl Aligned {
    fn zeroed(len: usize) -> Self {
        let buffer = vec![0; len + 63];
        let start = buffer.as_ptr().align_offset(64);
        Aligned { buffer, start, len }
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.start + self.len]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..self.start + self.len]
    }
}

impl Clone for Aligned {
    /// A copied buffer may be at another boundary, so the start is found again.
    fn clone(&self) -> Self {
        let mut copy = Aligned::zeroed(self.len);
        copy.bytes_mut().copy_from_slice(self.bytes());
        copy
    }
}

/// An encoded table in memory.
#[derive(Debug, Clone, Default)]
pub struct MemoryImage {
    sections: BTreeMap<Section, Aligned>,
}

impl MemoryImage {
    /// The bytes of a public artifact, or `None` if the image has no such artifact.
    pub fn artifact(&self, artifact: Artifact) -> Option<&[u8]> {
        self.section(Section::Public(artifact))
    }

    /// The sections of the image.
    pub fn sections(&self) -> Vec<Section> {
        self.sections.keys().copied().collect()
    }

    /// A copy in which one section has the given bytes.
    pub fn with(&self, section: Section, bytes: &[u8]) -> Self {
        let mut copy = self.clone();
        let mut aligned = Aligned::zeroed(bytes.len());
        aligned.bytes_mut().copy_from_slice(bytes);
        copy.sections.insert(section, aligned);
        copy
    }

    /// A copy that lacks one section.
    pub fn without(&self, section: Section) -> Self {
        let mut copy = self.clone();
        copy.sections.remove(&section);
        copy
    }
}

impl Image for MemoryImage {
    fn section(&self, section: Section) -> Option<&[u8]> {
        self.sections.get(&section).map(Aligned::bytes)
    }
}

/// A sink that writes an image in memory.
#[derive(Debug, Default)]
pub struct MemorySink {
    image: Mutex<MemoryImage>,
    written: AtomicU64,
}

impl MemorySink {
    /// A sink without any section.
    pub fn new() -> Self {
        MemorySink::default()
    }

    /// A sink that holds a copy of an image, for [`sotto_core::UpdateImage`].
    pub fn holding(image: MemoryImage) -> Self {
        MemorySink { image: Mutex::new(image), written: AtomicU64::new(0) }
    }

    /// Number of bytes given to `write_at` so far.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// The written image.
    pub fn into_image(self) -> MemoryImage {
        self.image.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn image(&self) -> MutexGuard<'_, MemoryImage> {
        self.image.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part of a section that starts at `offset` and is `len` long.
fn part(image: &mut MemoryImage, section: Section, offset: u64, len: usize) -> Result<&mut [u8]> {
    let sections = image.sections.get_mut(&section);
    let bytes = sections.ok_or(Misuse::Rule("a section is reserved before it is used"))?.bytes_mut();
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    bytes
        .get_mut(start..start.saturating_add(len))
        .ok_or_else(|| Misuse::Rule("reads and writes stay inside their section").into())
}

impl Sink for MemorySink {
    fn reserve(&self, section: Section, bytes: u64) -> Result<()> {
        let sections = &mut self.image().sections;
        if sections.get(&section).is_none_or(|old| old.len as u64 != bytes) {
            sections.insert(section, Aligned::zeroed(bytes as usize));
        }
        Ok(())
    }

    fn write_at(&self, section: Section, offset: u64, bytes: &[u8]) -> Result<()> {
        part(&mut self.image(), section, offset, bytes.len())?.copy_from_slice(bytes);
        self.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn read_at(&self, section: Section, offset: u64, out: &mut [u8]) -> Result<()> {
        out.copy_from_slice(part(&mut self.image(), section, offset, out.len())?);
        Ok(())
    }
}

/// A sink on a disk that becomes full.
#[derive(Debug)]
pub struct FullDisk {
    disk: MemorySink,
    /// Bytes that are left.
    room: AtomicU64,
}

impl FullDisk {
    /// An empty disk with space for `room` bytes.
    pub fn after(room: u64) -> Self {
        FullDisk { disk: MemorySink::new(), room: AtomicU64::new(room) }
    }

    /// A disk that holds an image and has no space left.
    pub fn holding(image: MemoryImage) -> Self {
        FullDisk { disk: MemorySink::holding(image), room: AtomicU64::new(0) }
    }
}

impl Sink for FullDisk {
    /// Always succeeds: files are sparse, so a disk fills up when bytes are written.
    fn reserve(&self, section: Section, bytes: u64) -> Result<()> {
        self.disk.reserve(section, bytes)
    }

    fn write_at(&self, section: Section, offset: u64, bytes: &[u8]) -> Result<()> {
        // One step for threads that write at the same time.
        let take = |room: u64| room.checked_sub(bytes.len() as u64);
        match self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => self.disk.write_at(section, offset, bytes),
            Err(_) => Err(io::Error::from(io::ErrorKind::StorageFull).into()),
        }
    }

    fn read_at(&self, section: Section, offset: u64, out: &mut [u8]) -> Result<()> {
        self.disk.read_at(section, offset, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_core::Error;

    #[test]
    fn sections_start_on_a_boundary_and_survive_copies() {
        let sink = MemorySink::new();
        for (bytes, section) in [(1, Section::Resident), (1000, Section::Public(Artifact::Hint))] {
            sink.reserve(section, bytes).unwrap();
            sink.write_at(section, bytes - 1, &[9]).unwrap();
        }
        let image = sink.into_image();
        for image in [image.clone(), image] {
            for section in image.sections() {
                let bytes = image.section(section).unwrap();
                assert_eq!(bytes.as_ptr().align_offset(64), 0);
                assert_eq!(bytes.last(), Some(&9));
            }
        }
    }

    #[test]
    fn a_section_is_kept_at_its_size_and_cleared_at_another() {
        let sink = MemorySink::new();
        let mut byte = [0];
        for (bytes, expected) in [(4, 5), (4, 5), (5, 0)] {
            sink.reserve(Section::Resident, bytes).unwrap();
            sink.read_at(Section::Resident, 0, &mut byte).unwrap();
            assert_eq!(byte[0], if sink.written() == 0 { 0 } else { expected });
            sink.write_at(Section::Resident, 0, &[5]).unwrap();
        }
    }

    #[test]
    fn nothing_is_written_outside_a_section() {
        let sink = MemorySink::new();
        assert!(matches!(sink.write_at(Section::Resident, 0, &[1]), Err(Error::Misuse(_))));
        sink.reserve(Section::Resident, 2).unwrap();
        for offset in [1, 2, u64::MAX] {
            assert!(matches!(sink.write_at(Section::Resident, offset, &[1, 1]), Err(Error::Misuse(_))));
        }
    }

    #[test]
    fn a_disk_has_the_room_it_has() {
        let disk = FullDisk::after(3);
        disk.reserve(Section::Resident, 100).unwrap();
        disk.write_at(Section::Resident, 0, &[1, 1, 1]).unwrap();
        let full = disk.write_at(Section::Resident, 0, &[1]);
        assert!(matches!(full, Err(Error::Storage(error)) if error.kind() == io::ErrorKind::StorageFull));
    }

    #[test]
    fn rows_past_the_end_are_refused() {
        let rows = MemoryRows::new(3, vec![0; 10]);
        assert_eq!(rows.records(), 3);
        assert!(rows.read(2, &mut [0; 3]).is_ok());
        for (first, bytes) in [(2, 6), (3, 3), (u64::MAX, 3)] {
            let past = rows.read(first, &mut vec![0; bytes]);
            assert!(matches!(past, Err(Error::Misuse(Misuse::IndexPastEnd { len: 3, .. }))), "{past:?}");
        }
        assert!(rows.read_part(2, 1, &mut [0; 2]).is_ok());
        for (record, offset) in [(2, 2), (3, 0), (0, u64::MAX), (u64::MAX, 0)] {
            assert!(rows.read_part(record, offset, &mut [0; 2]).is_err());
        }
    }
}
