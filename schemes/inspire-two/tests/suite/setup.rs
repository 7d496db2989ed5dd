//! A table through its typed interface, for tests that look inside messages.

use inspire_two::InspireTwo;
use inspire_two::client::{Client, Prepare};
use inspire_two::message::Answer;
use inspire_two::params::{Params, ParamsLiteral};
use inspire_two::server::Server;
use sotto_core::{Client as _, One, Params as _, Prepare as _, RecordIndex, Server as _, Wire};
use sotto_silent::lattice::{PUBLIC_SEED, SET};
use sotto_testkit::memory::{MemoryImage, MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::sync::Arc;

pub(crate) fn literal(
    [record_bytes, records, blocks]: [u64; 3],
    query_bits: [u8; 2],
    key_bits: u8,
    inner_bits: [u8; 2],
    answer_bits: [u8; 2],
) -> ParamsLiteral {
    ParamsLiteral {
        set: SET.into(),
        record_bytes,
        records,
        blocks,
        query_bits,
        key_bits,
        inner_bits,
        answer_bits,
        seed: PUBLIC_SEED,
    }
}

pub(crate) struct Table {
    pub(crate) params: Params,
    pub(crate) records: Vec<u8>,
    pub(crate) image: MemoryImage,
    pub(crate) server: Server,
}

impl Table {
    pub(crate) fn new(literal: ParamsLiteral, records: Vec<u8>) -> Self {
        let params = Params::check(literal).unwrap();
        let sink = MemorySink::new();
        let rows = MemoryRows::new(params.record_bytes(), records.clone());
        <Server as sotto_core::Server<InspireTwo>>::encode(&params, &rows, &sink).unwrap();
        let image = sink.into_image();
        let server = Server::open(&params, Arc::new(image.clone())).unwrap();
        Table { params, records, image, server }
    }

    pub(crate) fn client(&self) -> Client {
        Prepare::begin(&self.params, &mut seeded("prepare")).unwrap().finish().unwrap()
    }

    /// Bytes of a query, the answer, and the record that comes of it.
    pub(crate) fn lookup(&self, client: &mut Client, index: u64, label: &str) -> (Vec<u8>, Answer, Vec<u8>) {
        let (One(query), pending) = client.query(RecordIndex(index), &mut seeded(label)).unwrap();
        let mut asked = Vec::new();
        query.put(&self.params, &mut asked);
        let answer = self.server.answer(&(), query).unwrap();
        let record = client.recover(pending, One(answer.clone())).unwrap();
        (asked, answer, record.bytes().to_vec())
    }

    pub(crate) fn record(&self, index: u64) -> &[u8] {
        let bytes = self.params.record_bytes();
        &self.records[index as usize * bytes..][..bytes]
    }
}

/// Bytes that any language can make: byte i is the top byte of i times 2654435761 modulo 2^32.
pub(crate) fn bytes(count: usize) -> Vec<u8> {
    (0..count as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// Records of even and odd sizes, a grid that is not full, one and several packed ciphertexts of bodies.
#[test]
fn every_record_comes_back() {
    for (sizes, lookups) in [([5, 23, 4], 23), ([1, 3, 1], 3), ([1500, 9, 2], 3)] {
        let literal = literal(sizes, [45, 45], 46, [26, 20], [28, 19]);
        let table = Table::new(literal, bytes((sizes[0] * sizes[1]) as usize));
        let mut client = table.client();
        for i in 0..lookups {
            let index = (sizes[1] - 1) * i / (lookups - 1).max(1);
            let (_, _, record) = table.lookup(&mut client, index, "setup");
            assert_eq!(record, table.record(index), "{sizes:?}: {index}");
        }
    }
}
