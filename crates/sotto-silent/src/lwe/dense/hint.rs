//! The hint H = D A, some rows at a time: passes over a slab of the matrix, with eight columns of A in each.

use super::{BLOCK, Dense};
use rayon::prelude::*;
use sotto_core::Result;
use sotto_math::matrix::layout::PANEL_ROWS;
use sotto_math::matrix::{PanelLayout, QueryPlanes, scan_u32};
use sotto_prg::PublicSeed;
use std::ops::Range;

/// Columns of A in one pass: eight keep the multipliers busy, not the memory.
const COLUMNS: usize = 8;

/// Bytes of the matrix that are in memory at once. Each slab has A made anew.
const SLAB: usize = 256 << 20;

/// Byte planes of a word of A.
const PLANES: usize = 4;

impl Dense {
    /// Rows of the hint, n words each: whole panels from the first row on. `read` fills a piece of the matrix from some byte
    /// on, and `step` hears of each panel that is through.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn hint(
        &self,
        seed: &PublicSeed,
        layout: PanelLayout,
        rows: Range<usize>,
        read: impl Fn(u64, &mut [u8]) -> Result<()>,
        step: impl Fn(usize),
    ) -> Result<Vec<u32>> {
        let mut hint = Vec::with_capacity(rows.len() * self.n);
        let panels = rows.start / PANEL_ROWS..rows.end.div_ceil(PANEL_ROWS).min(layout.panels());
        let width = (SLAB / layout.panel_bytes()).max(1);
        let mut slab = Vec::new();
        for first in panels.clone().step_by(width) {
            let count = width.min(panels.end - first);
            slab.resize(count * layout.panel_bytes(), 0);
            read((first * layout.panel_bytes()) as u64, &mut slab)?;
            let columns: Vec<usize> = (0..self.n).step_by(COLUMNS).collect();
            let pass = |first: &usize| {
                let columns = *first..self.n.min(first + COLUMNS);
                let planes: Vec<QueryPlanes> = columns.map(|j| self.column(seed, &layout, j)).collect();
                let planes: Vec<&QueryPlanes> = planes.iter().collect();
                let mut out = vec![vec![0; count * PANEL_ROWS]; planes.len()];
                let mut views: Vec<&mut [u32]> = out.iter_mut().map(Vec::as_mut_slice).collect();
                scan_u32(&slab, &layout, &planes, &mut views);
                out
            };
            let columns: Vec<Vec<u32>> = columns.par_iter().flat_map_iter(pass).collect();
            let wanted = rows.len() - hint.len() / self.n;
            for row in 0..wanted.min(count * PANEL_ROWS) {
                hint.extend(columns.iter().filter_map(|column| column.get(row)));
            }
            step(count);
        }
        Ok(hint)
    }

    /// Column j of A, as a pass takes it.
    fn column(&self, seed: &PublicSeed, layout: &PanelLayout, j: usize) -> QueryPlanes {
        let mut words = vec![0; layout.cols()];
        words.chunks_mut(BLOCK).enumerate().for_each(|(k, words)| self.piece(seed, k, j, words));
        QueryPlanes::from_u32(&words, PLANES, layout)
    }
}
