//! Matrices in parts: whole panels of rows, which lie one after the other. A part is a matrix of fewer rows, and what it is
//! multiplied to are those rows of the product.

use sotto_core::PartIndex;
use sotto_math::matrix::PanelLayout;
use sotto_math::matrix::layout::PANEL_ROWS;
use std::ops::Range;

/// The rows of a part, and where they lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowRange {
    /// Which rows of the whole matrix.
    pub rows: Range<usize>,
    /// Which of its bytes.
    pub bytes: Range<u64>,
    /// Where the bytes of the part lie.
    pub layout: PanelLayout,
}

impl RowRange {
    /// The most parts that a matrix can be cut into.
    pub fn most(layout: &PanelLayout) -> u32 {
        u32::try_from(layout.panels()).unwrap_or(u32::MAX)
    }

    /// What a part of a matrix has. Parts differ by one panel at most.
    pub fn of(layout: &PanelLayout, cut: PartIndex) -> Self {
        let panels = cut.share(layout.panels() as u64);
        // There are no more panels than a `usize` counts.
        let row = |panel: u64| (panel as usize * PANEL_ROWS).min(layout.rows());
        let byte = |panel: u64| panel * layout.panel_bytes() as u64;
        let rows = row(panels.start)..row(panels.end);
        let bytes = byte(panels.start)..byte(panels.end);
        RowRange { layout: PanelLayout::new(rows.len(), layout.cols()), rows, bytes }
    }
}
