//! Which pages an open image lies on.
//!
//! A mapped file has huge pages where its page cache has large pieces: it was written in large pieces, or read in by a mapping
//! that asked for them, and the file system can.

use super::MappedFile;
use sotto_core::{Image, Section};
use sotto_pages::{HUGE_PAGE, PageUsage, pages_of};
use std::hint::black_box;

/// In how many places an image is looked at of which little was read yet.
const PLACES: u64 = 64;

impl MappedFile {
    /// What stands behind a section now; `None` if there is no such section, or the system does not say.
    pub fn pages(&self, section: Section) -> Option<PageUsage> {
        pages_of(self.section(section)?)
    }

    /// Which share of what answers are made from lies on huge pages; `None` if the system does not say. If less than half of it
    /// was read yet, a few places all over it are, and it is the share of those.
    pub fn huge_share(&self) -> Option<f64> {
        let section = self.answered_from()?;
        let before = self.pages(section)?;
        if before.resident >= before.bytes / 2 {
            return before.huge_share();
        }
        self.wants_huge_pages();
        let places = (before.bytes / HUGE_PAGE).clamp(1, PLACES);
        let bytes = self.section(section)?;
        // In the middle of as many equal parts, since the ends of a section share their huge pages with what is beside it.
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
