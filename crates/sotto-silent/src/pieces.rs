//! The pieces that the section of a table consists of, and those of a part: a part has some range of
//! each, and its image is these ranges, one after the other.

use sotto_core::{AcceleratorSlot, Image, ImageSection, Result, Section, TableMatrix};
use sotto_math::matrix::PanelLayout;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// A piece of the section that parts divide, and the range of it that one part has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Bytes of the whole piece.
    pub bytes: u64,
    /// The range that the part has.
    pub part: Range<u64>,
}

impl Piece {
    /// The ranges of a section that a part has of these pieces.
    pub fn ranges(pieces: &[Piece]) -> Vec<Range<u64>> {
        let mut start = 0;
        let range = |Piece { bytes, part }: &Piece| {
            let range = start + part.start..start + part.end;
            start += bytes;
            range
        };
        pieces.iter().map(range).collect()
    }
}

/// The section of an open table, or of an open part, piece by piece. Cheap to clone.
#[derive(Clone)]
pub struct PartSection {
    held: ImageSection,
    /// Where each piece begins, and the end.
    starts: Arc<[usize]>,
    /// Pieces that passes read, with their slots, in the order in which they were opened.
    matrices: Arc<Mutex<Vec<OpenMatrix>>>,
}

/// A piece that is a matrix which passes read.
struct OpenMatrix {
    layout: PanelLayout,
    piece: usize,
    slot: Arc<AcceleratorSlot>,
}

impl PartSection {
    /// Opens a section that has the part's range of each of these pieces.
    ///
    /// # Errors
    /// The errors of [`ImageSection::open`].
    pub fn open(section: Section, image: Arc<dyn Image>, pieces: &[Piece]) -> Result<Self> {
        let mut starts = vec![0];
        let mut end = 0;
        for Piece { part, .. } in pieces {
            end += part.end - part.start;
            starts.push(end as usize);
        }
        let held = ImageSection::open(image, section, name(section), end)?;
        Ok(PartSection { held, starts: starts.into(), matrices: Arc::default() })
    }

    /// The whole section.
    pub fn section(&self) -> ImageSection {
        self.held.clone()
    }

    /// The bytes of some consecutive pieces.
    pub fn pieces(&self, which: Range<usize>) -> &[u8] {
        let ends = self.starts.get(which.start).zip(self.starts.get(which.end));
        ends.and_then(|(start, end)| self.held.bytes().get(*start..*end)).unwrap_or_default()
    }

    /// The bytes of one piece.
    pub fn piece(&self, which: usize) -> &[u8] {
        self.pieces(which..which + 1)
    }

    /// Opens a piece as a matrix that passes read: makes the slot of its accelerator.
    pub(crate) fn open_matrix(&self, layout: PanelLayout, piece: usize) -> Arc<AcceleratorSlot> {
        let slot = Arc::<AcceleratorSlot>::default();
        let matrix = OpenMatrix { layout, piece, slot: slot.clone() };
        self.matrices.lock().unwrap_or_else(PoisonError::into_inner).push(matrix);
        slot
    }

    /// The matrices that passes read.
    pub fn matrices(&self) -> Vec<TableMatrix<'_>> {
        let matrix = |OpenMatrix { layout, piece, slot }: &OpenMatrix| TableMatrix {
            rows: layout.rows(),
            cols: layout.cols(),
            panels: self.piece(*piece),
            slot: slot.clone(),
        };
        self.matrices.lock().unwrap_or_else(PoisonError::into_inner).iter().map(matrix).collect()
    }

    /// Whether an accelerator has copies of the matrices.
    pub(crate) fn is_accelerated(&self) -> bool {
        let matrices = self.matrices.lock().unwrap_or_else(PoisonError::into_inner);
        matrices.iter().any(|matrix| matrix.slot.is_filled())
    }

    /// The bytes of a piece and of all after it.
    pub fn rest(&self, first: usize) -> &[u8] {
        self.pieces(first..self.starts.len() - 1)
    }
}

/// The name of a section, for errors.
pub(crate) fn name(section: Section) -> &'static str {
    match section {
        Section::Resident => "matrix",
        Section::Public(artifact) => artifact.name(),
    }
}
