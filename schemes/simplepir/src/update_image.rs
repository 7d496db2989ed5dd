//! Moving an image to the next epoch: the changed bytes, the hint rows that they touch, and the
//! delta.

use crate::SimplePir;
use crate::delta::{self, ByteChange};
use crate::params::Params;
use crate::server::HINT;
use crate::update::each_pass;
use rayon::prelude::*;
use sotto_core::{Artifact, Params as _, RecordChange, Result, Section, Sink, UpdateImage};
use sotto_silent::lwe::dense::DenseLwe;
use sotto_silent::lwe::hint::HintUpdater;
use sotto_silent::matrix::{change_panels, write_changes};

const DELTA: Section = Section::Public(Artifact::HintDelta);

/// Bytes of a pass that take as long as adding one changed byte's row of a dense matrix to a row of
/// the hint.
const DENSE: usize = 8;

impl UpdateImage for SimplePir {
    /// Memory is about 40 bytes for each piece of a change in a panel, and that of the delta. For a
    /// panel with many changes, hint rows are computed from scratch, so that no update takes much
    /// longer than encoding the table.
    fn revise(params: &Params, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        out.reserve(Section::Resident, params.matrix_bytes())?;
        out.reserve(HINT, params.hint_bytes())?;
        let layout = params.layout();
        let shares = match params.dense() {
            None => {
                let hint = HintUpdater::new(layout, Section::Resident, HINT, out)?;
                change_panels(layout, Section::Resident, changes, out, |entries| {
                    hint.panel(entries)?;
                    Ok(DeltaRows::of(params, entries))
                })?
            }
            Some(dense) => {
                let entries = write_changes(layout, Section::Resident, changes, out)?;
                write_dense_hint(params, dense, &entries, out)?;
                vec![DeltaRows::of(params, &entries)]
            }
        };
        write_delta(params, &shares, out)
    }
}

/// Updates the hint of a dense matrix, whose rows are made for one block of columns at a time.
fn write_dense_hint(params: &Params, dense: &DenseLwe, entries: &[ByteChange], out: &dyn Sink) -> Result<()> {
    if entries.len() > params.layout().bytes() / DENSE {
        let seed = &params.literal().seed;
        return dense.write_hint(seed, params.layout(), [Section::Resident, HINT], out);
    }
    let row_bytes = 4 * params.n();
    each_pass(params, entries, |rows, entries| {
        let touched: Vec<&[ByteChange]> = entries.chunk_by(|a, b| a.row == b.row).collect();
        touched.par_iter().try_for_each(|changes| {
            let Some(first) = changes.first() else { return Ok(()) };
            let (mut words, offset) = (vec![0; row_bytes], u64::from(first.row) * row_bytes as u64);
            out.read_at(HINT, offset, &mut words)?;
            rows.add(changes, &mut words)?;
            out.write_at(HINT, offset, &words)
        })
    })
}

/// The delta of some consecutive rows, each in the shorter encoding.
struct DeltaRows {
    /// Changed bytes, encoded as in the delta.
    entries: Vec<u8>,
    /// Rows that the delta has as a whole.
    whole: Vec<u32>,
}

impl DeltaRows {
    fn of(params: &Params, entries: &[ByteChange]) -> Self {
        let most = delta::most_entries(params);
        let mut share = DeltaRows { entries: Vec::new(), whole: Vec::new() };
        for changes in entries.chunk_by(|a, b| a.row == b.row) {
            match changes.first() {
                Some(first) if changes.len() > most => share.whole.push(first.row),
                _ => changes.iter().for_each(|entry| delta::put_entry(entry, &mut share.entries)),
            }
        }
        share
    }
}

/// Writes the delta, after the hint is written.
fn write_delta(params: &Params, shares: &[DeltaRows], out: &dyn Sink) -> Result<()> {
    let count = shares.iter().map(|share| share.entries.len()).sum::<usize>() / delta::ENTRY;
    let whole: Vec<u32> = shares.iter().flat_map(|share| share.whole.iter().copied()).collect();
    // At most 710 entries in each of at most 2^20 rows, so both counts fit.
    let header = delta::header(count as u32, whole.len() as u32);
    out.reserve(DELTA, delta::row_offset(params, count, whole.len()))?;
    out.write_at(DELTA, 0, &header)?;
    let mut at = header.len() as u64;
    for share in shares.iter().filter(|share| !share.entries.is_empty()) {
        out.write_at(DELTA, at, &share.entries)?;
        at += share.entries.len() as u64;
    }
    whole.par_iter().enumerate().try_for_each(|(i, row)| {
        let mut bytes = row.to_le_bytes().to_vec();
        bytes.resize(delta::row_bytes(params), 0);
        let (_, words) = bytes.split_at_mut(4);
        out.read_at(HINT, u64::from(*row) * words.len() as u64, words)?;
        out.write_at(DELTA, delta::row_offset(params, count, i), &bytes)
    })?;
    out.progress("hint delta", 1, 1);
    Ok(())
}
