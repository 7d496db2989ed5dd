//! The one place where a file becomes memory, and the crate's only `unsafe`.

use memmap2::{Advice, Mmap};
use std::fs::File;
use std::io;

/// A file, mapped for reading.
pub(crate) struct Map(Mmap);

impl Map {
    /// Maps all of a file.
    #[allow(unsafe_code)]
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        // SAFETY: the bytes of a mapping must not change while it is borrowed. Images are written to a
        // temporary file and renamed when complete; nothing in sotto opens one for writing afterwards,
        // and an update writes another file. The mapping itself is read-only. Someone who truncates an
        // image in place while it is served breaks this and gets SIGBUS; `spec/image.md` says not to.
        // The copy of a table that buckets are read from (`table/buckets`) is written before it is mapped,
        // and no other process has its file, which has no name.
        unsafe { Mmap::map(file) }.map(Map)
    }

    /// All of it.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Asks the kernel to read a part in, and to use large pages for it. Only hints: refusals are ignored.
    pub(crate) fn will_need(&self, offset: usize, bytes: usize) {
        #[cfg(target_os = "linux")]
        let _ = self.0.advise_range(Advice::HugePage, offset, bytes);
        #[cfg(unix)]
        let _ = self.0.advise_range(Advice::WillNeed, offset, bytes);
    }
}
