//! Changing bytes of records: in the first matrix, and in the columns of the second that follow
//! from them.

use super::TwoPassLayout;
use super::write::HintTable;
use crate::matrix::{ByteChange, SectionOffset, write_changes};
use sotto_core::{Misuse, RecordChange, RecordSource, Result, Section, Sink};

/// Hint rows that are computed again at once: their changes take some 40 bytes for each of theirs.
const ROWS_AT_ONCE: u64 = 256;

/// Writes the new bytes, and the columns of the second matrix that they change. `hear` is called
/// with the changes of the second matrix, some columns at a time, ascending by (row, column).
///
/// # Errors
/// [`Misuse::IndexPastEnd`] for a change outside the table; storage errors, and those of `hear`.
/// [`Misuse::IndexPastEnd`] for a change outside the table; storage errors, and those of `hear`.
pub fn revise(
    cut: &TwoPassLayout,
    section: Section,
    changes: &[RecordChange],
    out: &dyn Sink,
    mut hear: impl FnMut(&[ByteChange]) -> Result<()>,
) -> Result<()> {
    let moved = changes.iter().map(|change| moved(cut, change)).collect::<Result<Vec<_>>>()?;
    let entries = write_changes(cut.first(), section, &moved, out)?;
    let mut blocks: Vec<u64> = entries.iter().map(|entry| u64::from(entry.row) / cut.record_bytes).collect();
    blocks.dedup();
    let hints = HintTable::new(cut, section, blocks.len() as u64 * cut.record_bytes, out)?;
    for blocks in blocks.chunks((ROWS_AT_ONCE / cut.record_bytes).max(1) as usize) {
        let mut columns = Vec::with_capacity(blocks.len());
        for run in blocks.chunk_by(|a, b| a + 1 == *b) {
            let mut bytes = vec![0; run.len() * hints.record_bytes()];
            hints.read(run.first().copied().unwrap_or_default(), &mut bytes)?;
            let column = |(record, bytes): (&u64, &[u8])| RecordChange {
                record: *record,
                offset: 0,
                bytes: bytes.to_vec(),
            };
            columns.extend(run.iter().zip(bytes.chunks_exact(hints.record_bytes())).map(column));
        }
        let place = SectionOffset { section, start: cut.first_bytes() };
        hear(&write_changes(cut.second(), place, &columns, out)?)?;
    }
    Ok(())
}

/// Converts a change of a record to one of the first matrix.
fn moved(cut: &TwoPassLayout, change: &RecordChange) -> Result<RecordChange> {
    if change.record >= cut.records {
        return Err(Misuse::IndexPastEnd { index: change.record, len: cut.records }.into());
    }
    let end = change.offset.saturating_add(change.bytes.len() as u64);
    if end > cut.record_bytes {
        return Err(Misuse::IndexPastEnd { index: end, len: cut.record_bytes }.into());
    }
    let [column, block] = cut.place(change.record).map(u64::from);
    Ok(RecordChange {
        record: column,
        offset: block * cut.record_bytes + change.offset,
        bytes: change.bytes.clone(),
    })
}
