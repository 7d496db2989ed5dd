//! Records out of an image, without the mask: for changes in place, and for encoding a table anew that is nowhere else.

use crate::answer::stored;
use crate::params::{Inner, Params};
use crate::whiten::whiten;
use rayon::prelude::*;
use sotto_core::{Held, Image, Misuse, Result, Rows, Section};
use sotto_math::bits;
use sotto_math::tiles::Words;
use std::sync::Arc;

/// The bytes of a part of a record, without the mask. `at` reads bytes of the image.
pub(crate) fn read(
    params: &Inner,
    words: &Words,
    record: u64,
    part: u64,
    at: impl Fn(u64, &mut [u8]) -> Result<()>,
) -> Result<Vec<u8>> {
    let (ring, grid, p) = (&params.ring, &params.grid, params.literal.p_log2);
    let (cell, region) = (grid.cell_of(record, part), grid.region(part / grid.polynomials() as u64));
    let mut slots = Vec::with_capacity(params.n());
    for block in 0..grid.layout().blocks() {
        let words =
            grid.layout().read(block, (cell.row, cell.col), |offset, out| at(region + offset, out))?;
        slots.extend(words);
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

    fn bytes(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let start = usize::try_from(offset).ok();
        let bytes = start.and_then(|start| self.table.bytes().get(start..)?.get(..out.len()));
        out.copy_from_slice(bytes.ok_or(Misuse::Rule("an image has every line of its layout"))?);
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
            let part = read(&self.params, &self.words, record, at / each, |at, out| self.bytes(at, out))?;
            let inside = part.get((at % each) as usize..).unwrap_or_default();
            let (now, after) = rest.split_at_mut(inside.len().min(rest.len()));
            now.iter_mut().zip(inside).for_each(|(out, byte)| *out = *byte);
            at += now.len() as u64;
            rest = after;
        }
        Ok(())
    }
}
