//! Parameters of the test schemes: the records, and what some kinds have beside them.

use super::SchemeKind;
use serde::{Deserialize, Serialize};
use sotto_core::{
    Artifact, Costs, Params, ParamsDigest, ParamsError, ParamsReport, Result, Security, TableShape,
};
use std::marker::PhantomData;

/// Bytes of keys: eight of mask, and forty of proof.
pub(super) const KEY_BYTES: usize = 48;
/// Bytes of the checksum or sum of a record.
pub(super) const SUM: usize = 8;
/// Bytes of the checksum in front of a unit's bytes.
pub(super) const UNIT_SUM: usize = 8;
/// Lookups of one hint response.
pub(super) const RESPONSE_LOOKUPS: u64 = 3;

/// Parameters as a catalog states them, with the fields that the kind has.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Literal {
    /// Number of records, 1 to 2^32.
    records: u64,
    /// Bytes in a record, 1 to 65536.
    #[serde(skip_serializing_if = "Option::is_none")]
    record_bytes: Option<u64>,
    /// Buckets of equally many records, 1 to 1024.
    #[serde(skip_serializing_if = "Option::is_none")]
    buckets: Option<u64>,
    /// Units in a record, 1 to 65536.
    #[serde(skip_serializing_if = "Option::is_none")]
    units: Option<u64>,
    /// Bytes in a unit, 1 to 65536.
    #[serde(skip_serializing_if = "Option::is_none")]
    unit_bytes: Option<u64>,
    /// Number of queries that a client can make, 1 to 2^32.
    #[serde(skip_serializing_if = "Option::is_none")]
    slots: Option<u64>,
}

/// Checked parameters.
pub(super) struct ClearParams<K> {
    literal: Literal,
    /// Units in a record; 1 where the kind has none.
    units: u64,
    unit_bytes: u64,
    kind: PhantomData<fn() -> K>,
}

impl<K: SchemeKind> ClearParams<K> {
    /// Number of records.
    pub(super) fn records(&self) -> u64 {
        self.literal.records
    }
    /// Buckets of records.
    pub(super) fn buckets(&self) -> u64 {
        self.literal.buckets.unwrap_or(1)
    }
    /// Records in a bucket.
    pub(super) fn bucket_records(&self) -> u64 {
        self.records() / self.buckets()
    }
    /// Bytes in a record.
    pub(super) fn record_bytes(&self) -> usize {
        (self.units * self.unit_bytes) as usize
    }
    /// Bytes of all records.
    pub(super) fn table_bytes(&self) -> u64 {
        self.records().saturating_mul(self.record_bytes() as u64)
    }
    /// Units in a record.
    pub(super) fn units(&self) -> u64 {
        self.units
    }
    /// Bytes in a unit.
    pub(super) fn unit_bytes(&self) -> usize {
        self.unit_bytes as usize
    }
    /// Bytes of a query.
    pub(super) fn query_bytes(&self) -> usize {
        match () {
            () if K::SHARES => self.records().div_ceil(8) as usize,
            () if K::SLOTS => 32,
            () if K::HELPED => 16,
            () if K::BUCKETS => 8 * self.buckets() as usize,
            () => 8,
        }
    }
    /// Bytes of an answer about a unit.
    pub(super) fn unit_answer_bytes(&self) -> usize {
        self.unit_bytes() + if K::UNITS { UNIT_SUM } else { 0 }
    }
    /// Bytes of the answers about all units, for a record of each bucket.
    pub(super) fn answer_bytes(&self) -> usize {
        self.buckets() as usize * self.units as usize * self.unit_answer_bytes()
    }
    /// The offset of a record's part in these answers.
    pub(super) fn answer_at(&self, record: u64) -> usize {
        (record / self.bucket_records()) as usize * self.units as usize * self.unit_answer_bytes()
    }
    /// Bytes of the artifact for each record.
    pub(super) fn artifact_each(&self) -> usize {
        match K::ARTIFACT {
            Some(Artifact::Rows) => self.record_bytes(),
            Some(_) => SUM,
            None => 0,
        }
    }
    /// Bytes of the artifact.
    pub(super) fn artifact_bytes(&self) -> u64 {
        self.records().saturating_mul(self.artifact_each() as u64)
    }
    /// Maximum number of queries of a client after `supplies` hint responses, if it is limited.
    pub(super) fn most_queries(&self, supplies: u64) -> Option<u64> {
        if K::HELPED { Some(supplies.saturating_mul(RESPONSE_LOOKUPS)) } else { self.literal.slots }
    }

    /// Bytes of a client's state, as reported. A large state is one whose deltas are worth
    /// following: that of a client with hints is reported to be as long as the table.
    fn client_bytes(&self) -> u64 {
        let sums = SUM as u64 * self.records();
        match self.literal.slots {
            Some(slots) => 32 + sums + 24 * slots,
            None if K::HELPED => self.table_bytes().max(40),
            None if K::STATE => sums,
            None => 0,
        }
    }
}

impl<K> Clone for ClearParams<K> {
    fn clone(&self) -> Self {
        ClearParams { literal: self.literal.clone(), kind: PhantomData, ..*self }
    }
}

impl<K: SchemeKind> Params for ClearParams<K> {
    type Literal = Literal;

    /// Packs rows below 32 bytes and splits rows above 1024, so that tables in the clear use all
    /// three layouts of rows in records. Records of units are not split: they have four units at
    /// least, and the last one's end is padding. Where there are slots each row has a record, and
    /// there is a slot for each lookup that a client is expected to make, and eight at least.
    fn select(shape: &TableShape) -> Result<Literal> {
        let rows_per_record = if K::SLOTS { 1 } else { (32 / shape.row_bytes.max(1)).max(1) };
        let records_per_row = if K::UNITS { 1 } else { shape.row_bytes.div_ceil(1024).max(1) };
        let whole = shape.row_bytes.saturating_mul(rows_per_record);
        let record_bytes = if records_per_row > 1 { 1024 } else { whole };
        let unit_bytes = whole.div_ceil(4).clamp(1, 1 << 16);
        let buckets = if K::BUCKETS { shape.buckets.max(1) } else { 1 };
        let records = (shape.rows / buckets).div_ceil(rows_per_record).saturating_mul(records_per_row);
        let literal = Literal {
            records: records.saturating_mul(buckets),
            buckets: K::BUCKETS.then_some(buckets),
            record_bytes: (!K::UNITS).then_some(record_bytes),
            units: K::UNITS.then(|| whole.div_ceil(unit_bytes)),
            unit_bytes: K::UNITS.then_some(unit_bytes),
            slots: K::SLOTS.then(|| shape.lookups_per_client.max(8)),
        };
        Self::check(literal.clone()).map_err(|error| ParamsError::NoFit {
            rows: shape.rows,
            row_bytes: shape.row_bytes,
            why: error.to_string(),
        })?;
        Ok(literal)
    }

    fn check(literal: Literal) -> Result<Self> {
        let within = |field, value: Option<u64>, has: bool, most| match value {
            Some(value) if has && (1..=most).contains(&value) => Ok(value),
            Some(value) if has => {
                Err(ParamsError::Field { field, why: format!("must be 1 to {most}, is {value}") })
            }
            Some(_) => Err(ParamsError::Field { field, why: "is for another scheme".into() }),
            None if has => Err(ParamsError::Field { field, why: "is missing".into() }),
            None => Ok(1),
        };
        within("records", Some(literal.records), true, 1 << 32)?;
        let record_bytes = within("record_bytes", literal.record_bytes, !K::UNITS, 1 << 16)?;
        let units = within("units", literal.units, K::UNITS, 1 << 16)?;
        let unit_bytes = within("unit_bytes", literal.unit_bytes, K::UNITS, 1 << 16)?;
        let buckets = within("buckets", literal.buckets, K::BUCKETS, 1 << 10)?;
        if !literal.records.is_multiple_of(buckets) {
            let why = format!("{} records do not divide into {buckets} equal buckets", literal.records);
            return Err(ParamsError::Field { field: "buckets", why }.into());
        }
        within("slots", literal.slots, K::SLOTS, 1 << 32)?;
        // The number that the kind does not have is 1.
        Ok(ClearParams { literal, units, unit_bytes: record_bytes * unit_bytes, kind: PhantomData })
    }

    fn literal(&self) -> &Literal {
        &self.literal
    }

    /// A stand-in reports what it stands in for: servers and clients check reports before they use
    /// a scheme, and these schemes exist for the tests of what follows that check.
    fn report(&self) -> ParamsReport {
        let query_bytes = self.query_bytes() as u64;
        let hint = if K::ARTIFACT == Some(Artifact::Hint) { self.artifact_bytes() } else { 0 };
        let model = match K::SHARES {
            true => "information-theoretic, if the servers do not collude",
            false => "none at all: a test double claims what the gate asks for",
        };
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records: self.records(),
            record_bytes: self.record_bytes() as u64,
            costs: Costs {
                artifact_bytes: self.artifact_bytes(),
                keys_bytes: if K::KEYED { KEY_BYTES as u64 } else { 0 },
                query_bytes,
                answer_bytes: self.answer_bytes() as u64,
                server_ops: if K::SHARES { self.table_bytes() } else { 1 },
                client_ops: if K::SHARES { 2 * query_bytes } else { 1 },
                resident_bytes: self.table_bytes() + hint,
                client_bytes: self.client_bytes(),
                budget: self.literal.slots.unwrap_or(0),
            },
            security: Security { bits: f64::INFINITY, model: model.into(), core_svp: None },
            failure_log2: f64::NEG_INFINITY,
            abort_leakage: None,
            details: Vec::new(),
        }
    }
}
