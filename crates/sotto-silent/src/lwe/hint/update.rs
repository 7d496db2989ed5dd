//! Updating the hint rows of an image after changes of its matrix.

use super::{PanelReader, Workspace};
use crate::lwe::ring::ROW_BYTES;
use crate::lwe::update::add_to_row;
use crate::matrix::{ByteChange, SectionOffset};
use sotto_core::{Result, Section, Sink};
use sotto_math::matrix::PanelLayout;
use sotto_math::matrix::layout::PANEL_ROWS;

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
    /// Those of [`PanelReader::new`].
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
    /// Those of [`add_to_row`]; storage errors.
    pub fn panel(&self, entries: &[ByteChange]) -> Result<()> {
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return Ok(()) };
        let (first, end) = (first.row as usize, last.row as usize + 1);
        let block = |entry: &ByteChange| (entry.row, entry.column as usize / super::N);
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
