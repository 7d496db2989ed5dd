//! The table in bit slices, and changes of it.

use crate::Dpf;
use crate::literal::SubTable;
use crate::params::Params;
use rayon::prelude::*;
use sotto_core::{
    ExpectOrDefault, ImageSection, Misuse, RecordChange, RecordSource, Result, Section, SectionRecords, Sink,
    UpdateImage,
};
use sotto_math::bitslice::{BLOCK_RECORDS, reslice, slice, unslice};
use std::ops::Range;

/// Bytes of records that are in memory at once, unless one block has more; blocks take as many again.
const SLAB: usize = 8 << 20;

/// Writes the only section of an image: layer by layer in blocks of eight, the last block of each
/// filled up with zeros.
///
/// # Errors
/// [`Misuse::Rule`] if `rows` has another shape than `params`; storage errors.
pub fn encode(params: &Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
    let width = params.record_bytes();
    if rows.records() != params.records() || rows.record_bytes() != width {
        return Err(Misuse::Rule("the records must have the shape of the parameters").into());
    }
    out.reserve(Section::Resident, params.table_bytes())?;
    let mut layers: Vec<Writer<'_>> = params.layers().iter().map(Writer::new).collect();
    let most = (SLAB / (BLOCK_RECORDS * width)).max(1) * BLOCK_RECORDS;
    let mut records = Vec::new();
    for first in (0..params.records()).step_by(most) {
        let count = (params.records() - first).min(most as u64) as usize;
        records.resize(count * width, 0);
        rows.read(first, &mut records)?;
        for layer in &mut layers {
            let shift = layer.layer.shift;
            let first_of_some =
                (first..).zip(records.chunks_exact(width)).filter(|(i, _)| i.trailing_zeros() >= shift);
            first_of_some.for_each(|(_, record)| layer.add(record));
            layer.write(out, false)?;
        }
        out.progress("bit slices", first + count as u64, params.records());
    }
    layers.iter_mut().try_for_each(|layer| layer.write(out, true))
}

/// Writes a layer.
struct Writer<'a> {
    layer: &'a SubTable,
    held: Vec<u8>,
    blocks: Vec<u8>,
    at: u64,
}

impl<'a> Writer<'a> {
    fn new(layer: &'a SubTable) -> Self {
        Writer { layer, held: Vec::new(), blocks: Vec::new(), at: layer.at }
    }

    fn add(&mut self, record: &[u8]) {
        let part = record.get(self.layer.start..).and_then(|rest| rest.get(..self.layer.width));
        self.held.extend_from_slice(part.expect_or_default("a layer is part of a record"));
    }

    /// Writes the buffered records, if they are many; at the end all of them, including those that
    /// fill no block.
    fn write(&mut self, out: &dyn Sink, last: bool) -> Result<()> {
        let (block, held) = (self.layer.block_bytes(), self.held.len());
        let whole = if last { held.next_multiple_of(block) } else { held / block * block };
        if whole == 0 || !last && held < SLAB {
            return Ok(());
        }
        let rest = self.held.split_off(whole.min(self.held.len()));
        self.held.resize(whole, 0);
        self.blocks.resize(whole, 0);
        let pairs = self.blocks.par_chunks_mut(block).zip(self.held.par_chunks(block));
        pairs.for_each(|(block, records)| slice(records, block));
        out.write_at(Section::Resident, self.at, &self.blocks)?;
        self.at += whole as u64;
        self.held = rest;
        Ok(())
    }
}

/// The positions of a record's bytes: for each layer that has some, the first byte of their slices
/// in the image, the record's number in its block, and the range of the bytes.
fn places(
    params: &Params,
    record: u64,
    bytes: Range<usize>,
) -> impl Iterator<Item = (u64, usize, Range<usize>)> {
    params.layers().iter().filter_map(move |layer| {
        let (start, end) = (bytes.start.max(layer.start), bytes.end.min(layer.start + layer.width));
        let item = record >> layer.shift;
        let block = layer.at + item / 8 * layer.block_bytes() as u64;
        let at = block + 8 * start.saturating_sub(layer.start) as u64;
        (start < end).then(|| (at, (item % 8) as usize, start - bytes.start..end - bytes.start))
    })
}

/// The records of an image.
pub(crate) fn records(params: &Params, held: ImageSection) -> Box<dyn RecordSource> {
    let (records, record_bytes, params) = (params.records(), params.record_bytes(), params.clone());
    let read = move |table: &[u8], record: u64, offset: usize, out: &mut [u8]| {
        for (at, which, part) in places(&params, record, offset..offset + out.len()) {
            let part = out.get_mut(part)?;
            let slices = table.get(usize::try_from(at).ok()?..)?.get(..8 * part.len())?;
            unslice(slices, which, part);
        }
        Some(())
    };
    Box::new(SectionRecords { held, records, record_bytes, read })
}

impl<const PROVEN: bool> UpdateImage for Dpf<PROVEN> {
    /// Reads and writes eight bytes for each changed byte.
    fn update_image(params: &Params, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        changes.iter().try_for_each(|change| inside(params, change))?;
        out.reserve(Section::Resident, params.table_bytes())?;
        let mut slices = Vec::new();
        for change in changes {
            let offset = change.offset as usize;
            for (at, which, part) in places(params, change.record, offset..offset + change.bytes.len()) {
                let bytes = change.bytes.get(part).expect_or_default("a part is one of the bytes");
                slices.resize(8 * bytes.len(), 0);
                out.read_at(Section::Resident, at, &mut slices)?;
                reslice(bytes, which, &mut slices);
                out.write_at(Section::Resident, at, &slices)?;
            }
        }
        Ok(())
    }
}

/// Refuses a change that is partly outside the records.
fn inside(params: &Params, change: &RecordChange) -> Result<()> {
    if change.record >= params.records() {
        return Err(Misuse::IndexPastEnd { index: change.record, len: params.records() }.into());
    }
    let (end, len) = (change.offset.saturating_add(change.bytes.len() as u64), params.record_bytes() as u64);
    if end > len {
        return Err(Misuse::IndexPastEnd { index: end, len }.into());
    }
    Ok(())
}
