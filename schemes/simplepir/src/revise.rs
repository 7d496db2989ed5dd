//! Moving an image to the next epoch: the changed bytes, the hint rows they touch, and the delta.

use crate::SimplePir;
use crate::delta::{self, Entry, MOST_ENTRIES, ROW_WORDS};
use crate::params::Params;
use crate::ring::Ring;
use crate::server::HINT;
use crate::update::ReversedBlocks;
use rayon::prelude::*;
use sotto_core::{Artifact, Change, Misuse, Result, Revise, Section, Sink};
use sotto_math::matrix::PanelLayout;

const DELTA: Section = Section::Public(Artifact::HintDelta);

/// Bytes of the smallest contiguous piece of a panel: 64 rows of four columns.
const GROUP: usize = 256;

impl Revise for SimplePir {
    /// Memory is about 40 bytes per changed byte. Where a good part of the table changes, encoding it
    /// afresh is cheaper.
    fn revise(params: &Params, changes: &[Change], out: &dyn Sink) -> Result<()> {
        let entries = write_matrix(params.layout(), Section::Resident, changes, out)?;
        write_hint(params, &entries, out)
    }
}

/// A byte to be written.
struct Write {
    row: u32,
    column: u32,
    byte: u8,
}

/// Writes the new bytes and says what differs from the old ones, ascending by (row, column).
pub(crate) fn write_matrix(
    layout: PanelLayout,
    section: Section,
    changes: &[Change],
    out: &dyn Sink,
) -> Result<Vec<Entry>> {
    let mut writes = Vec::new();
    for change in changes {
        let (column, first) = in_table(&layout, change)?;
        writes.extend((first..).zip(&change.bytes).map(|(row, byte)| Write { row, column, byte: *byte }));
    }
    let group = |write: &Write| layout.offset(write.row as usize, write.column as usize) / GROUP;
    // Stable: of two changes to one byte, the later one is written later.
    writes.sort_by_key(group);
    let mut entries = Vec::new();
    for writes in writes.chunk_by(|a, b| group(a) == group(b)) {
        let Some(first) = writes.first() else { continue };
        let start = (group(first) * GROUP) as u64;
        let mut old = [0; GROUP];
        out.read_at(section, start, &mut old)?;
        let mut new = old;
        let mut touched = Vec::with_capacity(writes.len());
        for write in writes {
            let at = layout.offset(write.row as usize, write.column as usize) % GROUP;
            if let Some(byte) = new.get_mut(at) {
                *byte = write.byte;
            }
            touched.push((write.row, write.column, at));
        }
        out.write_at(section, start, &new)?;
        touched.sort_unstable();
        touched.dedup();
        entries.extend(touched.into_iter().filter_map(|(row, column, at)| {
            let (old, new) = (*old.get(at)? as i8, *new.get(at)? as i8);
            let change = i16::from(new) - i16::from(old);
            (change != 0).then_some(Entry { row, column, change })
        }));
    }
    entries.sort_unstable();
    Ok(entries)
}

/// The column and first row of a change, if all of it lies inside the table.
fn in_table(layout: &PanelLayout, change: &Change) -> Result<(u32, u32)> {
    let (l, m) = (layout.rows() as u64, layout.cols() as u64);
    if change.record >= m {
        return Err(Misuse::IndexPastEnd { index: change.record, len: m }.into());
    }
    let end = change.offset.saturating_add(change.bytes.len() as u64);
    if end > l {
        return Err(Misuse::IndexPastEnd { index: end, len: l }.into());
    }
    // Both are at most 2^20 by the check of the parameters.
    Ok((change.record as u32, change.offset as u32))
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
    single.iter().flat_map(|changes| changes.iter()).for_each(|entry| entry.put(&mut bytes));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_what_the_layout_keeps_together() {
        let layout = PanelLayout::new(130, 9);
        for (row, column) in [(0, 0), (63, 3), (64, 4), (129, 8)] {
            let start = layout.offset(row, column) / GROUP * GROUP;
            assert_eq!(start, layout.offset(row / 64 * 64, column / 4 * 4));
        }
    }
}
