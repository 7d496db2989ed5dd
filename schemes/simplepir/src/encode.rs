//! Encoding: the matrix in panels, then its hint. Memory is bounded whatever the table's size.

use crate::delta::ROW_WORDS;
use crate::params::Params;
use crate::server::HINT;
use rayon::prelude::*;
use sotto_core::{Result, Rows, Section, Sink};
use sotto_math::matrix::PanelLayout;
use sotto_math::matrix::layout::PANEL_ROWS;
use sotto_silent::lwe::hint::{PanelHint, STRIP, STRIP_COLUMNS};
use sotto_silent::lwe::ring::Ring;
use sotto_silent::matrix::write_matrix;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes both sections of an image.
///
/// # Errors
/// As [`write_matrix`].
pub fn encode(params: &Params, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
    out.reserve(Section::Resident, params.matrix_bytes())?;
    out.reserve(HINT, params.hint_bytes())?;
    write_matrix(params.layout(), Section::Resident, rows, out)?;
    write_hint(params, out)
}

/// H = D A modulo Q, exactly: panel by panel, reading the matrix back.
fn write_hint(params: &Params, out: &dyn Sink) -> Result<()> {
    let ring = Ring::new()?;
    let layout = params.layout();
    let blocks: Vec<Vec<u64>> =
        (0..params.blocks()).into_par_iter().map(|k| ring.reversed_block(k)).collect();
    let done = AtomicU64::new(0);
    (0..layout.panels()).into_par_iter().try_for_each_init(Workspace::default, |space, panel| {
        space.hint_of_panel(&ring, &layout, &blocks, panel, out)?;
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        out.progress("hint", done, layout.panels() as u64);
        Ok(())
    })
}

/// One thread's buffers: about 1.6 MiB.
#[derive(Default)]
struct Workspace {
    /// One strip of a panel.
    piece: Vec<u8>,
    sums: PanelHint,
    /// The finished rows, as bytes.
    words: Vec<u8>,
}

impl Workspace {
    /// `H_r = sum_k a_k(1/X) d_{r,k}(X)` for the rows r of one panel.
    fn hint_of_panel(
        &mut self,
        ring: &Ring,
        layout: &PanelLayout,
        blocks: &[Vec<u64>],
        panel: usize,
        out: &dyn Sink,
    ) -> Result<()> {
        let rows = PANEL_ROWS.min(layout.rows() - panel * PANEL_ROWS);
        for (strip, blocks) in blocks.chunks(STRIP).enumerate() {
            let first = strip * STRIP_COLUMNS;
            let columns = STRIP_COLUMNS.min(layout.padded_cols() - first);
            self.piece.resize(columns * PANEL_ROWS, 0);
            let offset = panel as u64 * layout.panel_bytes() as u64 + (first * PANEL_ROWS) as u64;
            out.read_at(Section::Resident, offset, &mut self.piece)?;
            self.sums.add(ring, layout, blocks, rows, &self.piece);
        }
        self.words.clear();
        let words = &mut self.words;
        self.sums
            .finish(ring, rows, |h| words.extend(h.iter().flat_map(|word| (*word as u32).to_le_bytes())));
        out.write_at(HINT, panel as u64 * (PANEL_ROWS * ROW_WORDS) as u64, &self.words)
    }
}
