//! Both servers: the table as it is. What changed in it is written for each changed record as its index (u64,
//! little-endian), and the exclusive or of what it was and what it is; ascending, each once.

use super::message::{Answer, Order, Query, Supply};
use super::{Helped, P, mask, sum};
use crate::clear::params::{resident, same_shape};
use sotto_core::{Artifact, Change, Image, Misuse, Result, Revise, Rows, Section, Server, Sink, Supplier};
use std::collections::BTreeMap;
use std::sync::Arc;

const ROWS: Section = Section::Resident;
const DELTA: Section = Section::Public(Artifact::RowsDelta);

/// A server.
pub(super) struct Table {
    params: P,
    image: Arc<dyn Image>,
}

impl Table {
    /// All records, and the sum of them.
    fn records(&self) -> Result<(std::slice::ChunksExact<'_, u8>, u64)> {
        let records = resident(&self.params, self.image.as_ref())?.chunks_exact(self.params.record_bytes());
        Ok((records.clone(), records.map(sum).fold(0, |all, one| all ^ one)))
    }
}

impl Server<Helped> for Table {
    type Session = ();

    fn encode(params: &P, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
        same_shape(params, rows)?;
        out.reserve(ROWS, params.table_bytes())?;
        let mut record = vec![0; params.record_bytes()];
        for index in 0..params.records() {
            rows.read(index, &mut record)?;
            out.write_at(ROWS, index * record.len() as u64, &record)?;
        }
        Ok(())
    }

    fn open(params: &P, image: Arc<dyn Image>) -> Result<Self> {
        resident(params, image.as_ref())?;
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
        let (mut records, sum) = self.records()?;
        let mut record = records.nth(query.index as usize).unwrap_or_default().to_vec();
        mask(&mut record, sum);
        Ok(Answer(record))
    }
}

impl Supplier for Helped {
    fn supply(server: &Table, Order(number): Order) -> Result<Supply> {
        let (_, sum) = server.records()?;
        Ok(Supply([number, sum]))
    }
}

impl Revise for Helped {
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
