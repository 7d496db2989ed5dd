//! The server, which has the rows that everybody may fetch and nothing else.

use super::message::{Answer, Query};
use super::{P, Slots};
use sotto_core::wire::exact;
use sotto_core::{
    Artifact, Change, Image, Misuse, PeerMisbehaved, Result, Revise, Rows, Section, Server, Sink,
};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

const ROWS: Section = Section::Public(Artifact::Rows);
const DELTA: Section = Section::Public(Artifact::RowsDelta);

/// A server: the table as it is.
pub(super) struct Table {
    params: P,
    image: Arc<dyn Image>,
}

fn rows<'a>(params: &P, image: &'a dyn Image) -> Result<&'a [u8]> {
    let why = || PeerMisbehaved::Malformed { what: "image", why: "it has no rows".into() };
    let rows = image.section(ROWS).ok_or_else(why)?;
    exact("rows", rows, params.table_bytes() as usize)?;
    Ok(rows)
}

impl Server<Slots> for Table {
    type Session = ();

    fn encode(params: &P, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
        if rows.records() != params.0.records || rows.record_bytes() != params.record_bytes() {
            return Err(Misuse::Rule("records have another shape than the parameters").into());
        }
        out.reserve(ROWS, params.table_bytes())?;
        let mut record = vec![0; params.record_bytes()];
        for index in 0..params.0.records {
            rows.read(index, &mut record)?;
            out.write_at(ROWS, index * params.0.record_bytes, &record)?;
            out.progress("copying records", index + 1, params.0.records);
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
        let record = rows.chunks_exact(self.params.record_bytes()).nth(query.index as usize);
        Ok(Answer(record.unwrap_or_default().to_vec()))
    }
}

impl Revise for Slots {
    /// The delta has, for each record that changed, its index and what was changed in it, bit by bit.
    fn revise(params: &P, changes: &[Change], out: &dyn Sink) -> Result<()> {
        let bytes = params.0.record_bytes;
        let mut before = BTreeMap::new();
        for change in changes {
            let end = change.offset.saturating_add(change.bytes.len() as u64);
            if change.record >= params.0.records || end > bytes {
                return Err(Misuse::IndexPastEnd { index: change.record, len: params.0.records }.into());
            }
            if let Entry::Vacant(unseen) = before.entry(change.record) {
                let mut record = vec![0; params.record_bytes()];
                out.read_at(ROWS, change.record * bytes, &mut record)?;
                unseen.insert(record);
            }
            out.write_at(ROWS, change.record * bytes + change.offset, &change.bytes)?;
        }
        let mut delta = Vec::new();
        for (index, before) in before {
            let mut after = vec![0; params.record_bytes()];
            out.read_at(ROWS, index * bytes, &mut after)?;
            delta.extend(index.to_le_bytes());
            delta.extend(before.iter().zip(&after).map(|(old, new)| old ^ new));
        }
        out.reserve(DELTA, delta.len() as u64)?;
        out.write_at(DELTA, 0, &delta)
    }
}
