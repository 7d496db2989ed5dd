//! The matrix of an open image.

use super::SectionOffset;
use super::records::Records;
use rayon::prelude::*;
use sotto_core::{Image, ImageSection, RecordSource, Result};
use sotto_math::matrix::layout::PANEL_ROWS;
use sotto_math::matrix::{PanelLayout, QueryPlanes};
use std::sync::Arc;

/// Queries in one pass. More would not be faster: eight saturate the multipliers rather than the
/// memory.
pub const BATCH: usize = 8;

/// A kernel that multiplies panels by queries: panels, their layout, the queries, and an output for each of them.
pub type ScanKernel<W> = fn(&[u8], &PanelLayout, &[&QueryPlanes], &mut [&mut [W]]);

/// The matrix of an open image.
pub struct Matrix {
    layout: PanelLayout,
    /// Bytes of the section before the matrix.
    before: usize,
    held: ImageSection,
}

impl Matrix {
    /// Opens the section of the matrix, which has `beyond` bytes of other data after it.
    ///
    /// # Errors
    /// Those of [`ImageSection::open`].
    pub fn open(
        layout: PanelLayout,
        beyond: u64,
        at: impl Into<SectionOffset>,
        image: Arc<dyn Image>,
    ) -> Result<Self> {
        let SectionOffset { section, start } = at.into();
        let held = ImageSection::open(image, section, "matrix", start + layout.bytes() as u64 + beyond)?;
        // The section is at least that long.
        Ok(Matrix { layout, before: start as usize, held })
    }

    /// The layout of the matrix.
    pub fn layout(&self) -> &PanelLayout {
        &self.layout
    }

    /// The bytes of the matrix, and those after it.
    pub fn parts(&self) -> (&[u8], &[u8]) {
        // The section is at least as long.
        let (_, rest) = self.held.bytes().split_at(self.before);
        rest.split_at(self.layout.bytes())
    }

    /// The records, one for each column.
    pub fn records(self) -> Box<dyn RecordSource> {
        let layout = self.layout;
        self.cut_into(layout.cols() as u64, layout.rows(), |record| (0, record as usize))
    }

    /// Records that are parts of columns: `place` gives the first row and the column of a record.
    pub fn cut_into(
        self,
        records: u64,
        record_bytes: usize,
        place: impl Fn(u64) -> (usize, usize) + Send + Sync + 'static,
    ) -> Box<dyn RecordSource> {
        let Matrix { layout, before, held } = self;
        Box::new(Records { layout, before, held, records, record_bytes, place })
    }

    /// The products of D with several queries: each thread of the pool reads one range of panels.
    /// `width` numbers for each row, padding included, and each query.
    pub fn times<W: Copy + Default + Send + Sync>(
        &self,
        queries: &[&QueryPlanes],
        width: usize,
        scan: ScanKernel<W>,
    ) -> Vec<Vec<W>> {
        times(self.parts().0, &self.layout, queries, width, scan)
    }
}

/// [`Matrix::times`] for the panels of any matrix.
pub fn times<W: Copy + Default + Send + Sync>(
    panels: &[u8],
    layout: &PanelLayout,
    queries: &[&QueryPlanes],
    width: usize,
    scan: ScanKernel<W>,
) -> Vec<Vec<W>> {
    // One range per thread: more streams at once slow the memory down.
    let stretch = layout.panels().div_ceil(rayon::current_num_threads()).max(1);
    let parts: Vec<Vec<Vec<W>>> = panels
        .par_chunks(stretch * layout.panel_bytes())
        .map(|part| {
            let rows = part.len() / layout.panel_bytes() * PANEL_ROWS;
            let mut out = vec![vec![W::default(); rows * width]; queries.len()];
            let mut slices: Vec<&mut [W]> = out.iter_mut().map(Vec::as_mut_slice).collect();
            scan(part, layout, queries, &mut slices);
            out
        })
        .collect();
    (0..queries.len())
        .map(|i| parts.iter().filter_map(|part| part.get(i)).flatten().copied().collect())
        .collect()
}
