//! Moving an image to the next epoch: the changed bytes, the hint rows they touch, and the delta.

use crate::SimplePir;
use crate::delta::{self, Entry};
use crate::params::Params;
use crate::server::HINT;
use crate::update::each_pass;
use rayon::prelude::*;
use sotto_core::{Artifact, Change, Result, Revise, Section, Sink};
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
    out.reserve(Section::Resident, params.matrix_bytes())?;
    out.reserve(HINT, params.hint_bytes())?;
    let row_bytes = 4 * params.n();
    let offset = |row: u32| u64::from(row) * row_bytes as u64;
    each_pass(params, entries, |rows, entries| {
        let touched: Vec<&[Entry]> = entries.chunk_by(|a, b| a.row == b.row).collect();
        touched.par_iter().try_for_each(|changes| {
            let Some(first) = changes.first() else { return Ok(()) };
            let mut words = vec![0; row_bytes];
            out.read_at(HINT, offset(first.row), &mut words)?;
            rows.add(changes, &mut words)?;
            out.write_at(HINT, offset(first.row), &words)
        })
    })?;

    let touched: Vec<&[Entry]> = entries.chunk_by(|a, b| a.row == b.row).collect();
    let most = delta::most_entries(params);
    let (whole, single): (Vec<_>, Vec<_>) = touched.iter().copied().partition(|changes| changes.len() > most);
    let mut bytes = Vec::new();
    let count = single.iter().map(|changes| changes.len()).sum::<usize>();
    // At most 710 entries in each of at most 2^20 rows, so both counts fit.
    bytes.extend(delta::header(count as u32, whole.len() as u32));
    single.iter().flat_map(|changes| changes.iter()).for_each(|entry| delta::put_entry(entry, &mut bytes));
    out.reserve(DELTA, delta::row_offset(params, count, whole.len()))?;
    out.write_at(DELTA, 0, &bytes)?;
    whole.par_iter().enumerate().try_for_each(|(i, changes)| {
        let Some(first) = changes.first() else { return Ok(()) };
        let mut bytes = first.row.to_le_bytes().to_vec();
        bytes.resize(4 + row_bytes, 0);
        let (_, words) = bytes.split_at_mut(4);
        out.read_at(HINT, offset(first.row), words)?;
        out.write_at(DELTA, delta::row_offset(params, count, i), &bytes)
    })?;
    out.progress("hint delta", touched.len() as u64, touched.len() as u64);
    Ok(())
}
