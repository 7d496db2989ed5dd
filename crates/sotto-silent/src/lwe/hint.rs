//! Rows of the hint H = D A, from panels of D that come strip by strip. Encoders read the panels
//! back from an image, and a client of `verisimplepir/1` gets them from the stream of the table.

#[cfg(feature = "server")]
mod server;

use super::ring::{N, Ring, take_words};
use crate::method::{MatrixLiteral, Method, Params, Preparation};
#[cfg(feature = "server")]
pub use server::{HintUpdater, PanelReader, Workspace, write_hint};
use sotto_core::{Artifact, ArtifactNeed, CryptoRng, ExpectOrDefault, Misuse, Result};
use sotto_math::matrix::{PANEL_ROWS, PanelLayout};
use sotto_math::ntt::Accumulator;
use sotto_pages::HugeWords;
use std::ops::Range;

/// Ring blocks taken from a panel at once: the piece that they make stays in a core's second-level
/// cache while its 64 rows are read out of it.
pub const STRIP: usize = 4;

/// Columns in a strip; the last strip of a panel may have fewer.
pub const STRIP_COLUMNS: usize = STRIP * N;

/// The hint rows of one panel, as summed so far: about 1.6 MiB.
#[derive(Default)]
pub struct PanelHint {
    /// One row of a strip, signed, and filled up to whole blocks.
    d: Vec<i8>,
    /// One sum for each row of the panel.
    sums: Vec<Accumulator>,
    /// A finished row of the hint.
    h: Vec<u64>,
}

impl PanelHint {
    /// Adds `sum_k a_k(1/X) d_{r,k}(X)` over the blocks k of one strip, for some rows r of its panel.
    ///
    /// `blocks` has the values of a_k(1/X), and `piece` the strip's bytes.
    pub fn add(
        &mut self,
        ring: &Ring,
        layout: &PanelLayout,
        blocks: &[Vec<u64>],
        rows: Range<usize>,
        piece: &[u8],
    ) {
        self.sums.resize_with(PANEL_ROWS, || ring.plan().accumulator());
        self.d.clear();
        self.d.resize(blocks.len() * N, 0);
        for (r, sum) in self.sums.iter_mut().enumerate().take(rows.end).skip(rows.start) {
            let row = self
                .d
                .get_mut(..piece.len() / PANEL_ROWS)
                .expect_or_default("a strip has no more columns than blocks");
            layout.signed_row_of_panel(piece, r, row);
            for (d, block) in self.d.chunks_exact(N).zip(blocks) {
                ring.plan().forward_i8_mul_acc(d, block, sum);
            }
        }
    }

    /// Passes these rows to `out`, n words below Q each, and starts the next panel.
    pub fn finish(&mut self, ring: &Ring, rows: Range<usize>, mut out: impl FnMut(&[u64])) {
        self.h.resize(N, 0);
        for sum in self.sums.iter_mut().take(rows.end).skip(rows.start) {
            ring.plan().take(sum, &mut self.h);
            ring.plan().inverse(&mut self.h);
            out(&self.h);
        }
    }
}

/// The hint row of one row of bytes: `sum_k a_k(1/X) d_k(X)` in residues, n words. `blocks` has the
/// values of a_k(1/X).
pub fn row(ring: &Ring, blocks: &[Vec<u64>], bytes: &[i8]) -> Vec<u64> {
    let (mut sum, mut h) = (ring.plan().accumulator(), vec![0; N]);
    let (whole, rest) = bytes.as_chunks::<N>();
    let mut last = [0; N];
    last.iter_mut().zip(rest).for_each(|(last, byte)| *last = *byte);
    for (d, block) in whole.iter().chain((!rest.is_empty()).then_some(&last)).zip(blocks) {
        ring.plan().forward_i8_mul_acc(d, block, &mut sum);
    }
    ring.plan().take(&mut sum, &mut h);
    ring.plan().inverse(&mut h);
    h
}

/// Allocates memory for a hint of `bytes` bytes.
///
/// # Errors
/// [`sotto_core::Error::Storage`] if the memory is not available.
pub fn allocate(bytes: u64) -> Result<HugeWords> {
    let words = usize::try_from(bytes / 4).unwrap_or(usize::MAX);
    Ok(HugeWords::with_capacity(words)?)
}

/// Parameters of a scheme whose clients download a hint.
pub trait HintLiteral: MatrixLiteral {
    /// The download of the hint.
    fn hint(&self) -> HintDownload;
}

impl<M: Method<Literal: HintLiteral>> Preparation<M> for HintDownload {
    fn begin(params: &Params<M>, _: &mut dyn CryptoRng) -> Result<Self> {
        Ok(params.hint())
    }

    fn needs(&self, _: &Params<M>) -> Vec<ArtifactNeed> {
        vec![ArtifactNeed { artifact: Artifact::Hint, bytes: self.bytes }]
    }

    fn absorb(&mut self, _: &Params<M>, from: Artifact, chunk: &[u8]) -> Result<()> {
        self.take(from, chunk)
    }
}

/// A hint that a client is downloading.
pub struct HintDownload {
    bytes: u64,
    words: HugeWords,
    /// Whether words are modulo Q, and not modulo 2^32.
    reduced: bool,
    /// Bytes of a word that a chunk boundary divides.
    cut: Vec<u8>,
}

impl HintDownload {
    /// A download of `bytes` bytes. No memory is allocated before the first bytes, so that absurd
    /// parameters cost little.
    pub fn new(bytes: u64) -> Self {
        HintDownload { bytes, words: HugeWords::default(), reduced: true, cut: Vec::new() }
    }

    /// A download of words modulo 2^32, all of which are valid.
    pub fn of_any_words(bytes: u64) -> Self {
        HintDownload { reduced: false, ..Self::new(bytes) }
    }

    fn take_words(&mut self, words: &[[u8; 4]]) -> Result<()> {
        if self.reduced {
            return take_words("hint", words, &mut self.words);
        }
        self.words.extend(words.iter().map(|word| u32::from_le_bytes(*word)));
        Ok(())
    }

    fn taken(&self) -> u64 {
        self.words.len() as u64 * 4 + self.cut.len() as u64
    }

    /// Absorbs the next bytes.
    fn take(&mut self, from: Artifact, chunk: &[u8]) -> Result<()> {
        if from != Artifact::Hint || chunk.len() as u64 > self.bytes - self.taken() {
            return Err(Misuse::UnexpectedArtifact(from.name()).into());
        }
        if !self.words.has_capacity() {
            self.words = allocate(self.bytes)?;
        }
        let missing = if self.cut.is_empty() { 0 } else { 4 - self.cut.len() };
        let (head, rest) = chunk.split_at(missing.min(chunk.len()));
        self.cut.extend_from_slice(head);
        if let Ok(word) = <[u8; 4]>::try_from(self.cut.as_slice()) {
            self.cut.clear();
            self.take_words(&[word])?;
        }
        let (words, tail) = rest.as_chunks::<4>();
        self.take_words(words)?;
        self.cut.extend_from_slice(tail);
        Ok(())
    }

    /// The hint, after all of its bytes came.
    ///
    /// # Errors
    /// [`Misuse::NotPrepared`] before that.
    pub fn finish(self) -> Result<HugeWords> {
        let (got, need) = (self.taken(), self.bytes);
        if got != need {
            return Err(Misuse::NotPrepared { artifact: Artifact::Hint.name(), got, need }.into());
        }
        Ok(self.words)
    }
}
