//! Records read out of an image, without the whitening: for changes in place, and for re-encoding a
//! table of which there is no other copy.

use crate::encode::word_format;
use crate::params::{Inner, Params};
use crate::whitening::whiten;
use rayon::prelude::*;
use sotto_core::server::bytes_per_part;
use sotto_core::{Image, ImageSection, Misuse, RecordSource, Result, Section};
use sotto_math::bits;
use sotto_math::tiles::WordFormat;
use std::sync::Arc;

/// Polynomials that are read together: four columns of five rows, which share cache lines. Blocks
/// are so far apart that each line of a single polynomial would be a cache miss and a page of its
/// own.
const TOGETHER: usize = 20;

/// Reads the bytes of a part of a record, without the whitening. `at` reads bytes of the image.
pub(crate) fn read(
    params: &Inner,
    words: &WordFormat,
    (record, part): (u64, u64),
    at: impl Fn(u64, &mut [u8]) -> Result<()>,
) -> Result<Vec<u8>> {
    let grid = &params.grid;
    let (cell, region) = (grid.cell_of(record, part), grid.region_of(part));
    let mut slots = Vec::with_capacity(params.n());
    for block in 0..grid.layout().blocks() {
        let words =
            grid.layout().read(block, (cell.row, cell.col), |offset, out| at(region + offset, out))?;
        slots.extend(words);
    }
    let mut out = Vec::new();
    recover(params, words, (record, part), &mut slots, &mut out);
    Ok(out)
}

/// Writes the bytes of a part of a record, of which these are the stored words, into `out`, without
/// the whitening.
fn recover(
    params: &Inner,
    words: &WordFormat,
    (record, part): (u64, u64),
    slots: &mut [u64],
    out: &mut Vec<u8>,
) {
    let (ring, p) = (&params.ring, params.literal.p_log2);
    words.restore(slots);
    // A damaged image gives other bytes, but no panic. An intact one has nothing to reduce, and the
    // division takes a while.
    if slots.iter().fold(0, |max, slot| max.max(*slot)) >= ring.q().value() {
        slots.iter_mut().for_each(|slot| *slot = ring.q().reduce(*slot));
    }
    ring.plan().inverse(slots);
    // Centered coefficients, taken modulo p.
    let mask = (1u64 << p) - 1;
    slots.iter_mut().for_each(|word| *word = ring.q().centered(*word) as u64 & mask);
    out.clear();
    bits::pack_words(slots, p.into(), out);
    whiten(&params.literal.mask, record, part, out);
}

/// The records of an image.
pub(crate) struct Records<F> {
    params: Params<F>,
    table: ImageSection,
    words: WordFormat,
}

/// A range of bytes of one part of a record, and the buffer for them.
struct RecordPiece<'a> {
    record: u64,
    part: u64,
    inside: usize,
    out: &'a mut [u8],
}

impl<F> Records<F> {
    /// Opens an image.
    ///
    /// # Errors
    /// [`sotto_core::PeerMisbehaved::Length`] if it is not the table of these parameters.
    pub(crate) fn open(params: &Params<F>, image: Arc<dyn Image>) -> Result<Self> {
        let table = ImageSection::open(image, Section::Resident, "table", params.grid.bytes())?;
        Ok(Records { params: params.clone(), table, words: word_format(params)? })
    }

    /// Splits a range of a record, from `offset` on, into pieces.
    fn cut<'a>(
        &self,
        (record, offset): (u64, u64),
        mut out: &'a mut [u8],
        pieces: &mut Vec<RecordPiece<'a>>,
    ) -> Result<()> {
        let (records, width) = (self.params.grid.records(), self.params.literal.record_bytes);
        if record >= records {
            return Err(Misuse::IndexPastEnd { index: record, len: records }.into());
        }
        let end = offset.saturating_add(out.len() as u64);
        if end > width {
            return Err(Misuse::IndexPastEnd { index: end, len: width }.into());
        }
        let (each, mut at) = (self.params.grid.part_bytes(), offset as usize);
        while !out.is_empty() {
            let (part, inside) = ((at / each) as u64, at % each);
            let (piece_out, after) = out.split_at_mut(out.len().min(each - inside));
            at += piece_out.len();
            pieces.push(RecordPiece { record, part, inside, out: piece_out });
            out = after;
        }
        Ok(())
    }

    /// Fills pieces, in the order of their positions in the image.
    fn fill(&self, mut pieces: Vec<RecordPiece<'_>>) -> Result<()> {
        let grid = &self.params.grid;
        pieces.sort_by_key(|piece| (grid.run(piece.record, piece.part), piece.record));
        let scratch = || (Vec::new(), Vec::new());
        pieces.par_chunks_mut(TOGETHER).try_for_each_init(scratch, |(slots, bytes), pieces| {
            let cell = |piece: &RecordPiece<'_>| {
                let cell = grid.cell_of(piece.record, piece.part);
                (grid.region_of(piece.part), (cell.row, cell.col))
            };
            let cells: Vec<_> = pieces.iter().map(cell).collect();
            slots.resize(cells.len() * self.params.n(), 0);
            let read = grid.layout().read_many(self.table.bytes(), &cells, slots);
            read.ok_or(Misuse::Rule("the cell must be within the image"))?;
            for (piece, slots) in pieces.iter_mut().zip(slots.chunks_exact_mut(self.params.n())) {
                recover(&self.params, &self.words, (piece.record, piece.part), slots, bytes);
                let inside = bytes.iter().skip(piece.inside);
                piece.out.iter_mut().zip(inside).for_each(|(out, byte)| *out = *byte);
            }
            Ok(())
        })
    }
}

impl<F: Send + Sync + 'static> RecordSource for Records<F> {
    fn records(&self) -> u64 {
        self.params.grid.records()
    }

    fn record_bytes(&self) -> usize {
        self.params.literal.record_bytes as usize
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let width = self.record_bytes();
        if !out.len().is_multiple_of(width) {
            return Err(Misuse::Rule("the buffer must hold whole records").into());
        }
        let mut pieces = Vec::new();
        for (i, out) in out.chunks_exact_mut(width).enumerate() {
            self.cut((first.saturating_add(i as u64), 0), out, &mut pieces)?;
        }
        self.fill(pieces)
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> Result<()> {
        let mut pieces = Vec::new();
        self.cut((record, offset), out, &mut pieces)?;
        self.fill(pieces)
    }

    fn read_parts(&self, parts: &[(u64, u64)], out: &mut [u8]) -> Result<()> {
        let (each, mut pieces) = (bytes_per_part(parts.len(), out.len())?, Vec::new());
        for (part, out) in parts.iter().zip(out.chunks_exact_mut(each)) {
            self.cut(*part, out, &mut pieces)?;
        }
        self.fill(pieces)
    }
}
