//! A table of this scheme through its typed interface, for tests that look inside messages.

use sotto_core::{Client as _, Params as _, Prepare as _, RecordIndex, Server as _, TwoServers, Wire};
use sotto_dpf::Dpf;
use sotto_dpf::client::Client;
use sotto_dpf::literal::ParamsLiteral;
use sotto_dpf::message::{Answer, Query};
use sotto_dpf::params::Params;
use sotto_dpf::server::Server;
use sotto_testkit::memory::{MemoryImage, MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::sync::Arc;

pub(crate) fn params(records: u64, record_bytes: u64) -> Params {
    Params::check(ParamsLiteral { records, record_bytes, path: 0 }).unwrap()
}

/// Record bytes that any language can make: byte i is the top byte of i times 2654435761 modulo 2^32.
pub(crate) fn pattern(params: &Params) -> Vec<u8> {
    let len = params.records() as u32 * params.record_bytes() as u32;
    (0..len).map(|i| (i.wrapping_mul(2654435761) >> 24) as u8).collect()
}

pub(crate) struct Table {
    pub(crate) params: Params,
    pub(crate) records: Vec<u8>,
    pub(crate) image: MemoryImage,
    pub(crate) server: Server,
}

impl Table {
    pub(crate) fn new(records: u64, record_bytes: u64) -> Self {
        let params = params(records, record_bytes);
        let records = pattern(&params);
        let sink = MemorySink::new();
        let rows = MemoryRows::new(params.record_bytes(), records.clone());
        <Server as sotto_core::Server<Dpf>>::encode(&params, &rows, &sink).unwrap();
        let image = sink.into_image();
        let server = Server::open(&params, Arc::new(image.clone())).unwrap();
        Table { params, records, image, server }
    }

    pub(crate) fn client(&self) -> Client {
        client(&self.params)
    }

    pub(crate) fn record(&self, index: u64) -> &[u8] {
        &self.records[index as usize * self.params.record_bytes()..][..self.params.record_bytes()]
    }

    /// The record that comes of one lookup.
    pub(crate) fn lookup(&self, index: u64, label: &str) -> Vec<u8> {
        let mut client = self.client();
        let (TwoServers(a, b), pending) = client.query(RecordIndex(index), &mut seeded(label)).unwrap();
        let answers = TwoServers(self.server.answer(&(), a).unwrap(), self.server.answer(&(), b).unwrap());
        client.recover(pending, answers).unwrap().bytes().to_vec()
    }
}

pub(crate) fn client(params: &Params) -> Client {
    Client::begin(params, &mut seeded("prepare")).unwrap().finish().unwrap()
}

/// The two keys for an index, as bytes.
pub(crate) fn keys(params: &Params, index: u64, label: &str) -> [Vec<u8>; 2] {
    let (TwoServers(a, b), _) = client(params).query(RecordIndex(index), &mut seeded(label)).unwrap();
    [bytes(params, &a), bytes(params, &b)]
}

pub(crate) fn bytes(params: &Params, query: &Query) -> Vec<u8> {
    let mut bytes = Vec::new();
    query.put(params, &mut bytes);
    bytes
}

pub(crate) fn answer_bytes(params: &Params, answer: &Answer) -> Vec<u8> {
    let mut bytes = Vec::new();
    answer.put(params, &mut bytes);
    bytes
}
