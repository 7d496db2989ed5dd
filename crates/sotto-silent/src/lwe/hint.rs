//! Rows of the hint H = D A, from panels of D that come strip by strip. Encoders read them back from an image, and a client of
//! `verisimplepir/1` from the stream of the table.

use super::ring::{N, Ring};
use sotto_core::{Result, Sure};
use sotto_math::matrix::PanelLayout;
use sotto_math::matrix::layout::PANEL_ROWS;
use sotto_math::ntt::Accumulator;
use sotto_pages::HugeWords;

/// Ring blocks taken from a panel at once: the piece they make stays in a core's second-level cache while
/// its 64 rows are read out of it.
pub const STRIP: usize = 4;

/// Columns in a strip; the last strip of a panel may have fewer.
pub const STRIP_COLUMNS: usize = STRIP * N;

/// The hint rows of one panel, as far as they are summed up: about 1.6 MiB.
#[derive(Default)]
pub struct PanelHint {
    /// One row of a strip: signed, and filled up to whole blocks.
    d: Vec<i8>,
    /// One sum per row of the panel.
    sums: Vec<Accumulator>,
    /// A finished row.
    h: Vec<u64>,
}

impl PanelHint {
    /// Adds `sum_k a_k(1/X) d_{r,k}(X)` over the blocks k of one strip, for the first `rows` rows r of its panel.
    ///
    /// `blocks` has the values of a_k(1/X), and `piece` the strip's bytes.
    pub fn add(&mut self, ring: &Ring, layout: &PanelLayout, blocks: &[Vec<u64>], rows: usize, piece: &[u8]) {
        self.sums.resize_with(PANEL_ROWS, || ring.plan().accumulator());
        self.d.clear();
        self.d.resize(blocks.len() * N, 0);
        for (r, sum) in self.sums.iter_mut().enumerate().take(rows) {
            let row =
                self.d.get_mut(..piece.len() / PANEL_ROWS).sure("a strip has no more columns than blocks");
            layout.signed_row_of_panel(piece, r, row);
            for (d, block) in self.d.chunks_exact(N).zip(blocks) {
                ring.plan().forward_i8_mul_acc(d, block, sum);
            }
        }
    }

    /// Hands out the first `rows` rows, n words below Q each, and starts on the next panel.
    pub fn finish(&mut self, ring: &Ring, rows: usize, mut out: impl FnMut(&[u64])) {
        self.h.resize(N, 0);
        for sum in self.sums.iter_mut().take(rows) {
            ring.plan().take(sum, &mut self.h);
            ring.plan().inverse(&mut self.h);
            out(&self.h);
        }
    }
}

/// Room for a hint of so many bytes.
///
/// # Errors
/// If there is no memory for it.
pub fn room(bytes: u64) -> Result<HugeWords> {
    let words = usize::try_from(bytes / 4).unwrap_or(usize::MAX);
    Ok(HugeWords::with_room(words)?)
}
