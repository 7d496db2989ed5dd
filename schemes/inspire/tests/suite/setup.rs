//! A table through its typed interface, for tests that look inside messages.

use inspire::Inspire;
use inspire::client::{Client, Pending, Prepare};
use inspire::message::{Answer, Query};
use inspire::params::{Params, ParamsLiteral};
use inspire::server::Server;
use sotto_core::{Client as _, One, Params as _, Prepare as _, RecordIndex, Server as _, Wire};
use sotto_silent::lattice::{PUBLIC_SEED, SET};
use sotto_testkit::memory::{MemoryImage, MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::sync::Arc;

/// Bytes in a record, records, and places in a column; bits of words and keys, of the selector, and of answers.
pub(crate) fn literal(
    [record_bytes, records, places]: [u64; 3],
    [query_bits, key_bits]: [u8; 2],
    selector_bits: [u8; 2],
    answer_bits: [u8; 2],
) -> ParamsLiteral {
    ParamsLiteral {
        set: SET.into(),
        record_bytes,
        records,
        places,
        query_bits,
        key_bits,
        selector_bits,
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
        let rows = MemoryRows::new(params.literal().record_bytes as usize, records.clone());
        <Server as sotto_core::Server<Inspire>>::encode(&params, &rows, &sink).unwrap();
        Table::opened(params, records, sink.into_image())
    }

    pub(crate) fn opened(params: Params, records: Vec<u8>, image: MemoryImage) -> Self {
        let server = Server::open(&params, Arc::new(image.clone())).unwrap();
        Table { params, records, image, server }
    }

    pub(crate) fn client(&self) -> Client {
        Prepare::begin(&self.params, &mut seeded("prepare")).unwrap().finish().unwrap()
    }

    pub(crate) fn query(&self, client: &mut Client, index: u64, label: &str) -> (Query, Pending) {
        let (One(query), pending) = client.query(RecordIndex(index), &mut seeded(label)).unwrap();
        (query, pending)
    }

    /// Bytes of a query, the answer, and the record that comes of it.
    pub(crate) fn lookup(&self, client: &mut Client, index: u64, label: &str) -> (Vec<u8>, Answer, Vec<u8>) {
        let (query, pending) = self.query(client, index, label);
        let mut asked = Vec::new();
        query.put(&self.params, &mut asked);
        let answer = self.server.answer(&(), query).unwrap();
        let record = client.recover(pending, One(answer.clone())).unwrap();
        (asked, answer, record.bytes().to_vec())
    }

    pub(crate) fn record(&self, index: u64) -> &[u8] {
        let bytes = self.params.literal().record_bytes as usize;
        &self.records[index as usize * bytes..][..bytes]
    }
}

/// Bytes that any language can make: byte i is the top byte of i times 2654435761 modulo 2^32.
pub(crate) fn bytes(count: usize) -> Vec<u8> {
    (0..count as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}
