//! Moving an image to the next epoch: a changed number is in all t polynomials of its group, so
//! these change, and the weights of all t groups. Queries do not depend on the table, so nothing
//! changes for clients.

use crate::Inspire;
use crate::columns::{POLYNOMIAL_BYTES, put, put_byte, take};
use crate::numbers::GROUP_BYTES;
use crate::params::Params;
use crate::server::packed;
use sotto_core::{Misuse, Params as _, RecordChange, Result, Section, Sink, UpdateImage};
use sotto_math::matrix::layout::PANEL_ROWS;
use sotto_silent::lattice::N;
use sotto_silent::matrix::change_column;
use sotto_silent::packed_groups::write_packed;

impl UpdateImage for Inspire {
    fn revise(params: &Params, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        let packed = packed(params)?;
        let layout = params.layout();
        out.reserve(Section::Resident, layout.bytes() as u64 + packed.bytes())?;
        changes.iter().try_for_each(|change| in_table(params, change))?;
        let t = params.places();
        let column = |change: &RecordChange| change.record as usize / t;
        let mut changes: Vec<&RecordChange> = changes.iter().collect();
        // The sort is stable: of two changes to one byte, the later one is written later.
        changes.sort_by_key(|change| column(change));
        let (mut touched, mut scratch) = (Vec::new(), Vec::new());
        for changes in changes.chunk_by(|a, b| column(a) == column(b)) {
            let Some(column) = changes.first().map(|change| column(change)) else { continue };
            for group in groups(changes) {
                let panels = t * POLYNOMIAL_BYTES / PANEL_ROWS;
                let panels = group * panels..(group + 1) * panels;
                let changed = change_column(
                    &layout,
                    Section::Resident,
                    column,
                    panels,
                    |bytes| {
                        let mut polynomials = take(bytes, &mut scratch);
                        for change in changes {
                            let numbers = polynomials.chunks_exact_mut(N).nth(change.record as usize % t);
                            put_change(numbers.unwrap_or_default(), group as u64 * GROUP_BYTES, change);
                        }
                        put(&mut polynomials, &mut scratch, bytes);
                    },
                    out,
                )?;
                touched.extend(changed.then_some(group * t..(group + 1) * t).into_iter().flatten());
            }
        }
        write_packed(layout, Section::Resident, &packed, packed.together(touched.into_iter()), out)
    }
}

/// The groups of a record's bytes that any of these changes touches, each once.
fn groups(changes: &[&RecordChange]) -> Vec<usize> {
    let of_change = |change: &&RecordChange| {
        let end = change.offset + change.bytes.len() as u64;
        change.offset / GROUP_BYTES..end.div_ceil(GROUP_BYTES)
    };
    let mut groups: Vec<usize> = changes.iter().flat_map(of_change).map(|group| group as usize).collect();
    groups.sort_unstable();
    groups.dedup();
    groups
}

/// Writes the bytes of a change that are in the group at some byte of a record.
fn put_change(numbers: &mut [i32], start: u64, change: &RecordChange) {
    let bytes = (change.offset..).zip(&change.bytes);
    let skipped = start.saturating_sub(change.offset) as usize;
    let within = bytes.skip(skipped).take_while(|(offset, _)| *offset < start + GROUP_BYTES);
    within.for_each(|(offset, byte)| put_byte(numbers, offset - start, *byte));
}

/// Refuses a change outside the table.
fn in_table(params: &Params, change: &RecordChange) -> Result<()> {
    let literal = params.literal();
    if change.record >= literal.records {
        return Err(Misuse::IndexPastEnd { index: change.record, len: literal.records }.into());
    }
    let end = change.offset.saturating_add(change.bytes.len() as u64);
    if end > literal.record_bytes {
        return Err(Misuse::IndexPastEnd { index: end, len: literal.record_bytes }.into());
    }
    Ok(())
}
