//! One server, which is told the index masked with a key it was given beforehand; no artifact, and records
//! that consist of several equal units, each with an answer of its own.
//!
//! Keys without an artifact are what the schemes with large keys have: such a client is good for every epoch
//! of one parameter digest.

mod message;

use super::one::{KEY_BYTES, Keys};
use message::{Answer, Query, SUM, UnitAnswer};
use serde::{Deserialize, Serialize};
use sotto_core::wire::exact;
use sotto_core::{
    Caps, Change, Client, Costs, CryptoRng, Image, Misuse, One, Params, ParamsDigest, ParamsError,
    ParamsReport, PeerMisbehaved, Prepare, Record, RecordIndex, Result, Revise, Rows, Scheme, SchemeEntry,
    SchemeId, Section, Security, Server, Sink, Stream, Streamed,
};
use std::sync::Arc;

/// One server, told the index masked with a registered key; records of several units. **No privacy at all.**
pub static CLEAR_STREAM: SchemeEntry = SchemeEntry::of::<Units>();

/// The scheme.
struct Units;

/// What is written into a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitsLiteral {
    /// How many records, 1 to 2^32.
    pub records: u64,
    /// Units in each, 1 to 65536.
    pub units: u64,
    /// Bytes in a unit, 1 to 65536.
    pub unit_bytes: u64,
}

/// Checked parameters.
#[derive(Clone)]
struct P(UnitsLiteral);

impl P {
    fn unit_bytes(&self) -> usize {
        self.0.unit_bytes as usize
    }
    fn record_bytes(&self) -> usize {
        (self.0.units * self.0.unit_bytes) as usize
    }
    fn unit_answer_bytes(&self) -> usize {
        SUM + self.unit_bytes()
    }
    fn table_bytes(&self) -> u64 {
        self.0.records.saturating_mul(self.record_bytes() as u64)
    }
}

fn within(field: &'static str, value: u64, most: u64) -> Result<(), ParamsError> {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    Err(ParamsError::Field { field, why: format!("must be 1 to {most}, is {value}") })
}

impl Params for P {
    type Literal = UnitsLiteral;

    /// Packs rows below 16 bytes. Wider ones have a record each, of at least four units; the last one's end
    /// is padding.
    fn select(shape: &sotto_core::Shape) -> Result<UnitsLiteral> {
        let no_fit = |why: String| ParamsError::NoFit { rows: shape.rows, row_bytes: shape.row_bytes, why };
        let rows_per_record = (32 / shape.row_bytes.max(1)).max(1);
        let wanted = shape.row_bytes.saturating_mul(rows_per_record);
        let unit_bytes = wanted.div_ceil(4).clamp(1, 1 << 16);
        let units = wanted.div_ceil(unit_bytes);
        let literal = UnitsLiteral { records: shape.rows.div_ceil(rows_per_record), units, unit_bytes };
        Self::check(literal.clone()).map_err(|error| no_fit(error.to_string()))?;
        Ok(literal)
    }

    fn check(literal: UnitsLiteral) -> Result<Self> {
        within("records", literal.records, 1 << 32)?;
        within("units", literal.units, 1 << 16)?;
        within("unit_bytes", literal.unit_bytes, 1 << 16)?;
        Ok(P(literal))
    }

    fn literal(&self) -> &UnitsLiteral {
        &self.0
    }

    fn report(&self) -> ParamsReport {
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records: self.0.records,
            record_bytes: self.record_bytes() as u64,
            costs: Costs {
                artifact_bytes: 0,
                keys_bytes: KEY_BYTES as u64,
                query_bytes: 8,
                answer_bytes: self.0.units * self.unit_answer_bytes() as u64,
                server_ops: 1,
                client_ops: 1,
                resident_bytes: self.table_bytes(),
                ..Costs::default()
            },
            security: Security {
                bits: f64::INFINITY,
                model: "none at all: a test double claims what the gate asks for".into(),
            },
            failure_log2: f64::NEG_INFINITY,
            details: Vec::new(),
        }
    }
}

impl Scheme for Units {
    const ID: SchemeId = SchemeId("clear-stream/1");
    const TITLE: &'static str = "No privacy: the index in the clear and records in units, for tests only";
    type Params = P;
    type Fan<T> = One<T>;
    type Keys = Keys;
    type Query = Query;
    type Answer = Answer;
    type Prepare = Ready;
    type Client = Ready;
    type Server = Table;
    const CAPS: Caps<Self> = Caps::NONE.revise().stream();
}

/// A client, which needs nothing but the parameters and its mask.
struct Ready {
    params: P,
    mask: u64,
}

impl Prepare<Units> for Ready {
    fn begin(params: &P, rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Ready { params: params.clone(), mask: rng.next_u64() })
    }

    fn finish(self) -> Result<Ready> {
        Ok(self)
    }
}

impl Client<Units> for Ready {
    type Pending = ();

    fn keys(&self) -> Keys {
        Keys(self.mask)
    }

    fn query(&mut self, index: RecordIndex, _: &mut dyn CryptoRng) -> Result<(One<Query>, ())> {
        let len = self.params.0.records;
        if index.0 >= len {
            return Err(Misuse::IndexPastEnd { index: index.0, len }.into());
        }
        Ok((One(Query((index.0 + self.mask % len) % len)), ()))
    }

    fn recover(&mut self, (): (), One(answer): One<Answer>) -> Result<Record> {
        let mut record = Vec::with_capacity(self.params.record_bytes());
        for (index, unit) in (0..).zip(&answer.0) {
            record.extend(unit.read(index)?);
        }
        Ok(Record::new(record))
    }
}

impl Streamed for Units {
    type UnitAnswer = UnitAnswer;

    fn units(params: &P) -> u64 {
        params.0.units
    }

    fn unit_bytes(params: &P) -> usize {
        params.unit_bytes()
    }

    fn open_unit(_: &mut Ready, (): &(), unit: u64, answer: UnitAnswer) -> Result<Record> {
        Ok(Record::new(answer.read(unit)?.to_vec()))
    }
}

/// A server: the table as it is.
struct Table {
    params: P,
    image: Arc<dyn Image>,
}

impl Table {
    fn index(&self, session: &Keys, query: &Query) -> u64 {
        let records = self.params.0.records;
        (query.0 + records - session.0 % records) % records
    }

    /// The record a query asks for.
    fn record(&self, session: &Keys, query: &Query) -> &[u8] {
        let index = self.index(session, query);
        let table = self.image.section(Section::Resident).unwrap_or_default();
        table.chunks_exact(self.params.record_bytes()).nth(index as usize).unwrap_or_default()
    }
}

impl Server<Units> for Table {
    type Session = Keys;

    /// More than the keys' bytes, as in schemes that expand them.
    fn session_bytes(_: &P) -> usize {
        4 * KEY_BYTES
    }

    fn encode(params: &P, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
        if rows.records() != params.0.records || rows.record_bytes() != params.record_bytes() {
            return Err(Misuse::Rule("records have another shape than the parameters").into());
        }
        out.reserve(Section::Resident, params.table_bytes())?;
        // Unit by unit: a record may be larger than one likes to hold.
        let mut unit = vec![0; params.unit_bytes()];
        for index in 0..params.0.records {
            for at in (0..params.record_bytes() as u64).step_by(unit.len()) {
                rows.read_part(index, at, &mut unit)?;
                out.write_at(Section::Resident, index * params.record_bytes() as u64 + at, &unit)?;
            }
            out.progress("copying records", index + 1, params.0.records);
        }
        Ok(())
    }

    fn open(params: &P, image: Arc<dyn Image>) -> Result<Self> {
        let table = image.section(Section::Resident).ok_or_else(|| PeerMisbehaved::Malformed {
            what: "image",
            why: "it has no resident section".into(),
        })?;
        exact("resident section", table, params.table_bytes() as usize)?;
        Ok(Table { params: params.clone(), image })
    }

    fn admit(&self, keys: Keys) -> Result<Keys> {
        Ok(keys)
    }

    fn answer_many(&self, asks: Vec<(&Keys, Query)>) -> Vec<Result<Answer>> {
        asks.into_iter().map(|(session, query)| self.one(session, query)).collect()
    }
}

impl Table {
    fn one(&self, session: &Keys, query: Query) -> Result<Answer> {
        let units = self.record(session, &query).chunks_exact(self.params.unit_bytes());
        Ok(Answer((0..).zip(units).map(|(index, unit)| UnitAnswer::of(index, unit)).collect()))
    }
}

impl Stream for Units {
    /// Where the record starts.
    type Prepared = u64;

    fn prepare(server: &Table, session: &Keys, query: Query) -> Result<u64> {
        Ok(server.index(session, &query) * server.params.record_bytes() as u64)
    }

    fn unit(server: &Table, start: &u64, unit: u64) -> Result<UnitAnswer> {
        let bytes = server.params.unit_bytes();
        let at = usize::try_from(start + unit * bytes as u64).unwrap_or(usize::MAX);
        let table = server.image.section(Section::Resident).unwrap_or_default();
        let found = table.get(at..at.saturating_add(bytes));
        Ok(UnitAnswer::of(unit, found.ok_or(Misuse::Rule("a prepared query is of this table"))?))
    }
}

impl Revise for Units {
    fn revise(params: &P, changes: &[Change], out: &dyn Sink) -> Result<()> {
        let bytes = params.record_bytes() as u64;
        for change in changes {
            let end = change.offset.saturating_add(change.bytes.len() as u64);
            if change.record >= params.0.records || end > bytes {
                return Err(Misuse::IndexPastEnd { index: change.record, len: params.0.records }.into());
            }
            out.write_at(Section::Resident, change.record * bytes + change.offset, &change.bytes)?;
        }
        Ok(())
    }
}
