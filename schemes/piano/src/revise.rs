//! Moving an image to the next epoch: the changed rows, and what changed about them.

use crate::Piano;
use crate::params::Params;
use crate::places::Places;
use crate::server::{ROWS, index};
use sotto_core::{Artifact, Change, Misuse, Result, Revise, Section, Sink};
use std::collections::BTreeMap;

const DELTA: Section = Section::Public(Artifact::RowsDelta);

impl Revise for Piano {
    fn revise(params: &Params, changes: &[Change], out: &dyn Sink) -> Result<()> {
        let row_bytes = params.row_bytes();
        out.reserve(ROWS, params.table_bytes())?;
        let order = Places::new(params);
        // By place, as the delta is.
        let mut rows: BTreeMap<u64, Vec<&Change>> = BTreeMap::new();
        for change in changes {
            if change.record >= params.rows() {
                return Err(Misuse::IndexPastEnd { index: change.record, len: params.rows() }.into());
            }
            let end = change.offset.saturating_add(change.bytes.len() as u64);
            if end > row_bytes as u64 {
                return Err(Misuse::IndexPastEnd { index: end, len: row_bytes as u64 }.into());
            }
            rows.entry(index(params, order.of(change.record))).or_default().push(change);
        }
        let mut delta = Vec::new();
        let mut row = vec![0; row_bytes];
        for (place, changes) in rows {
            let at = place * row_bytes as u64;
            out.read_at(ROWS, at, &mut row)?;
            let mut new = row.clone();
            for change in changes {
                // Below the length of a row.
                let bytes = new.iter_mut().skip(change.offset as usize);
                bytes.zip(&change.bytes).for_each(|(byte, new)| *byte = *new);
            }
            row.iter_mut().zip(&new).for_each(|(old, new)| *old ^= new);
            if row.iter().any(|byte| *byte != 0) {
                out.write_at(ROWS, at, &new)?;
                delta.extend_from_slice(&place.to_le_bytes());
                delta.extend_from_slice(&row);
            }
        }
        out.reserve(DELTA, delta.len() as u64)?;
        out.write_at(DELTA, 0, &delta)?;
        out.progress("rows delta", delta.len() as u64, delta.len() as u64);
        Ok(())
    }
}
