//! An image whose rows lie in memory of their own, as a server holds them.

use super::buffer::HugeBuffer;
use sotto_core::{Artifact, Image, Section};
use std::io;
use std::sync::Arc;

/// The rows copied to huge pages, everything else where it was. A scheme that gathers a few bytes from thousands of
/// places pays for every small page of a mapped file; one that scans does not, and stays on the file.
pub(crate) struct InMemory {
    image: Arc<dyn Image>,
    rows: HugeBuffer,
}

const ROWS: Section = Section::Public(Artifact::Rows);

impl InMemory {
    /// Copies; an image without rows stays as it is.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub(crate) fn of(image: Arc<dyn Image>) -> io::Result<Arc<dyn Image>> {
        let Some(rows) = image.section(ROWS) else { return Ok(image) };
        let rows = HugeBuffer::of(rows)?;
        Ok(Arc::new(InMemory { image, rows }))
    }
}

impl Image for InMemory {
    fn section(&self, section: Section) -> Option<&[u8]> {
        if section == ROWS { Some(self.rows.bytes()) } else { self.image.section(section) }
    }
}
