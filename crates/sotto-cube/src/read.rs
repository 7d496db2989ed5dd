//! Records out of an image, without the mask: for changes in place, and for encoding a table anew that is nowhere else.

use crate::answer::stored;
use crate::params::{Inner, Params};
use crate::whiten::whiten;
use rayon::prelude::*;
use sotto_core::{Held, Image, Misuse, Result, Rows, Section};
use sotto_math::bits;
use sotto_math::tiles::Words;
use std::sync::Arc;

/// Bytes of a line of slots.
pub(crate) const LINE_BYTES: usize = 64;

/// Where the lines of a part of a record lie.
pub(crate) fn lines(params: &Inner, record: u64, part: u64) -> impl Iterator<Item = u64> {
    let grid = &params.grid;
    let side = grid.polynomials() as u64;
    let (row, column) = grid.place(record);
    let cell = grid.cell(row, column, (part % side) as usize);
    let (region, layout) = (grid.region(part / side), *grid.layout());
    (0..layout.blocks()).map(move |block| region + layout.line(block, cell.row, cell.col))
}

/// The bytes of a part of a record, without the mask. `line` reads one line of the image.
pub(crate) fn read(
    params: &Inner,
    words: &Words,
    record: u64,
    part: u64,
    line: impl Fn(u64, &mut [u8; LINE_BYTES]) -> Result<()>,
) -> Result<Vec<u8>> {
    let (ring, p) = (&params.ring, params.literal.p_log2);
    let mut slots = Vec::with_capacity(params.n());
    let mut bytes = [0; LINE_BYTES];
    for offset in lines(params, record, part) {
        line(offset, &mut bytes)?;
        slots.extend(bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)));
    }
    words.restore(&mut slots);
    // A damaged image gives other bytes, but no panic.
    slots.iter_mut().for_each(|slot| *slot = ring.q().reduce(*slot));
    ring.plan().inverse(&mut slots);
    // Centred coefficients, taken modulo p.
    let mask = (1u64 << p) - 1;
    slots.iter_mut().for_each(|word| *word = ring.q().centred(*word) as u64 & mask);
    let mut out = Vec::with_capacity(params.grid.part_bytes());
    bits::pack_words(&slots, p.into(), &mut out);
    whiten(&params.literal.mask, record, part, &mut out);
    Ok(out)
}

/// The records of an image.
pub(crate) struct Records<F> {
    params: Params<F>,
    table: Held,
    words: Words,
}

impl<F> Records<F> {
    /// Opens an image.
    ///
    /// # Errors
    /// [`sotto_core::PeerMisbehaved::Length`] if it is not the table of these parameters.
    pub(crate) fn open(params: &Params<F>, image: Arc<dyn Image>) -> Result<Self> {
        let table = Held::open(image, Section::Resident, "table", params.grid.bytes())?;
        Ok(Records { params: params.clone(), table, words: stored(params)? })
    }

    fn line(&self, offset: u64, out: &mut [u8; LINE_BYTES]) -> Result<()> {
        let line = usize::try_from(offset).ok().and_then(|at| self.table.bytes().get(at..)?.first_chunk());
        *out = *line.ok_or(Misuse::Rule("an image has every line of its layout"))?;
        Ok(())
    }
}

impl<F: Send + Sync + 'static> Rows for Records<F> {
    fn records(&self) -> u64 {
        self.params.grid.records()
    }

    fn record_bytes(&self) -> usize {
        self.params.literal.record_bytes as usize
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let width = self.record_bytes();
        if !out.len().is_multiple_of(width) {
            return Err(Misuse::Rule("only whole records are read").into());
        }
        let records = out.par_chunks_exact_mut(width).enumerate();
        records.try_for_each(|(i, out)| self.read_part(first.saturating_add(i as u64), 0, out))
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> Result<()> {
        let (records, width) = (self.records(), self.record_bytes() as u64);
        let end = offset.saturating_add(out.len() as u64);
        if record >= records {
            return Err(Misuse::IndexPastEnd { index: record, len: records }.into());
        }
        if end > width {
            return Err(Misuse::IndexPastEnd { index: end, len: width }.into());
        }
        let each = self.params.grid.part_bytes() as u64;
        let (mut at, mut rest) = (offset, out);
        while !rest.is_empty() {
            let part = read(&self.params, &self.words, record, at / each, |at, line| self.line(at, line))?;
            let inside = part.get((at % each) as usize..).unwrap_or_default();
            let (now, after) = rest.split_at_mut(inside.len().min(rest.len()));
            now.iter_mut().zip(inside).for_each(|(out, byte)| *out = *byte);
            at += now.len() as u64;
            rest = after;
        }
        Ok(())
    }
}
