//! Matrices in parts: each part has whole panels of consecutive rows. It is a matrix of fewer rows,
//! and its product with a query is those rows of the whole product.

use sotto_core::PartIndex;
use sotto_math::matrix::PanelLayout;
use sotto_math::matrix::layout::PANEL_ROWS;
use std::ops::Range;

/// The rows of a part, and their bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowRange {
    /// The rows of the part in the whole matrix.
    pub rows: Range<usize>,
    /// The bytes of the part in the whole matrix.
    pub bytes: Range<u64>,
    /// The layout of the part by itself.
    pub layout: PanelLayout,
}

impl RowRange {
    /// Maximum number of parts that a matrix can be divided into.
    pub fn most(layout: &PanelLayout) -> u32 {
        u32::try_from(layout.panels()).unwrap_or(u32::MAX)
    }

    /// The rows of one part. Parts differ by at most one panel.
    pub fn of(layout: &PanelLayout, cut: PartIndex) -> Self {
        let panels = cut.share(layout.panels() as u64);
        // A `usize` can count the panels.
        let row = |panel: u64| (panel as usize * PANEL_ROWS).min(layout.rows());
        let byte = |panel: u64| panel * layout.panel_bytes() as u64;
        let rows = row(panels.start)..row(panels.end);
        let bytes = byte(panels.start)..byte(panels.end);
        RowRange { layout: PanelLayout::new(rows.len(), layout.cols()), rows, bytes }
    }
}
