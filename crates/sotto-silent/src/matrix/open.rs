//! The matrix of an open image.

use super::records::Records;
use crate::pieces::PartSection;
use rayon::prelude::*;
use sotto_core::{AcceleratorSlot, PassQuery, RecordSource};
use sotto_lattice::threads::items_per_thread;
use sotto_math::matrix::{PANEL_ROWS, PanelLayout, QueryPlanes, scan_planes, scan_u32};
use std::sync::Arc;

/// Queries in one pass. More would not be faster: eight saturate the multipliers rather than the
/// memory.
pub const BATCH: usize = 8;

/// Queries in one pass of an accelerator, where nothing but words follows from the products.
pub const ACCELERATED_BATCH: usize = 128;

/// A kernel that multiplies panels by queries: panels, their layout, the queries, and an output for each of them.
pub type ScanKernel<W> = fn(&[u8], &PanelLayout, &[&QueryPlanes], &mut [&mut [W]]);

/// The matrix of an open image.
pub struct Matrix {
    layout: PanelLayout,
    held: PartSection,
    /// The number of its piece.
    piece: usize,
    slot: Arc<AcceleratorSlot>,
}

impl Matrix {
    /// A matrix of this layout that is one piece of a section.
    pub fn new(layout: PanelLayout, held: PartSection, piece: usize) -> Self {
        let slot = held.open_matrix(layout, piece);
        Matrix { layout, held, piece, slot }
    }

    /// The layout of the matrix.
    pub fn layout(&self) -> &PanelLayout {
        &self.layout
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
        let Matrix { layout, held, piece, .. } = self;
        Box::new(Records { layout, held, piece, records, record_bytes, place })
    }

    /// The products of D with several queries modulo 2^32: a word for each row, padding included.
    pub fn times_u32(&self, queries: &[&QueryPlanes]) -> Vec<Vec<u32>> {
        let accelerated = self.slot.pass(|copy| copy.times_u32(&views(queries)));
        accelerated.unwrap_or_else(|| times(self.panels(), &self.layout, queries, 1, scan_u32))
    }

    /// The products of D with several queries of as many planes, in exact integers: for each row,
    /// padding included, a sum for each plane.
    pub fn times_planes(&self, queries: &[&QueryPlanes]) -> Vec<Vec<i64>> {
        let accelerated = self.slot.pass(|copy| copy.times_planes(&views(queries)));
        let width = queries.first().map_or(0, |query| query.planes());
        accelerated.unwrap_or_else(|| times(self.panels(), &self.layout, queries, width, scan_planes))
    }

    fn panels(&self) -> &[u8] {
        self.held.piece(self.piece)
    }
}

/// Queries in the form that accelerators take.
fn views<'a>(queries: &[&'a QueryPlanes]) -> Vec<PassQuery<'a>> {
    queries.iter().map(|query| PassQuery { planes: query.planes(), words: query.words() }).collect()
}

/// The products of the panels of any matrix with several queries: each thread of the pool reads one
/// range of panels. `width` numbers for each row, padding included, and each query.
pub fn times<W: Copy + Default + Send + Sync>(
    panels: &[u8],
    layout: &PanelLayout,
    queries: &[&QueryPlanes],
    width: usize,
    scan: ScanKernel<W>,
) -> Vec<Vec<W>> {
    // One range per thread: more streams at once slow the memory down.
    let stretch = items_per_thread(layout.panels());
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
