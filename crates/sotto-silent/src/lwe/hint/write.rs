//! Writing hints of matrices in an image.

use super::{PanelHint, STRIP, STRIP_COLUMNS};
use crate::lwe::ring::ROW_BYTES;
use crate::lwe::ring::Ring;
use crate::matrix::SectionOffset;
use rayon::prelude::*;
use sotto_core::{Result, Section, Sink};
use sotto_math::matrix::PanelLayout;
use sotto_math::matrix::layout::PANEL_ROWS;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Reads panels of a matrix back from an image, for rows of its hint.
pub struct PanelReader<'a> {
    ring: Ring,
    layout: PanelLayout,
    /// Values of a_k(1/X), block by block.
    blocks: Vec<Vec<u64>>,
    at: SectionOffset,
    out: &'a dyn Sink,
}

impl<'a> PanelReader<'a> {
    /// A reader of the matrix at this offset.
    ///
    /// # Errors
    /// None, since the constants of [`Ring::new`] are valid.
    pub fn new(layout: PanelLayout, at: impl Into<SectionOffset>, out: &'a dyn Sink) -> Result<Self> {
        let ring = Ring::new()?;
        let blocks = 0..layout.cols().div_ceil(crate::lwe::ring::N);
        let blocks = blocks.into_par_iter().map(|k| ring.reversed_block(k)).collect();
        Ok(PanelReader { ring, layout, blocks, at: at.into(), out })
    }

    /// The ring with its transforms.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The values of a_k(1/X), block by block.
    pub fn blocks(&self) -> &[Vec<u64>] {
        &self.blocks
    }

    /// Computes `H_r = sum_k a_k(1/X) d_{r,k}(X)` for some rows r of one panel, and passes n words
    /// of each to `hear`.
    ///
    /// # Errors
    /// Storage errors.
    pub fn hint(
        &self,
        space: &mut Workspace,
        panel: usize,
        rows: Range<usize>,
        hear: impl FnMut(&[u64]),
    ) -> Result<()> {
        for (strip, blocks) in self.blocks.chunks(STRIP).enumerate() {
            let first = strip * STRIP_COLUMNS;
            let columns = STRIP_COLUMNS.min(self.layout.padded_cols() - first);
            space.piece.resize(columns * PANEL_ROWS, 0);
            let offset = panel as u64 * self.layout.panel_bytes() as u64 + (first * PANEL_ROWS) as u64;
            self.out.read_at(self.at.section, self.at.start + offset, &mut space.piece)?;
            space.sums.add(&self.ring, &self.layout, blocks, rows.clone(), &space.piece);
        }
        space.sums.finish(&self.ring, rows, hear);
        Ok(())
    }
}

/// One thread's buffers: about 1.6 MiB.
#[derive(Default)]
pub struct Workspace {
    /// One strip of a panel.
    piece: Vec<u8>,
    sums: PanelHint,
}

/// Writes H = D A modulo Q, exactly, into a section of its own: panel by panel, reading the matrix
/// back.
///
/// # Errors
/// Storage errors.
pub fn write_hint(
    layout: PanelLayout,
    matrix: impl Into<SectionOffset>,
    hint: Section,
    out: &dyn Sink,
) -> Result<()> {
    let panels = PanelReader::new(layout, matrix, out)?;
    let done = AtomicU64::new(0);
    let space = || (Workspace::default(), Vec::new());
    (0..layout.panels()).into_par_iter().try_for_each_init(space, |(space, words), panel| {
        let rows = PANEL_ROWS.min(layout.rows() - panel * PANEL_ROWS);
        words.clear();
        panels.hint(space, panel, 0..rows, |h| {
            words.extend(h.iter().flat_map(|word| (*word as u32).to_le_bytes()));
        })?;
        out.write_at(hint, panel as u64 * (PANEL_ROWS * ROW_BYTES) as u64, words)?;
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        out.progress("hint", done, layout.panels() as u64);
        Ok(())
    })
}
