//! The table in bit slices, and changes to it.

use crate::Dpf;
use crate::params::Params;
use rayon::prelude::*;
use sotto_core::{Change, Misuse, Result, Revise, Rows, Section, Sink};
use sotto_math::slices::{BLOCK_RECORDS, reslice, slice};

/// Bytes of records that are in memory at once, unless one block has more; blocks take as many again.
const SLAB: usize = 8 << 20;

/// Writes the only section of an image: blocks of eight records, the last one filled up with zeros.
///
/// # Errors
/// [`Misuse::Rule`] if `rows` has another shape than `params`; storage errors.
pub fn encode(params: &Params, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
    let width = params.record_bytes();
    if rows.records() != params.records() || rows.record_bytes() != width {
        return Err(Misuse::Rule("the records have the shape the parameters were chosen for").into());
    }
    out.reserve(Section::Resident, params.table_bytes())?;
    let most = (SLAB / params.block_bytes()).max(1) * BLOCK_RECORDS;
    let (mut records, mut blocks) = (Vec::new(), Vec::new());
    for first in (0..params.records()).step_by(most) {
        let count = (params.records() - first).min(most as u64) as usize;
        records.clear();
        records.resize(count * width, 0);
        rows.read(first, &mut records)?;
        records.resize(count.next_multiple_of(BLOCK_RECORDS) * width, 0);
        blocks.resize(records.len(), 0);
        let block = params.block_bytes();
        blocks
            .par_chunks_mut(block)
            .zip(records.par_chunks(block))
            .for_each(|(block, records)| slice(records, block));
        out.write_at(Section::Resident, first * width as u64, &blocks)?;
        out.progress("bit slices", first + count as u64, params.records());
    }
    Ok(())
}

impl Revise for Dpf {
    /// Reads and writes eight bytes for each that changes.
    fn revise(params: &Params, changes: &[Change], out: &dyn Sink) -> Result<()> {
        changes.iter().try_for_each(|change| inside(params, change))?;
        out.reserve(Section::Resident, params.table_bytes())?;
        let mut slices = Vec::new();
        for change in changes {
            let (block, which) = (change.record / 8, (change.record % 8) as usize);
            let offset = block * params.block_bytes() as u64 + 8 * change.offset;
            slices.resize(8 * change.bytes.len(), 0);
            out.read_at(Section::Resident, offset, &mut slices)?;
            reslice(&change.bytes, which, &mut slices);
            out.write_at(Section::Resident, offset, &slices)?;
        }
        Ok(())
    }
}

/// Refuses a change of which a part lies outside the records.
fn inside(params: &Params, change: &Change) -> Result<()> {
    if change.record >= params.records() {
        return Err(Misuse::IndexPastEnd { index: change.record, len: params.records() }.into());
    }
    let (end, len) = (change.offset.saturating_add(change.bytes.len() as u64), params.record_bytes() as u64);
    if end > len {
        return Err(Misuse::IndexPastEnd { index: end, len }.into());
    }
    Ok(())
}
