//! An image whose scanned section lies in memory of its own.

use sotto_core::{Image, Section};
use std::sync::Arc;

/// The resident section copied, everything else where it was.
///
/// Anonymous memory is not paged out to make room for files, and Linux backs a large allocation with huge
/// pages where transparent huge pages are on, which files on most filesystems never get.
pub(crate) struct Copied {
    image: Arc<dyn Image>,
    buffer: Vec<u8>,
    start: usize,
}

/// Sections start on this boundary, copied or not: kernels load whole cache lines.
const ALIGN: usize = 64;

impl Copied {
    /// Copies; an image without a resident section stays as it is.
    pub(crate) fn of(image: Arc<dyn Image>) -> Arc<dyn Image> {
        let Some(resident) = image.section(Section::Resident) else { return image };
        // Zeroed memory comes from the system untouched; the copy is then the only pass over it.
        let mut buffer = vec![0; resident.len() + ALIGN];
        let start = buffer.as_ptr().align_offset(ALIGN).min(ALIGN);
        buffer.truncate(start + resident.len());
        if let Some(copy) = buffer.get_mut(start..) {
            copy.copy_from_slice(resident);
        }
        Arc::new(Copied { image, buffer, start })
    }
}

impl Image for Copied {
    fn section(&self, section: Section) -> Option<&[u8]> {
        match section {
            Section::Resident => self.buffer.get(self.start..),
            other => self.image.section(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_core::{Artifact, Sink};
    use sotto_testkit::memory::MemorySink;

    #[test]
    fn the_copy_is_equal_and_aligned() {
        let sink = MemorySink::new();
        let hint = Section::Public(Artifact::Hint);
        for (section, bytes) in [(Section::Resident, vec![5; 1000]), (hint, vec![6; 10])] {
            sink.reserve(section, bytes.len() as u64).unwrap();
            sink.write_at(section, 0, &bytes).unwrap();
        }
        let copied = Copied::of(Arc::new(sink.into_image()));
        let resident = copied.section(Section::Resident).unwrap();
        assert_eq!(resident, [5; 1000]);
        assert_eq!(resident.as_ptr().align_offset(ALIGN), 0);
        assert_eq!(copied.section(hint), Some(&[6; 10][..]));
    }
}
