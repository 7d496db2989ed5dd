//! A table through its typed interface, for tests that look inside messages.

use hintless::Hintless;
use hintless::client::{Client, Prepare};
use hintless::message::Answer;
use hintless::params::{PUBLIC_SEED, Params, ParamsLiteral};
use hintless::server::Server;
use sotto_core::{Client as _, One, Params as _, Prepare as _, RecordIndex, Server as _, Wire};
use sotto_silent::lwe::dense::HINTLESS;
use sotto_testkit::memory::{MemoryImage, MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::sync::Arc;

pub(crate) fn literal(record_bytes: u64, records: u64, block_rows: u64) -> ParamsLiteral {
    ParamsLiteral { set: HINTLESS.name.into(), record_bytes, records, block_rows, seed: PUBLIC_SEED }
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
        let rows = MemoryRows::new(params.l(), records.clone());
        <Server as sotto_core::Server<Hintless>>::encode(&params, &rows, &sink).unwrap();
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
        &self.records[index as usize * self.params.l()..][..self.params.l()]
    }
}

/// Bytes that any language can make: byte i is the top byte of i times 2654435761 modulo 2^32.
pub(crate) fn bytes(count: usize) -> Vec<u8> {
    (0..count as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}
