//! An image of which what is answered from lies in memory of its own.

use memmap2::{Mmap, MmapMut};
use sotto_core::{Artifact, Image, Section};
use std::io;
use std::sync::Arc;

/// The sections that answers are made from copied, everything else where it was.
///
/// Anonymous memory is not paged out to make room for files, and can have huge pages whatever the filesystem: a scheme that
/// picks one row of each partition meets a page per row, and with small ones a miss of the translation tables for each.
/// Linux gives them to whoever asks, unless they are off altogether. Mapped files have them on some filesystems (ext4 of
/// recent kernels), and then a copy gains nothing but to stay in memory.
pub(crate) struct Copied {
    image: Arc<dyn Image>,
    sections: Vec<(Section, Mmap)>,
}

/// What servers answer from. Rows are an artifact too, and are then served from the same copy.
const ANSWERED_FROM: [Section; 2] = [Section::Resident, Section::Public(Artifact::Rows)];

impl Copied {
    /// Copies; an image without such a section stays as it is.
    ///
    /// # Errors
    /// If there is no room in memory.
    pub(crate) fn of(image: Arc<dyn Image>) -> io::Result<Arc<dyn Image>> {
        let mut sections = Vec::new();
        for section in ANSWERED_FROM {
            let Some(bytes) = image.section(section).filter(|bytes| !bytes.is_empty()) else { continue };
            let mut copy = MmapMut::map_anon(bytes.len())?;
            // Before the first byte is written, since pages get their size when they are touched. Only a wish.
            #[cfg(target_os = "linux")]
            let _ = copy.advise(memmap2::Advice::HugePage);
            copy.copy_from_slice(bytes);
            sections.push((section, copy.make_read_only()?));
        }
        Ok(if sections.is_empty() { image } else { Arc::new(Copied { image, sections }) })
    }
}

impl Image for Copied {
    fn section(&self, section: Section) -> Option<&[u8]> {
        let copy = self.sections.iter().find(|(copied, _)| *copied == section);
        copy.map_or_else(|| self.image.section(section), |(_, copy)| Some(copy))
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
        let (hint, rows) = (Section::Public(Artifact::Hint), Section::Public(Artifact::Rows));
        for (section, bytes) in [(Section::Resident, vec![5; 1000]), (hint, vec![6; 10]), (rows, vec![7; 99])]
        {
            sink.reserve(section, bytes.len() as u64).unwrap();
            sink.write_at(section, 0, &bytes).unwrap();
        }
        let copied = Copied::of(Arc::new(sink.into_image())).unwrap();
        let resident = copied.section(Section::Resident).unwrap();
        assert_eq!(resident, [5; 1000]);
        assert_eq!(resident.as_ptr().align_offset(64), 0);
        assert_eq!(copied.section(rows), Some(&[7; 99][..]));
        assert_eq!(copied.section(hint), Some(&[6; 10][..]));
    }
}
