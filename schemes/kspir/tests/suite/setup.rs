//! A table through its typed interface, for tests that look inside messages.

use kspir::KsPir;
use kspir::client::{Client, Prepare};
use kspir::message::Answer;
use kspir::params::{Literal, Params};
use kspir::ring::SET;
use kspir::server::Server;
use sotto_core::{Client as _, One, Params as _, Prepare as _, RecordIndex, Server as _, Wire};
use sotto_testkit::memory::{MemoryImage, MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::sync::Arc;

/// A literal of so many records and pages, columns, blocks and baby steps.
pub(crate) fn literal(records: u64, [pages, columns, blocks, babies]: [u32; 4]) -> Literal {
    Literal { set: SET.into(), records, pages, columns, blocks, babies, answer_bits: [26, 19] }
}

pub(crate) struct Table {
    pub(crate) params: Params,
    pub(crate) records: Vec<u8>,
    pub(crate) image: MemoryImage,
    pub(crate) server: Server,
}

impl Table {
    /// A table of bytes that any language can make.
    pub(crate) fn new(literal: Literal) -> Self {
        let count = literal.records as usize * literal.grid().unwrap().record_bytes();
        Self::of(literal, bytes(count))
    }

    pub(crate) fn of(literal: Literal, records: Vec<u8>) -> Self {
        let params = Params::check(literal).unwrap();
        let sink = MemorySink::new();
        let rows = MemoryRows::new(params.grid.record_bytes(), records.clone());
        <Server as sotto_core::Server<KsPir>>::encode(&params, &rows, &sink).unwrap();
        let image = sink.into_image();
        let server = Server::open(&params, Arc::new(image.clone())).unwrap();
        Table { params, records, image, server }
    }

    pub(crate) fn client(&self, label: &str) -> Client {
        Prepare::begin(&self.params, &mut seeded(label)).unwrap().finish().unwrap()
    }

    /// Bytes of a query, the answer, and the record that comes of it.
    pub(crate) fn lookup(&self, client: &mut Client, index: u64, label: &str) -> (Vec<u8>, Answer, Vec<u8>) {
        let (One(query), pending) = client.query(RecordIndex(index), &mut seeded(label)).unwrap();
        let mut asked = Vec::new();
        query.put(&self.params, &mut asked);
        let session = self.server.admit(client.keys()).unwrap();
        let answer = self.server.answer(&session, query).unwrap();
        let record = client.recover(pending, One(answer.clone())).unwrap();
        (asked, answer, record.bytes().to_vec())
    }

    pub(crate) fn record(&self, index: u64) -> &[u8] {
        let each = self.params.grid.record_bytes();
        &self.records[index as usize * each..][..each]
    }
}

/// Byte i is the top byte of i times 2654435761 modulo 2^32.
pub(crate) fn bytes(count: usize) -> Vec<u8> {
    (0..count as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// Every shape of a grid: a page or two, blocks or none, giant steps or none, and records that are not there.
#[test]
fn records_come_back() {
    for (records, grid) in
        [(1, [1, 2, 1, 2]), (7, [1, 4, 2, 2]), (30, [2, 8, 4, 4]), (16, [1, 16, 1, 8]), (5, [1, 2, 8, 2])]
    {
        let table = Table::new(literal(records, grid));
        let mut client = table.client("prepare");
        for index in [0, records / 2, records - 1] {
            let (_, _, record) = table.lookup(&mut client, index, "query");
            assert!(record == table.record(index), "{grid:?} {index}");
        }
    }
}
