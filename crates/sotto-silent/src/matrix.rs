//! The matrix D in an image: opened, read back, and multiplied by many queries in one pass.
//!
//! | module | contents |
//! |---|---|
//! | `open` | the matrix of an open image, and its products with queries (feature `server`) |
//! | `write` | writing records as the matrix, a rectangle, or a range of one column (feature `server`) |
//! | `records` | reading columns or parts of them, and records as columns (feature `server`) |
//! | `scaled` | several records in a column, at a scale each (feature `server`) |
//! | `change` | changing bytes of an image's matrix, and reporting the differences |

mod change;
#[cfg(feature = "server")]
mod open;
#[cfg(feature = "server")]
mod records;
#[cfg(feature = "server")]
mod scaled;
#[cfg(feature = "server")]
mod write;

#[cfg(feature = "server")]
use crate::pieces::Piece;
#[cfg(feature = "server")]
use sotto_core::{PartIndex, Section};
#[cfg(feature = "server")]
use sotto_math::matrix::PANEL_ROWS;
#[cfg(feature = "server")]
use sotto_math::matrix::PanelLayout;
#[cfg(feature = "server")]
use std::ops::Range;

/// An offset in a section of an image.
#[cfg(feature = "server")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionOffset {
    /// The section of the image.
    pub section: Section,
    /// Bytes before the offset.
    pub start: u64,
}

#[cfg(feature = "server")]
impl From<Section> for SectionOffset {
    /// Offset 0 of a section.
    fn from(section: Section) -> Self {
        SectionOffset { section, start: 0 }
    }
}

/// The rows of a part of a table, and their bytes: whole panels of consecutive rows. A part is a
/// matrix of fewer rows, and its product with a query is those rows of the whole product.
#[cfg(feature = "server")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowRange {
    /// The rows of the part in the whole matrix.
    pub rows: Range<usize>,
    /// The layout of the part by itself.
    pub layout: PanelLayout,
    /// The bytes of the part in the whole matrix.
    pub piece: Piece,
}

#[cfg(feature = "server")]
impl RowRange {
    /// Maximum number of parts that a matrix can be divided into.
    pub fn max_parts(layout: &PanelLayout) -> u32 {
        u32::try_from(layout.panels()).unwrap_or(u32::MAX)
    }

    /// The rows of one part. Parts differ by at most one panel.
    pub fn of(layout: &PanelLayout, cut: PartIndex) -> Self {
        Self::panels(layout, cut.share(layout.panels() as u64))
    }

    /// The rows of some panels.
    pub fn panels(layout: &PanelLayout, panels: Range<u64>) -> Self {
        // A `usize` can count the panels.
        let row = |panel: u64| (panel as usize * PANEL_ROWS).min(layout.rows());
        let byte = |panel: u64| panel * layout.panel_bytes() as u64;
        let rows = row(panels.start)..row(panels.end);
        let piece = Piece { bytes: layout.bytes() as u64, part: byte(panels.start)..byte(panels.end) };
        RowRange { layout: PanelLayout::new(rows.len(), layout.cols()), rows, piece }
    }
}

pub use change::ByteChange;
#[cfg(feature = "server")]
pub use change::{change_panels, write_changes};
#[cfg(feature = "server")]
pub use open::{ACCELERATED_BATCH, BATCH, Matrix, ScanKernel, times};
#[cfg(feature = "server")]
pub use records::{JoinedRecords, RecordRange, StackedColumns};
#[cfg(feature = "server")]
pub use scaled::{ScaledColumns, ScaledLayout, ScaledRecords};
#[cfg(feature = "server")]
pub use write::{change_column, write_columns, write_matrix, write_part};
