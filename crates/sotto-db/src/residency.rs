//! Decides whether answers are computed from the mapped file or from a copy on huge pages.
//!
//! The file system decides the pages of a file: huge on some, small on others, and small for
//! everything that was written in small pieces. A pass over small pages is slower, and reading
//! single rows is slower still, with a TLB miss for each. Anonymous memory has huge pages on every
//! file system, and is not paged out to make space for files.

use crate::ImageFile;
use crate::image::MappedFile;
use serde::{Deserialize, Serialize};
use sotto_core::{Image, Section};
pub use sotto_pages::PageKind;
use sotto_pages::{HugeBuffer, memory, pages_of};
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
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

/// Bytes below which a table stays where it is: the processor's caches hold most of it, and its
/// address translations.
const LITTLE: u64 = 8 << 20;

/// Inputs of the decision.
#[derive(Debug, Clone, Copy, PartialEq)]
struct PlacementInputs {
    /// Bytes that answers are computed from.
    bytes: u64,
    /// Share of the mapped file that is on huge pages, if the system reports it.
    huge_share: Option<f64>,
    /// Whether anonymous memory can be on huge pages.
    has_huge_pages: bool,
    /// Bytes that copies may still take.
    budget_left: u64,
}

/// Reason for the placement of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlacementReason {
    /// The operator requested it.
    Requested,
    /// The table is so small that it makes no difference.
    TableIsSmall,
    /// Most of the file is already on huge pages.
    FileOnHugePages,
    /// Most of the file is on small pages.
    FileOnSmallPages,
    /// The system does not report the pages of the file.
    Unknown,
    /// The file is on small pages, and a copy would be too.
    NoHugePages,
    /// The file is on small pages, and a copy exceeds the copy budget.
    OverCopyBudget,
}

/// Whether to copy, and the reason.
fn choose(residency: Residency, facts: &PlacementInputs) -> (bool, PlacementReason) {
    match residency {
        Residency::Copy => (true, PlacementReason::Requested),
        Residency::Map => (false, PlacementReason::Requested),
        Residency::Auto if facts.bytes < LITTLE => (false, PlacementReason::TableIsSmall),
        Residency::Auto => match facts.huge_share {
            None => (false, PlacementReason::Unknown),
            Some(share) if share >= 0.5 => (false, PlacementReason::FileOnHugePages),
            Some(_) if !facts.has_huge_pages => (false, PlacementReason::NoHugePages),
            Some(_) if facts.bytes > facts.budget_left => (false, PlacementReason::OverCopyBudget),
            Some(_) => (true, PlacementReason::FileOnSmallPages),
        },
    }
}

impl fmt::Display for PlacementReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PlacementReason::Requested => "as requested",
            PlacementReason::TableIsSmall => "a copy of a small table gains nothing",
            PlacementReason::FileOnHugePages => "the file is on huge pages already",
            PlacementReason::FileOnSmallPages => "the file's pages are small",
            PlacementReason::Unknown => "the system does not tell the file's page size",
            PlacementReason::NoHugePages => "the system provides no huge pages",
            PlacementReason::OverCopyBudget => "a copy exceeds the copy budget",
        })
    }
}

/// Limit on the memory that copies of tables may take, and the amount taken.
#[derive(Debug, Default)]
pub struct CopyBudget {
    max_bytes: Option<u64>,
    taken: Mutex<u64>,
    turn: Mutex<()>,
}

/// A share of the budget, released on drop.
#[derive(Debug)]
struct CopyGrant {
    budget: Arc<CopyBudget>,
    bytes: u64,
}

impl CopyBudget {
    /// A budget of `max_bytes` bytes. `None` allows half of the memory that is available when a copy is
    /// requested.
    pub fn new(max_bytes: Option<u64>) -> Arc<Self> {
        Arc::new(CopyBudget { max_bytes, ..CopyBudget::default() })
    }

    /// Bytes that are taken.
    pub fn taken(&self) -> u64 {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that are left.
    pub fn left(&self) -> u64 {
        let taken = self.taken();
        // The memory of copies is not available any more, so it counts on both sides.
        let half = || sotto_pages::memory::available().map_or(0, |free| free.saturating_add(taken) / 2);
        self.max_bytes.unwrap_or_else(half).saturating_sub(taken)
    }

    /// Lock to hold from reading what is left until taking it: copies are made one after the other.
    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes `bytes` from the budget without checking what is left: the caller has checked.
    fn take(self: &Arc<Self>, bytes: u64) -> CopyGrant {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken = taken.saturating_add(bytes);
        CopyGrant { budget: self.clone(), bytes }
    }
}

impl Drop for CopyGrant {
    fn drop(&mut self) {
        let mut taken = self.budget.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken = taken.saturating_sub(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice() {
        let small = PlacementInputs {
            bytes: 1 << 30,
            huge_share: Some(0.0),
            has_huge_pages: true,
            budget_left: 1 << 30,
        };
        let share = |share| PlacementInputs { huge_share: share, ..small };
        let cases = [
            (small, (true, PlacementReason::FileOnSmallPages)),
            (share(Some(0.49)), (true, PlacementReason::FileOnSmallPages)),
            (share(Some(0.5)), (false, PlacementReason::FileOnHugePages)),
            (share(Some(1.0)), (false, PlacementReason::FileOnHugePages)),
            (share(Some(f64::NAN)), (true, PlacementReason::FileOnSmallPages)),
            (share(None), (false, PlacementReason::Unknown)),
            (
                PlacementInputs { budget_left: small.bytes - 1, ..small },
                (false, PlacementReason::OverCopyBudget),
            ),
            (PlacementInputs { has_huge_pages: false, ..small }, (false, PlacementReason::NoHugePages)),
            (PlacementInputs { bytes: LITTLE - 1, ..small }, (false, PlacementReason::TableIsSmall)),
            (PlacementInputs { bytes: LITTLE, ..small }, (true, PlacementReason::FileOnSmallPages)),
            (PlacementInputs { bytes: 0, ..small }, (false, PlacementReason::TableIsSmall)),
            (PlacementInputs { bytes: u64::MAX, ..small }, (false, PlacementReason::OverCopyBudget)),
        ];
        for (facts, choice) in cases {
            assert_eq!(choose(Residency::Auto, &facts), choice, "{facts:?}");
            assert_eq!(choose(Residency::Copy, &facts), (true, PlacementReason::Requested), "{facts:?}");
            assert_eq!(choose(Residency::Map, &facts), (false, PlacementReason::Requested), "{facts:?}");
        }
    }
}
