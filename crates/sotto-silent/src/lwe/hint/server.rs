//! Writing the hint of a matrix in an image, and updating its rows after changes.

use super::{N, PanelHint, STRIP, STRIP_COLUMNS};
use crate::lwe::ring::{ROW_BYTES, Ring};
use crate::lwe::update::add_to_row;
use crate::matrix::{ByteChange, SectionOffset};
use rayon::prelude::*;
use sotto_core::{Result, Section, Sink};
use sotto_math::matrix::PANEL_ROWS;
use sotto_math::matrix::PanelLayout;
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
        let blocks = 0..layout.cols().div_ceil(N);
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

/// Factor by which transforms of changes take longer than those of a panel's bytes, which are
/// combined with their products.
const SLOWER: usize = 2;

/// Updates the hint rows of changed panels.
pub struct HintUpdater<'a> {
    panels: PanelReader<'a>,
    hint: Section,
    out: &'a dyn Sink,
}

impl<'a> HintUpdater<'a> {
    /// An updater for the matrix at this offset, and its hint in a section of its own.
    ///
    /// # Errors
    /// The errors of [`PanelReader::new`].
    pub fn new(
        layout: PanelLayout,
        matrix: impl Into<SectionOffset>,
        hint: Section,
        out: &'a dyn Sink,
    ) -> Result<Self> {
        Ok(HintUpdater { panels: PanelReader::new(layout, matrix, out)?, hint, out })
    }

    /// Updates the hint's rows for the changed bytes of one panel, ascending by (row, column). The
    /// panel is written already, and the rows are those from before the change.
    ///
    /// Few changes are added to the rows, block by block. If many blocks of a panel have changes,
    /// its rows are computed from scratch, which gives the same words. Either way takes a transform
    /// for each block.
    ///
    /// # Errors
    /// The errors of [`add_to_row`]; storage errors.
    pub fn panel(&self, entries: &[ByteChange]) -> Result<()> {
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return Ok(()) };
        let (first, end) = (first.row as usize, last.row as usize + 1);
        let block = |entry: &ByteChange| (entry.row, entry.column as usize / N);
        let touched = entries.chunk_by(|a, b| block(a) == block(b)).count();
        if SLOWER * touched < (end - first) * self.panels.blocks().len() {
            return entries.chunk_by(|a, b| a.row == b.row).try_for_each(|changes| self.add(changes));
        }
        let mut words = Vec::with_capacity((end - first) * ROW_BYTES);
        let rows = first % PANEL_ROWS..first % PANEL_ROWS + (end - first);
        self.panels.hint(&mut Workspace::default(), first / PANEL_ROWS, rows, |h| {
            words.extend(h.iter().flat_map(|word| (*word as u32).to_le_bytes()));
        })?;
        self.out.write_at(self.hint, (first * ROW_BYTES) as u64, &words)
    }

    /// Adds the changes of one row.
    fn add(&self, changes: &[ByteChange]) -> Result<()> {
        let Some(first) = changes.first() else { return Ok(()) };
        let (mut words, offset) = ([0; ROW_BYTES], u64::from(first.row) * ROW_BYTES as u64);
        self.out.read_at(self.hint, offset, &mut words)?;
        let block = |k: usize| self.panels.blocks().get(k);
        add_to_row(self.panels.ring(), block, changes, &mut words)?;
        self.out.write_at(self.hint, offset, &words)
    }
}
