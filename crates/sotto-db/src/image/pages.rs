//! Which sizes of pages an open image is on.
//!
//! A mapped file has huge pages where its page cache has large folios. This is so if it was written
//! in large pieces, or read in by a mapping that asked for huge pages, and if the file system
//! supports it.

use super::MappedFile;
use sotto_core::{Image, Section};
use sotto_pages::{HUGE_PAGE, PageUsage, pages_of};
use std::hint::black_box;

/// Number of samples of an image of which little was read yet.
const PLACES: u64 = 64;

impl MappedFile {
    /// Pages of a section now; `None` if there is no such section, or if the system does not report
    /// them.
    pub fn pages(&self, section: Section) -> Option<PageUsage> {
        pages_of(self.section(section)?)
    }

    /// Share of the section that answers are computed from that is on huge pages; `None` if the
    /// system does not report it. If less than half of the section was read yet, a few samples all
    /// over it are read, and the result is their share.
    pub fn huge_share(&self) -> Option<f64> {
        let section = self.answered_from()?;
        let before = self.pages(section)?;
        if before.resident >= before.bytes / 2 {
            return before.huge_share();
        }
        self.wants_huge_pages();
        let places = (before.bytes / HUGE_PAGE).clamp(1, PLACES);
        let bytes = self.section(section)?;
        // Samples are in the middle of equal ranges, since the ends of a section share their huge
        // pages with the adjacent sections.
        let at = |place: u64| {
            (u128::from(before.bytes) * u128::from(2 * place + 1) / u128::from(2 * places)) as usize
        };
        (0..places).for_each(|place| {
            black_box(bytes.get(at(place)).copied());
        });
        let got = self.pages(section)?.huge.saturating_sub(before.huge);
        Some((got as f64 / (places * HUGE_PAGE) as f64).min(1.0))
    }
}
