//! The unencoded table, and changes of it. A delta of rows has for each changed record its index
//! (u64, little-endian), and the exclusive or of its old and new bytes; ascending, each once.

use super::message::{Answer, Keys, Query, UnitAnswer, add, fold, index_at, seal, sum};
use super::params::{ClearParams, SUM};
use super::{Clear, SchemeKind};
use sotto_core::{
    Artifact, Image, ImageSection, Misuse, RecordChange, RecordSource, Result, Section, SectionRecords,
    Server, Sink, StreamServer, UpdateImage, Wire,
};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

const HINT: Section = Section::Public(Artifact::Hint);

/// A server of a table.
pub(super) struct Table<K: SchemeKind> {
    params: ClearParams<K>,
    table: ImageSection,
}

impl<K: SchemeKind> Table<K> {
    fn records(&self) -> std::slice::ChunksExact<'_, u8> {
        self.table.bytes().chunks_exact(self.params.record_bytes())
    }

    /// The sum of all records' words.
    pub(super) fn sum(&self) -> u64 {
        self.records().map(fold).fold(0, |all, one| all ^ one)
    }

    fn index(&self, session: &Keys<K>, query: &Query) -> u64 {
        let records = self.params.records();
        (query.word(index_at::<K>()) + records - session.mask % records) % records
    }

    /// The record that a query requests, or the sum of those that it selects.
    fn record(&self, session: &Keys<K>, query: &Query) -> Vec<u8> {
        if K::BUCKETS {
            let each = self.params.bucket_records() as usize;
            let starts = (0..self.params.buckets() as usize).map(|bucket| bucket * each);
            let places = starts.enumerate().map(|(bucket, start)| start + query.word(bucket) as usize);
            return places.flat_map(|place| self.records().nth(place).unwrap_or_default().to_vec()).collect();
        }
        if !K::SHARES {
            return self.records().nth(self.index(session, query) as usize).unwrap_or_default().to_vec();
        }
        let mut sum = vec![0; self.params.record_bytes()];
        for (index, record) in self.records().enumerate() {
            let bit = query.bytes.get(index / 8).map_or(0, |byte| byte >> (index % 8) & 1);
            let mask = 0u8.wrapping_sub(bit);
            add(&mut sum, record.iter().map(|byte| byte & mask));
        }
        sum
    }

    fn one(&self, session: &Keys<K>, query: &Query) -> Answer {
        let mut record = self.record(session, query);
        if K::HELPED {
            add(&mut record, self.sum().to_le_bytes());
        }
        let units = (0..).zip(record.chunks_exact(self.params.unit_bytes()));
        Answer::new(units.flat_map(|(unit, bytes)| seal::<K>(unit, bytes)).collect())
    }
}

impl<K: SchemeKind> Server<Clear<K>> for Table<K> {
    type Session = Keys<K>;

    /// More than the keys' bytes for the kind with units, as in schemes that expand them.
    fn session_bytes(params: &ClearParams<K>) -> usize {
        Keys::<K>::size(params) * if K::UNITS { 4 } else { 1 }
    }

    fn encode(params: &ClearParams<K>, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        let (records, width) = (params.records(), params.record_bytes());
        if rows.records() != records || rows.record_bytes() != width {
            return Err(Misuse::Rule("records have another shape than the parameters").into());
        }
        out.reserve(K::RECORDS, params.table_bytes())?;
        if K::ARTIFACT == Some(Artifact::Hint) {
            out.reserve(HINT, params.artifact_bytes())?;
        }
        // The record is read unit by unit, since it may be large.
        let mut unit = vec![0; params.unit_bytes()];
        for index in 0..records {
            for at in (0..width as u64).step_by(unit.len()) {
                match K::UNITS {
                    true => rows.read_part(index, at, &mut unit)?,
                    false => rows.read(index, &mut unit)?,
                }
                out.write_at(K::RECORDS, index * width as u64 + at, &unit)?;
            }
            if K::ARTIFACT == Some(Artifact::Hint) {
                out.write_at(HINT, index * SUM as u64, &sum::<K>(&unit).to_le_bytes())?;
            }
            out.progress("copying records", index + 1, records);
        }
        Ok(())
    }

    fn open(params: &ClearParams<K>, image: Arc<dyn Image>) -> Result<Self> {
        let table = ImageSection::open(image, K::RECORDS, "records", params.table_bytes())?;
        Ok(Table { params: params.clone(), table })
    }

    fn records(params: &ClearParams<K>, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        let held = ImageSection::open(image, K::RECORDS, "records", params.table_bytes())?;
        let (records, record_bytes) = (params.records(), params.record_bytes());
        let read = move |table: &[u8], record: u64, offset: usize, out: &mut [u8]| {
            let start = record as usize * record_bytes + offset;
            out.copy_from_slice(table.get(start..)?.get(..out.len())?);
            Some(())
        };
        Ok(Box::new(SectionRecords { held, records, record_bytes, read }))
    }

    fn admit(&self, keys: Keys<K>) -> Result<Keys<K>> {
        Ok(keys)
    }

    fn answer_many(&self, queries: Vec<(&Keys<K>, Query)>) -> Vec<Result<Answer>> {
        queries.into_iter().map(|(session, query)| Ok(self.one(session, &query))).collect()
    }
}

impl<K: SchemeKind> StreamServer for Clear<K> {
    /// The offset of the record.
    type Prepared = u64;

    fn prepare(server: &Table<K>, session: &Keys<K>, query: Query) -> Result<u64> {
        Ok(server.index(session, &query) * server.params.record_bytes() as u64)
    }

    fn unit(server: &Table<K>, start: &u64, unit: u64) -> Result<UnitAnswer> {
        let bytes = server.params.unit_bytes();
        let at = usize::try_from(start + unit * bytes as u64).unwrap_or(usize::MAX);
        let found = server.table.bytes().get(at..at.saturating_add(bytes));
        let found = found.ok_or(Misuse::Rule("a prepared query is of this table"))?;
        Ok(UnitAnswer::new(seal::<K>(unit, found)))
    }
}

impl<K: SchemeKind> UpdateImage for Clear<K> {
    fn update_image(params: &ClearParams<K>, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        let (records, width) = (params.records(), params.record_bytes());
        let record_at = |index: u64| {
            let mut record = vec![0; width];
            out.read_at(K::RECORDS, index * width as u64, &mut record).map(|()| record)
        };
        let mut before = BTreeMap::new();
        for change in changes {
            let end = change.offset.saturating_add(change.bytes.len() as u64);
            if change.record >= records || end > width as u64 {
                return Err(Misuse::IndexPastEnd { index: change.record, len: records }.into());
            }
            if let Entry::Vacant(unseen) = before.entry(change.record) {
                unseen.insert(record_at(change.record)?);
            }
            out.write_at(K::RECORDS, change.record * width as u64 + change.offset, &change.bytes)?;
        }
        let Some(artifact) = K::DELTA else { return Ok(()) };
        let mut delta = Vec::new();
        for (index, mut old) in before {
            let new = record_at(index)?;
            delta.extend(index.to_le_bytes());
            if artifact == Artifact::HintDelta {
                let sum = sum::<K>(&new).to_le_bytes();
                out.write_at(HINT, index * SUM as u64, &sum)?;
                delta.extend(sum);
            } else {
                add(&mut old, new);
                delta.extend(old);
            }
        }
        out.reserve(Section::Public(artifact), delta.len() as u64)?;
        out.write_at(Section::Public(artifact), 0, &delta)
    }
}
