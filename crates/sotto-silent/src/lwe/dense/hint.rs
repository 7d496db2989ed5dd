//! The hint H = D A of plain LWE, some rows at a time: passes over a slab of the matrix, with eight
//! columns of A in each.

use super::{BLOCK, DenseLwe};
use rayon::prelude::*;
use sotto_core::{Result, Section, Sink};
use sotto_math::matrix::{PANEL_ROWS, PanelLayout, QueryPlanes, scan_u32};
use sotto_prg::PublicSeed;
use std::cell::Cell;
use std::ops::Range;

/// Columns of A in one pass: eight saturate the multipliers rather than the memory.
const COLUMNS: usize = 8;

/// Bytes of the matrix that are in memory at once. Each slab computes A again.
const SLAB: usize = 256 << 20;

/// Bytes of a hint that are in memory at once.
const HINT: usize = 64 << 20;

/// Byte planes of a word of A.
const PLANES: usize = 4;

impl DenseLwe {
    /// Computes rows of the hint, n words each: whole panels from the first row on. `read` fills a
    /// piece of the matrix from a byte offset on, and `step` is called after each panel.
    ///
    /// # Errors
    /// The errors of `read`.
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
            let missing = rows.len() - hint.len() / self.n;
            for row in 0..missing.min(count * PANEL_ROWS) {
                hint.extend(columns.iter().filter_map(|column| column.get(row)));
            }
            step(count);
        }
        Ok(hint)
    }

    /// Writes the hint of a matrix at the start of a section into a section of its own.
    ///
    /// # Errors
    /// Storage errors.
    pub fn write_hint(
        &self,
        seed: &PublicSeed,
        layout: PanelLayout,
        [matrix, hint]: [Section; 2],
        out: &dyn Sink,
    ) -> Result<()> {
        let (height, done) = ((HINT / (4 * self.n)).next_multiple_of(PANEL_ROWS), Cell::new(0));
        let step = |panels: usize| {
            done.set(done.get() + panels as u64);
            out.progress("hint", done.get(), layout.panels() as u64);
        };
        for first in (0..layout.rows()).step_by(height) {
            let rows = first..layout.rows().min(first + height);
            let read = |at, bytes: &mut [u8]| out.read_at(matrix, at, bytes);
            let words = self.hint(seed, layout, rows, read, step)?;
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            out.write_at(hint, (first * self.n * 4) as u64, &bytes)?;
        }
        Ok(())
    }

    /// Column j of A, in the form that a pass takes.
    fn column(&self, seed: &PublicSeed, layout: &PanelLayout, j: usize) -> QueryPlanes {
        let mut words = vec![0; layout.cols()];
        words.chunks_mut(BLOCK).enumerate().for_each(|(k, words)| self.piece(seed, k, j, words));
        QueryPlanes::from_u32(&words, PLANES, layout)
    }
}
