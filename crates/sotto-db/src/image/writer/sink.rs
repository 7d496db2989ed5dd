//! Reads and writes parts of an image that is being written.

use super::ImageWriter;
use crate::image::header::FilePart;
use crate::progress::{Progress, ProgressUnit};
use sotto_core::{Misuse, Section, Sink};
use std::os::unix::fs::FileExt;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// A scheme writes through [`Sink`]; the parts that are not a scheme's are written through these
/// methods.
impl ImageWriter<'_> {
    /// Reserves a part of `bytes` zero bytes, or keeps the existing one if it has that size.
    ///
    /// # Errors
    /// The errors of [`Sink::reserve`].
    pub fn reserve_part(&self, part: FilePart, bytes: u64) -> sotto_core::Result<()> {
        if !part.is_known() {
            return Err(Misuse::Rule("image format 1 has no section for this artifact").into());
        }
        let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
        let held = places.iter().find(|place| place.part == part).map(|place| place.bytes);
        drop(places);
        match held {
            Some(held) if held == bytes => Ok(()),
            Some(_) => Err(Misuse::Rule("a section is reserved with one size").into()),
            None => self.allocate(part, bytes).map(drop),
        }
    }

    /// Writes bytes into a part.
    ///
    /// # Errors
    /// The errors of [`Sink::write_at`].
    pub fn write_part(&self, part: FilePart, offset: u64, bytes: &[u8]) -> sotto_core::Result<()> {
        let at = self.place(part, offset, bytes.len())?;
        self.temp.as_file().write_all_at(bytes, at)?;
        self.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Reads back bytes that were written into a part.
    ///
    /// # Errors
    /// The errors of [`Sink::read_at`].
    pub fn read_part(&self, part: FilePart, offset: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        let at = self.place(part, offset, out.len())?;
        Ok(self.temp.as_file().read_exact_at(out, at)?)
    }
}

impl Sink for ImageWriter<'_> {
    fn reserve(&self, section: Section, bytes: u64) -> sotto_core::Result<()> {
        self.reserve_part(FilePart::Scheme(section), bytes)
    }

    fn write_at(&self, section: Section, offset: u64, bytes: &[u8]) -> sotto_core::Result<()> {
        self.write_part(FilePart::Scheme(section), offset, bytes)
    }

    fn read_at(&self, section: Section, offset: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        self.read_part(FilePart::Scheme(section), offset, out)
    }

    fn progress(&self, stage: &'static str, done: u64, total: u64) {
        (self.watch)(Progress { stage, done, total, unit: ProgressUnit::Steps });
    }
}
