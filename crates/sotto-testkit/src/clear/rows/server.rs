//! Records that lie where clients fetch them, and what changed in them: for each changed record its index (u64,
//! little-endian), and the exclusive or of what it was and what it is; ascending, each once.

use super::{Answer, DELTA, P, Query, ROWS, Streamed};
use sotto_core::wire::exact;
use sotto_core::{Change, Image, Misuse, PeerMisbehaved, Result, Revise, Rows, Server, Sink};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A server: the records as they are.
pub(super) struct Table {
    params: P,
    image: Arc<dyn Image>,
}

fn rows<'a>(params: &P, image: &'a dyn Image) -> Result<&'a [u8]> {
    let rows = image
        .section(ROWS)
        .ok_or_else(|| PeerMisbehaved::Malformed { what: "image", why: "it has no rows".into() })?;
    exact("rows", rows, params.table_bytes() as usize)?;
    Ok(rows)
}

impl Server<Streamed> for Table {
    type Session = ();

    fn encode(params: &P, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
        crate::clear::params::same_shape(params, rows)?;
        out.reserve(ROWS, params.table_bytes())?;
        let mut record = vec![0; params.record_bytes()];
        for index in 0..params.records() {
            rows.read(index, &mut record)?;
            out.write_at(ROWS, index * record.len() as u64, &record)?;
        }
        Ok(())
    }

    fn open(params: &P, image: Arc<dyn Image>) -> Result<Self> {
        rows(params, image.as_ref())?;
        Ok(Table { params: params.clone(), image })
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer_many(&self, asks: Vec<(&(), Query)>) -> Vec<Result<Answer>> {
        asks.into_iter().map(|((), query)| self.one(query)).collect()
    }
}

impl Table {
    fn one(&self, query: Query) -> Result<Answer> {
        let rows = rows(&self.params, self.image.as_ref())?;
        let record = rows.chunks_exact(self.params.record_bytes()).nth(query.0 as usize);
        Ok(Answer(record.unwrap_or_default().to_vec()))
    }
}

impl Revise for Streamed {
    fn revise(params: &P, changes: &[Change], out: &dyn Sink) -> Result<()> {
        let width = params.record_bytes();
        let mut changed = BTreeMap::new();
        for change in changes {
            let end = change.offset.saturating_add(change.bytes.len() as u64);
            if change.record >= params.records() || end > width as u64 {
                return Err(Misuse::IndexPastEnd { index: change.record, len: params.records() }.into());
            }
            let at = change.record * width as u64;
            let mut record = vec![0; width];
            out.read_at(ROWS, at, &mut record)?;
            changed.entry(change.record).or_insert(record);
            out.write_at(ROWS, at + change.offset, &change.bytes)?;
        }
        let mut delta = Vec::new();
        for (index, mut record) in changed {
            let mut new = vec![0; width];
            out.read_at(ROWS, index * width as u64, &mut new)?;
            record.iter_mut().zip(new).for_each(|(old, new)| *old ^= new);
            delta.extend(index.to_le_bytes());
            delta.extend(record);
        }
        out.reserve(DELTA, delta.len() as u64)?;
        out.write_at(DELTA, 0, &delta)
    }
}
