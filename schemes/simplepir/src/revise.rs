//! Moving an image to the next epoch: the changed bytes, the hint rows they touch, and the delta.

use crate::SimplePir;
use crate::delta::{self, Entry, MOST_ENTRIES, ROW_WORDS};
use crate::params::Params;
use crate::server::HINT;
use crate::update::ReversedBlocks;
use rayon::prelude::*;
use sotto_core::{Artifact, Change, Result, Revise, Section, Sink};
use sotto_silent::lwe::ring::Ring;
use sotto_silent::matrix::write_changes;

const DELTA: Section = Section::Public(Artifact::HintDelta);

impl Revise for SimplePir {
    /// Memory is about 40 bytes per changed byte. Where a good part of the table changes, encoding it
    /// afresh is cheaper.
    fn revise(params: &Params, changes: &[Change], out: &dyn Sink) -> Result<()> {
        let entries = write_changes(params.layout(), Section::Resident, changes, out)?;
        write_hint(params, &entries, out)
    }
}

/// Updates the touched rows of the hint and writes the delta, by whichever encoding is shorter for a row.
fn write_hint(params: &Params, entries: &[Entry], out: &dyn Sink) -> Result<()> {
    let ring = Ring::new()?;
    let blocks = ReversedBlocks::touched(&ring, entries);
    let touched: Vec<&[Entry]> = entries.chunk_by(|a, b| a.row == b.row).collect();
    let (whole, single): (Vec<_>, Vec<_>) =
        touched.iter().copied().partition(|changes| changes.len() > MOST_ENTRIES);

    let mut bytes = Vec::new();
    let count = single.iter().map(|changes| changes.len()).sum::<usize>();
    // At most 410 entries in each of at most 2^20 rows, so both counts fit.
    bytes.extend(delta::header(count as u32, whole.len() as u32));
    single.iter().flat_map(|changes| changes.iter()).for_each(|entry| delta::put_entry(entry, &mut bytes));
    out.reserve(Section::Resident, params.matrix_bytes())?;
    out.reserve(HINT, params.hint_bytes())?;
    out.reserve(DELTA, delta::row_offset(count, whole.len()))?;
    out.write_at(DELTA, 0, &bytes)?;

    let update = |changes: &[Entry]| -> Result<Option<(u32, [u8; ROW_WORDS])>> {
        let Some(first) = changes.first() else { return Ok(None) };
        let mut words = [0; ROW_WORDS];
        let offset = u64::from(first.row) * ROW_WORDS as u64;
        out.read_at(HINT, offset, &mut words)?;
        blocks.add_to_row(&ring, changes, &mut words)?;
        out.write_at(HINT, offset, &words)?;
        Ok(Some((first.row, words)))
    };
    single.par_iter().try_for_each(|changes| update(changes).map(drop))?;
    whole.par_iter().enumerate().try_for_each(|(i, changes)| {
        let Some((row, words)) = update(changes)? else { return Ok(()) };
        let bytes = [row.to_le_bytes().as_slice(), &words].concat();
        out.write_at(DELTA, delta::row_offset(count, i), &bytes)
    })?;
    out.progress("hint delta", touched.len() as u64, touched.len() as u64);
    Ok(())
}
