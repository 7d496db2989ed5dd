//! The scheme under test, tables encoded once for all checks that use them, and a client that
//! requests its hints as soon as they are due.

use crate::memory::{MemoryImage, MemoryRows, MemorySink};
use crate::rng::seeded;
use rand_core::Rng;
use sotto_catalog::Packing;
use sotto_core::{
    AnyBatch, AnyClient, AnyHintClient, AnyPending, AnyServer, AnySession, AnyState, AnyStreamClient, AnySum,
    Budget, CryptoRng, ParamsReport, Record, RecordChange, RecordIndex, Result, SchemeEntry, TableShape,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

/// The content of a table's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fill {
    /// Bytes that look random, the same on every run.
    Random,
    /// One byte value throughout. 0x80 is the most negative centered byte, and so the worst for
    /// noise.
    Byte(u8),
}

/// A table to test with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    /// Number of rows.
    pub rows: u64,
    /// Bytes of a row.
    pub row_bytes: u64,
    /// Content of the rows.
    pub fill: Fill,
}

/// A table of rows that most schemes pack several to a record.
pub const NARROW: Case = Case { rows: 100, row_bytes: 7, fill: Fill::Random };
/// A table of rows that most schemes neither pack nor split, and one row more than a power of two.
pub const MIDDLE: Case = Case { rows: 129, row_bytes: 32, fill: Fill::Random };
/// A table of rows that some schemes split.
pub const WIDE: Case = Case { rows: 3, row_bytes: 4096, fill: Fill::Random };

/// Number of records of a row from which on not all are looked up.
const MANY: usize = 16;

/// A scheme under test.
pub struct Subject {
    /// The entry of the scheme.
    pub entry: &'static SchemeEntry,
    /// Whether the scheme promises privacy.
    pub private: bool,
    /// Whether the whole contract of durable state is checked.
    pub states: bool,
    tables: Mutex<BTreeMap<Case, Arc<OnceLock<Arc<Table>>>>>,
}

impl Subject {
    /// A scheme that promises privacy.
    pub const fn private(entry: &'static SchemeEntry) -> Self {
        Subject::new(entry, true, entry.state.is_some())
    }

    /// A scheme that promises privacy, and whose states only exist to test the layers above:
    /// features that those do not need, such as several steps in one entry of a journal, are not
    /// checked.
    pub const fn but_for_states(entry: &'static SchemeEntry) -> Self {
        Subject::new(entry, true, false)
    }

    /// A scheme without privacy.
    pub const fn in_the_clear(entry: &'static SchemeEntry) -> Self {
        Subject::new(entry, false, false)
    }

    const fn new(entry: &'static SchemeEntry, private: bool, states: bool) -> Self {
        Subject { entry, private, states, tables: Mutex::new(BTreeMap::new()) }
    }

    /// A table that is encoded once and cached.
    pub fn table(&self, case: Case) -> Arc<Table> {
        let slot = self.tables.lock().expect("no check panics in here").entry(case).or_default().clone();
        slot.get_or_init(|| Arc::new(Table::encode(self.entry, case))).clone()
    }

    /// A table that is encoded now and not cached.
    pub fn fresh_table(&self, case: Case) -> Table {
        Table::encode(self.entry, case)
    }
}

/// An encoded table, being served.
pub struct Table {
    /// The scheme.
    pub entry: &'static SchemeEntry,
    /// The table's shape and content.
    pub case: Case,
    /// All rows, one after the other.
    pub rows: Vec<u8>,
    /// The literal parameters as JSON.
    pub params: Vec<u8>,
    /// The scheme's report on the parameters.
    pub report: ParamsReport,
    /// The layout of rows in records.
    pub packing: Packing,
    /// The records.
    pub records: MemoryRows,
    /// The encoded records.
    pub image: MemoryImage,
    /// Number of bytes that the encoder wrote, including those that it overwrote.
    pub written_bytes: u64,
    /// A server of the image; where there are two servers, both.
    pub server: Box<dyn AnyServer>,
}

impl Table {
    fn encode(entry: &'static SchemeEntry, case: Case) -> Self {
        Table::encode_set(entry, case, None)
    }

    /// A table with one of the scheme's named parameter sets, or with the default one.
    pub fn encode_set(entry: &'static SchemeEntry, case: Case, set: Option<&str>) -> Self {
        let set = set.map(str::to_owned);
        Table::encode_shape(
            entry,
            case,
            &TableShape { set, ..TableShape::new(case.rows, case.row_bytes, 100) },
        )
    }

    /// A table of `buckets` buckets of `case.rows` rows each, and of further rows that fit its
    /// records.
    pub fn encode_buckets(entry: &'static SchemeEntry, case: Case, buckets: u64) -> Self {
        let rows = case.rows * buckets;
        let shape = TableShape { buckets, ..TableShape::new(rows, case.row_bytes, 100) };
        let report = (entry.select)(&shape).and_then(|params| (entry.report)(&params)).expect("it fits");
        let packing = Packing::new(rows, case.row_bytes, report.records, report.record_bytes);
        let rows = packing.expect("rows fit into the records of selected parameters").capacity();
        Table::encode_shape(entry, Case { rows, ..case }, &shape)
    }

    pub(super) fn encode_shape(entry: &'static SchemeEntry, case: Case, shape: &TableShape) -> Self {
        let params = (entry.select)(shape).expect("small tables fit");
        let report = (entry.report)(&params).expect("selected parameters are good ones");
        let packing = Packing::new(case.rows, case.row_bytes, report.records, report.record_bytes)
            .expect("rows fit into the records of selected parameters");
        let mut rows = vec![0; (case.rows * case.row_bytes) as usize];
        match case.fill {
            Fill::Random => seeded(&format!("{case:?}")).fill_bytes(&mut rows),
            Fill::Byte(byte) => rows.fill(byte),
        }
        let mut records = MemoryRows::new(
            report.record_bytes as usize,
            vec![0; (report.records * report.record_bytes) as usize],
        );
        for (row, bytes) in (0..).zip(rows.chunks_exact(case.row_bytes as usize)) {
            for change in changes(&packing, row, bytes) {
                let start = (change.record * report.record_bytes + change.offset) as usize;
                records.bytes_mut()[start..start + change.bytes.len()].copy_from_slice(&change.bytes);
            }
        }
        let sink = MemorySink::new();
        (entry.server.encode)(&params, &records, &sink).expect("encoding in memory");
        let written_bytes = sink.written();
        let image = sink.into_image();
        let server = (entry.server.open)(&params, Arc::new(image.clone())).expect("a fresh image opens");
        Table { entry, case, rows, params, report, packing, records, image, written_bytes, server }
    }

    /// The bytes of a row, from the plain table.
    pub fn row(&self, row: u64) -> &[u8] {
        let width = self.case.row_bytes as usize;
        &self.rows[row as usize * width..][..width]
    }

    /// The bytes of a record, from the plain table.
    pub fn record(&self, record: u64) -> &[u8] {
        let width = self.report.record_bytes as usize;
        &self.records.bytes()[record as usize * width..][..width]
    }

    /// A handful of rows: both ends, their neighbors, and some between.
    pub fn some_rows(&self) -> Vec<u64> {
        some(self.case.rows)
    }

    /// A handful of records.
    pub fn some_records(&self) -> Vec<u64> {
        some(self.report.records)
    }

    /// A prepared client.
    pub fn client(&self, rng: &mut dyn CryptoRng) -> Box<dyn AnyClient> {
        self.client_of(&self.image, rng).expect("a fresh image prepares a client")
    }

    /// A client prepared from another image of the same parameters; where a server makes hints,
    /// with all that it can request now, and later with those that its queries make it request.
    ///
    /// # Errors
    /// The errors of the scheme.
    pub fn client_of(&self, image: &MemoryImage, rng: &mut dyn CryptoRng) -> Result<Box<dyn AnyClient>> {
        RefilledClient::of(self.entry, &self.params, image, self.unstocked(image, rng)?)
    }

    /// A client prepared from an image, which has requested no hints.
    ///
    /// # Errors
    /// The errors of the scheme.
    pub fn unstocked(&self, image: &MemoryImage, rng: &mut dyn CryptoRng) -> Result<Box<dyn AnyClient>> {
        let mut prepare = (self.entry.prepare)(&self.params, rng)?;
        for need in prepare.needs() {
            let bytes = image.artifact(need.artifact).expect("the image has every artifact that is needed");
            // The length divides nothing, so that values straddle chunks.
            for chunk in bytes.chunks(4099) {
                prepare.absorb(need.artifact, chunk)?;
            }
        }
        prepare.finish()
    }

    /// The session of a client's keys.
    pub fn session(&self, client: &dyn AnyClient) -> AnySession {
        self.server.admit(&client.keys()).expect("a client's own keys are admitted")
    }

    /// Answers one query per server.
    ///
    /// # Errors
    /// The first error of a server.
    pub fn answer(&self, session: &AnySession, queries: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
        queries.iter().map(|query| single(self.server.as_ref(), session, query)).collect()
    }

    /// The second record, or the only one.
    pub fn some_record(&self) -> u64 {
        1.min(self.report.records - 1)
    }

    /// A query for a record, and its answers.
    pub fn query(
        &self,
        client: &mut dyn AnyClient,
        record: u64,
        rng: &mut dyn CryptoRng,
    ) -> (AnyPending, Vec<Vec<u8>>) {
        let session = self.session(client);
        let (queries, pending) = client.query(RecordIndex(record), rng).expect("a query within bounds");
        (pending, self.answer(&session, &queries).expect("a client's own query is answered"))
    }

    /// Looks a record up.
    ///
    /// # Errors
    /// The errors of `recover`.
    pub fn fetch(&self, client: &mut dyn AnyClient, record: u64, rng: &mut dyn CryptoRng) -> Result<Record> {
        let (pending, answers) = self.query(client, record, rng);
        client.recover(pending, &answers)
    }

    /// Looks a row up and compares it with the plain table; if it spans very many records, only
    /// some of them.
    pub fn check_row(&self, client: &mut dyn AnyClient, row: u64, rng: &mut dyn CryptoRng) {
        let records = self.packing.records_of(row);
        if records.len() > MANY {
            for record in some(records.len() as u64).into_iter().map(|i| records[i as usize].0) {
                let got = self.fetch(client, record, rng).expect("an honest answer is read");
                assert!(
                    got.bytes() == self.record(record),
                    "record {record} of {:?} came back changed",
                    self.case
                );
            }
            return;
        }
        let records: Vec<Record> = records
            .into_iter()
            .map(|record| self.fetch(client, record.0, rng).expect("an honest answer is read"))
            .collect();
        let got = self.packing.extract(row, &records).expect("the records of the row");
        assert!(got == self.row(row), "row {row} of {:?} came back changed", self.case);
    }
}

/// The answer to one query.
///
/// # Errors
/// The errors of the server.
pub fn single(server: &dyn AnyServer, session: &AnySession, query: &[u8]) -> Result<Vec<u8>> {
    let mut answers = server.answer_many(&[(session, query)]);
    assert_eq!(answers.len(), 1, "one query has one result");
    answers.remove(0)
}

/// The changes of records that give a row other bytes.
pub fn changes(packing: &Packing, row: u64, bytes: &[u8]) -> Vec<RecordChange> {
    let places = packing.places(row).expect("a row within bounds");
    let change = |place: sotto_catalog::RecordSpan| RecordChange {
        record: place.record,
        offset: place.offset,
        bytes: bytes[place.bytes].to_vec(),
    };
    places.into_iter().map(change).collect()
}

fn some(len: u64) -> Vec<u64> {
    let mut some = vec![0, 1, len / 3, len / 2, len.saturating_sub(2), len - 1];
    some.retain(|index| *index < len);
    some.sort_unstable();
    some.dedup();
    some
}

/// A client with a server that makes its hints. Hints that are due are requested at once.
struct RefilledClient {
    client: Box<dyn AnyClient>,
    helper: Box<dyn AnyServer>,
}

impl RefilledClient {
    /// A client of a scheme, with all hints that are due at first; unchanged if its scheme has no
    /// hint server.
    fn of(
        entry: &SchemeEntry,
        params: &[u8],
        image: &MemoryImage,
        client: Box<dyn AnyClient>,
    ) -> Result<Box<dyn AnyClient>> {
        if entry.hint_server.is_none() {
            return Ok(client);
        }
        let helper = (entry.server.open)(params, Arc::new(image.clone()))?;
        let mut refilled = RefilledClient { client, helper };
        refilled.refill()?;
        Ok(Box::new(refilled))
    }

    fn refill(&mut self) -> Result<()> {
        refill_hints(self.client.as_mut(), self.helper.as_ref())
    }
}

impl AnyClient for RefilledClient {
    fn keys(&self) -> Vec<u8> {
        self.client.keys()
    }
    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(Vec<Vec<u8>>, AnyPending)> {
        let queries = self.client.query(index, rng)?;
        self.refill()?;
        Ok(queries)
    }
    fn recover(&mut self, pending: AnyPending, answers: &[Vec<u8>]) -> Result<Record> {
        self.client.recover(pending, answers)
    }
    fn budget(&self) -> Budget {
        self.client.budget()
    }
    fn units(&mut self) -> Option<&mut dyn AnyStreamClient> {
        self.client.units()
    }
    fn batch(&mut self) -> Option<&mut dyn AnyBatch> {
        self.client.batch()
    }
    fn sum(&mut self) -> Option<&mut dyn AnySum> {
        self.client.sum()
    }
    fn state(&mut self) -> Option<&mut dyn AnyState> {
        self.client.state()
    }
    fn hint_client(&mut self) -> Option<&mut dyn AnyHintClient> {
        self.client.hint_client()
    }
}

/// Has all hints made that a client can request, where a server makes them.
///
/// # Errors
/// The errors of the scheme.
pub fn refill_hints(client: &mut dyn AnyClient, server: &dyn AnyServer) -> Result<()> {
    let (Some(hint_client), Some(hint_server)) = (client.hint_client(), server.hint_server()) else {
        return Ok(());
    };
    while let Some(request) = hint_client.next_hint_request()? {
        hint_client.apply_hint_response(&hint_server.answer_hint_request(&request)?)?;
    }
    Ok(())
}
