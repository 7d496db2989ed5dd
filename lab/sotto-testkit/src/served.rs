//! A table in memory with its server, as a scheme's own types: for tests that look inside a scheme.

use crate::memory::{MemoryImage, MemoryRows, MemorySink};
use crate::rng::seeded;
use rand_core::Rng;
use sotto_core::server::LiteralOf;
use sotto_core::{
    Artifact, Client as _, CryptoRng, Error, Goal, OneServer, Params, ParamsError, PeerMisbehaved, PendingOf,
    PerServer, Prepare as _, RecordChange, RecordIndex, Result, Scheme, Server as _, TableShape, UpdateImage,
    Wire,
};
use std::sync::Arc;

/// A table in memory with its server.
pub struct InProcessServer<S: Scheme> {
    /// The parameters of the table.
    pub params: S::Params,
    /// The rows, one after the other.
    pub rows: Vec<u8>,
    /// The encoded image.
    pub image: MemoryImage,
    /// The server.
    pub server: S::Server,
    row_bytes: usize,
}

impl<S: Scheme> InProcessServer<S> {
    /// A table of random rows.
    pub fn new(params: S::Params) -> Self {
        let report = params.report();
        let mut rows = vec![0; (report.records * report.record_bytes) as usize];
        seeded(&format!("{} rows of {} bytes", report.records, report.record_bytes)).fill_bytes(&mut rows);
        InProcessServer::of(params, rows)
    }

    /// A server of these rows, whose parameters are checked first.
    pub fn checked(literal: <S::Params as Params>::Literal, rows: Vec<u8>) -> Self {
        InProcessServer::of(S::Params::check(literal).unwrap(), rows)
    }

    /// A server of these rows.
    pub fn of(params: S::Params, rows: Vec<u8>) -> Self {
        let sink = MemorySink::new();
        let row_bytes = params.report().record_bytes as usize;
        S::Server::encode(&params, &MemoryRows::new(row_bytes, rows.clone()), &sink).unwrap();
        InProcessServer::opened(params, rows, sink.into_image())
    }

    /// A server of an existing image.
    pub fn opened(params: S::Params, rows: Vec<u8>, image: MemoryImage) -> Self {
        let row_bytes = params.report().record_bytes as usize;
        let server = S::Server::open(&params, Arc::new(image.clone())).unwrap();
        InProcessServer { params, rows, image, server, row_bytes }
    }

    /// The bytes of a row.
    pub fn row(&self, index: u64) -> &[u8] {
        &self.rows[index as usize * self.row_bytes..][..self.row_bytes]
    }

    /// A client that absorbed its artifacts in pieces.
    pub fn client(&self, label: &str) -> S::Client {
        let mut prepare = S::Prepare::begin(&self.params, &mut seeded(label)).unwrap();
        for need in prepare.needs() {
            let bytes = self.image.artifact(need.artifact).unwrap();
            bytes.chunks(1001).for_each(|chunk| prepare.absorb(need.artifact, chunk).unwrap());
        }
        prepare.finish().unwrap()
    }

    /// A query as it travels to each server, with the client's pending secret.
    pub fn query(
        &self,
        client: &mut S::Client,
        index: u64,
        rng: &mut dyn CryptoRng,
    ) -> (Vec<Vec<u8>>, PendingOf<S>) {
        let (queries, pending) = client.query(RecordIndex(index), rng).unwrap();
        let bytes = |query: &S::Query| {
            let mut bytes = Vec::new();
            query.put(&self.params, &mut bytes);
            bytes
        };
        let sent: Vec<_> = queries.into_vec().iter().map(bytes).collect();
        for request in &sent {
            let again = bytes(&S::Query::take(&self.params, request).unwrap());
            assert!(
                again == *request && again.len() == S::Query::size(&self.params),
                "a request that is not canonical"
            );
        }
        (sent, pending)
    }

    /// The answers to a query.
    pub fn answer(&self, client: &S::Client, requests: &[Vec<u8>]) -> S::Fan<S::Answer> {
        let session = self.server.admit(client.keys()).unwrap();
        let query = |request: &Vec<u8>| S::Query::take(&self.params, request).unwrap();
        let answers = requests.iter().map(|request| self.server.answer(&session, query(request)).unwrap());
        S::Fan::from_vec(answers.collect()).unwrap()
    }

    /// Reads the answers to a query and checks the row, if there is one.
    ///
    /// # Errors
    /// The errors of the client.
    pub fn read(
        &self,
        client: &mut S::Client,
        index: u64,
        (requests, pending): (Vec<Vec<u8>>, PendingOf<S>),
    ) -> Result<()> {
        let answers = self.answer(client, &requests);
        let record = client.recover(pending, answers)?;
        assert!(record.bytes() == self.row(index), "row {index} came back changed");
        Ok(())
    }

    /// Looks a row up.
    ///
    /// # Errors
    /// The errors of the client.
    pub fn fetch(&self, client: &mut S::Client, index: u64, rng: &mut dyn CryptoRng) -> Result<()> {
        let sent = self.query(client, index, rng);
        self.read(client, index, sent)
    }

    /// Looks a row up at one server: bytes of the query, the answer, and the recovered row.
    pub fn lookup(&self, client: &mut S::Client, index: u64, label: &str) -> (Vec<u8>, S::Answer, Vec<u8>)
    where
        S: Scheme<Fan<<S as Scheme>::Answer> = OneServer<<S as Scheme>::Answer>>,
        S::Answer: Clone,
    {
        let (requests, pending) = self.query(client, index, &mut seeded(label));
        let OneServer(answer) = self.answer(client, &requests);
        let record = client.recover(pending, OneServer(answer.clone())).unwrap();
        (requests.concat(), answer, record.bytes().to_vec())
    }

    /// Looks up the first row, the last one and one between, with one client.
    pub fn come_back(&self, label: &str) {
        let (mut client, rows) = (self.client("prepare"), (self.rows.len() / self.row_bytes) as u64);
        for index in [0, rows / 2, rows - 1] {
            let rng = &mut seeded(&format!("{label} {index}"));
            self.fetch(&mut client, index, rng).unwrap_or_else(|error| panic!("{label} {index}: {error}"));
        }
    }

    /// The next epoch, with these rows changed, and its delta.
    pub fn update_image(&self, rows: &[u64], rng: &mut dyn CryptoRng) -> (Self, Vec<u8>)
    where
        S: UpdateImage,
    {
        let mut next = self.rows.clone();
        let mut changes = Vec::new();
        for row in rows {
            let mut bytes = vec![0; self.row_bytes];
            rng.fill_bytes(&mut bytes);
            next[*row as usize * bytes.len()..][..bytes.len()].copy_from_slice(&bytes);
            changes.push(RecordChange { record: *row, offset: 0, bytes });
        }
        let sink = MemorySink::holding(self.image.clone());
        S::update_image(&self.params, &changes, &sink).unwrap();
        let delta = sink.into_image().artifact(Artifact::RowsDelta).unwrap().to_vec();
        (InProcessServer::of(self.params.clone(), next), delta)
    }
}

/// Selects parameters for tables of many shapes, up to `max_rows` rows of up to `max_row_bytes` bytes, with every goal and for
/// requests of several lookups. What is selected passes the check and keeps the promise for a whole request; what is not is
/// refused, tables without rows or bytes and those past all limits among them.
pub fn selects<S: Scheme>(max_rows: u64, max_row_bytes: u64) {
    let select = |shape: &TableShape| <S::Params as Params>::select(shape);
    for (rows, row_bytes) in [(0, 1), (1, 0), (u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX)] {
        let refused = select(&TableShape::new(rows, row_bytes, u64::MAX));
        assert!(matches!(refused.err(), Some(Error::Params(_))), "{rows} rows of {row_bytes} bytes");
    }
    let rng = &mut seeded("shapes");
    // Numbers of all orders of magnitude.
    let mut below = |max: u64| 1 + rng.next_u64() % (2 << (rng.next_u64() % u64::from(max.ilog2())));
    for (case, goal) in Goal::ALL.into_iter().cycle().take(24).enumerate() {
        let (rows, row_bytes, lookups_per_client) = (below(max_rows), below(max_row_bytes), below(1 << 20));
        let lookups_per_request = if case < 4 { 1 } else { below(1000) };
        let shape =
            TableShape { goal, lookups_per_request, ..TableShape::new(rows, row_bytes, lookups_per_client) };
        if let Ok(literal) = select(&shape) {
            let report = S::Params::check(literal).unwrap().report();
            let records = row_bytes.div_ceil(report.record_bytes) as f64;
            assert!(report.failure_log2 + records.log2() <= shape.required_failure_log2(), "{shape:?}");
        }
    }
}

/// Checks that a literal is good, that lookups with each of some others fail too often, and that each of the last is refused for
/// the field that is named.
pub fn refuses<S: Scheme>(
    good: LiteralOf<S>,
    unreliable: impl IntoIterator<Item = LiteralOf<S>>,
    fields: impl IntoIterator<Item = (&'static str, LiteralOf<S>)>,
) {
    let refused = |literal| match S::Params::check(literal) {
        Err(Error::Params(error)) => error,
        other => panic!("{:?}", other.map(|_| "good parameters")),
    };
    assert!(S::Params::check(good).is_ok());
    for (i, literal) in unreliable.into_iter().enumerate() {
        let error = refused(literal);
        let above = |log2: f64, required| log2 > f64::from(required);
        let too_often = matches!(error, ParamsError::Unreliable { log2, required } if above(log2, required));
        assert!(too_often, "number {i}: {error:?}");
    }
    for (name, literal) in fields {
        match refused(literal) {
            ParamsError::Field { field, .. } => assert_eq!(field, name),
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// A message with other bits from one on: `bits` bits of a word.
pub fn with_word(message: &[u8], at: usize, bits: usize, word: u128) -> Vec<u8> {
    let mut message = message.to_vec();
    for i in 0..bits {
        let (byte, bit) = ((at + i) / 8, (at + i) % 8);
        message[byte] = message[byte] & !(1 << bit) | ((word >> i & 1) as u8) << bit;
    }
    message
}

/// Whether a message is refused, as one that no sender encodes.
pub fn is_not_canonical<T: Wire<P>, P>(params: &P, message: &[u8]) -> bool {
    matches!(T::take(params, message), Err(Error::Peer(PeerMisbehaved::NotCanonical(_))))
}
