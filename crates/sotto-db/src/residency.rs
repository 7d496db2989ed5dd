//! Decides whether answers are computed from the mapped file or from a copy on huge pages.
//!
//! | module | contents |
//! |---|---|
//! | `choice` | decides whether a copy pays, as a pure function |
//! | `copy_budget` | memory that copies may take |
//!
//! The file system decides the pages of a file: huge on some, small on others, and small for
//! everything that was written in small pieces. A pass over small pages is slower, and reading
//! single rows is slower still, with a TLB miss for each. Anonymous memory has huge pages on every
//! file system, and is not paged out to make space for files.

mod choice;
mod copy_budget;

use crate::ImageFile;
use crate::image::MappedFile;
pub use choice::PlacementReason;
use choice::{PlacementInputs, choose};
pub use copy_budget::CopyBudget;
use copy_budget::CopyGrant;
use serde::{Deserialize, Serialize};
use sotto_core::{Image, Section};
pub use sotto_pages::PageKind;
use sotto_pages::{HugeBuffer, memory, pages_of};
use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::{fmt, io};

/// Bytes of a table that are copied at a time.
const PIECE: usize = 64 << 20;

/// Whether answers are computed from the mapped file of a table or from a copy of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Residency {
    /// Answers are computed from the mapped file, or from a copy if the file's pages are small, the
    /// copy's are huge, and it fits into the budget.
    #[default]
    Auto,
    /// Answers are computed from a copy in memory of the process, on huge pages where the system
    /// provides them.
    Copy,
    /// Answers are computed from the mapped file, which opens at once, shares the page cache, and
    /// may be paged out.
    Map,
}

/// Memory and pages that a table is on, and the reason.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TablePlacement {
    /// Bytes that answers are computed from.
    pub bytes: u64,
    /// Whether they are a copy in memory, or the mapped file.
    pub is_copy: bool,
    /// Share of the bytes that is on huge pages, if the system reports it.
    pub huge_share: Option<f64>,
    /// Reason for the placement.
    pub why: PlacementReason,
}

impl TablePlacement {
    /// Kind of the table's pages, if the system reports it.
    pub fn kind(&self) -> Option<PageKind> {
        self.huge_share.map(PageKind::of)
    }
}

impl fmt::Display for TablePlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_copy { "in memory" } else { "in the mapped file" })?;
        match self.kind() {
            Some(PageKind::Huge) => f.write_str(" on huge pages")?,
            Some(PageKind::Small) => f.write_str(" on small pages")?,
            Some(PageKind::Mixed(percent)) => write!(f, " on pages of which {percent} % are huge")?,
            None => {}
        }
        write!(f, "{}: {}", if self.is_copy { ", copied" } else { "" }, self.why)
    }
}

/// An image whose answers are computed from the mapped file or from a copy on huge pages.
///
/// The file has a catalog, or is one of another protocol.
pub struct ResidentImage<F = ImageFile> {
    file: Arc<F>,
    residency: Residency,
    budget: Arc<CopyBudget>,
    copy: OnceLock<HugePageCopy>,
    settled: Mutex<Option<TablePlacement>>,
}

struct HugePageCopy {
    section: Section,
    bytes: HugeBuffer,
    _taken: CopyGrant,
}

impl<F: Deref<Target = MappedFile>> ResidentImage<F> {
    /// The image, mapped for now. [`ResidentImage::decide_placement`] is called once it was read
    /// through, or when it is to be served without that.
    pub fn of(file: Arc<F>, residency: Residency, budget: &Arc<CopyBudget>) -> Arc<Self> {
        file.warm();
        let budget = budget.clone();
        Arc::new(ResidentImage { file, residency, budget, copy: OnceLock::new(), settled: Mutex::default() })
    }

    /// The mapped file of the image.
    pub fn file(&self) -> &Arc<F> {
        &self.file
    }

    /// Placement of the table, once it is decided.
    pub fn residence(&self) -> Option<TablePlacement> {
        *self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks which pages the file got, and copies the section that answers are computed from if
    /// that pays. Answers may be computed meanwhile. The decision is made once, and again only if
    /// the copy exceeded the budget. Callers that compute answers still call [`MappedFile::check`]
    /// afterwards: a copy of a file that was cut short is no better than the file.
    ///
    /// # Errors
    /// If there is no memory for a copy that was requested.
    pub fn decide_placement(&self) -> io::Result<TablePlacement> {
        if let Some(residence) =
            self.residence().filter(|residence| residence.why != PlacementReason::OverCopyBudget)
        {
            return Ok(residence);
        }
        let residence = self.decide()?;
        *self.settled.lock().unwrap_or_else(PoisonError::into_inner) = Some(residence);
        Ok(residence)
    }

    fn decide(&self) -> io::Result<TablePlacement> {
        let section = self.file.answered_from();
        let from = section.and_then(|section| self.file.section(section)).unwrap_or_default();
        let bytes = from.len() as u64;
        let _turn = self.budget.turn();
        let facts = PlacementInputs {
            bytes,
            huge_share: self.file.huge_share(),
            has_huge_pages: memory::has_huge_pages(),
            budget_left: self.budget.left(),
        };
        let mapped = |why| TablePlacement { bytes, is_copy: false, huge_share: facts.huge_share, why };
        let (section, why) = match (choose(self.residency, &facts), section) {
            ((true, why), Some(section)) if bytes > 0 => (section, why),
            ((_, why), _) => return Ok(mapped(why)),
        };
        let taken = self.budget.take(bytes);
        let copy = match self.copied(from) {
            Ok(copy) => copy,
            // The copy was optional.
            Err(_) if self.residency == Residency::Auto => {
                return Ok(mapped(PlacementReason::OverCopyBudget));
            }
            Err(error) => return Err(error),
        };
        let huge_share = pages_of(&copy).and_then(|pages| pages.huge_share());
        if self.residency == Residency::Auto && PageKind::of(huge_share.unwrap_or(0.0)) == PageKind::Small {
            // The copy would only take memory.
            return Ok(mapped(PlacementReason::NoHugePages));
        }
        let _ = self.copy.set(HugePageCopy { section, bytes: copy, _taken: taken });
        // Answers that were computed meanwhile may have read pages in again.
        self.file.release(0, from.len());
        Ok(TablePlacement { bytes, is_copy: true, huge_share, why })
    }

    /// Copies a section piece by piece, and releases the mapped pages of each piece that was
    /// copied, so that it is not in memory twice.
    fn copied(&self, from: &[u8]) -> io::Result<HugeBuffer> {
        let mut copy = HugeBuffer::zeroed(from.len())?;
        for ((to, from), piece) in copy.chunks_mut(PIECE).zip(from.chunks(PIECE)).zip(0..) {
            to.copy_from_slice(from);
            self.file.release(PIECE.saturating_mul(piece), from.len());
        }
        Ok(copy)
    }
}

impl<F: fmt::Debug> fmt::Debug for ResidentImage<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResidentImage({:?}, {:?})", self.file, self.residency)
    }
}

impl<F: Deref<Target = MappedFile> + Send + Sync> Image for ResidentImage<F> {
    fn section(&self, section: Section) -> Option<&[u8]> {
        match self.copy.get() {
            Some(copy) if copy.section == section => Some(&copy.bytes),
            _ => self.file.section(section),
        }
    }
}
