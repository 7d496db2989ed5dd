//! A table of SimplePIR through its typed interface, for tests that look inside messages.

use sotto_core::{Artifact, OneServer, RecordIndex, Section, Wire};
use sotto_core::{Client as _, Image as _, Params as _, Prepare as _, Server as _};
use sotto_silent::lwe::dense::FRODO;
use sotto_silent::lwe::ring::PUBLIC_SEED;
use sotto_simplepir::SimplePir;
use sotto_simplepir::client::{Client, Prepare};
use sotto_simplepir::literal::{ParamsLiteral, SET};
use sotto_simplepir::params::Params;
use sotto_simplepir::server::Server;
use sotto_testkit::memory::{MemoryImage, MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::sync::Arc;

pub(crate) const HINT: Section = Section::Public(Artifact::Hint);

pub(crate) fn literal(record_bytes: u64, records: u64, query_bits: u8, answer_bits: u8) -> ParamsLiteral {
    ParamsLiteral { set: SET.into(), record_bytes, records, query_bits, answer_bits, seed: PUBLIC_SEED }
}

/// A literal of FrodoPIR.
pub(crate) fn frodo(record_bytes: u64, records: u64) -> ParamsLiteral {
    ParamsLiteral { set: FRODO.name.into(), ..literal(record_bytes, records, 32, 32) }
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
        <Server as sotto_core::Server<SimplePir>>::encode(&params, &rows, &sink).unwrap();
        let image = sink.into_image();
        let server = Server::open(&params, Arc::new(image.clone())).unwrap();
        Table { params, records, image, server }
    }

    pub(crate) fn hint(&self) -> &[u8] {
        self.image.section(HINT).unwrap()
    }

    pub(crate) fn client(&self) -> Client {
        let mut prepare = Prepare::begin(&self.params, &mut seeded("prepare")).unwrap();
        prepare.absorb(Artifact::Hint, self.hint()).unwrap();
        prepare.finish().unwrap()
    }

    /// Bytes of a query and of its answer, and the record that comes of it.
    pub(crate) fn lookup(&self, client: &mut Client, index: u64, label: &str) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        let (OneServer(query), pending) = client.query(RecordIndex(index), &mut seeded(label)).unwrap();
        let (mut asked, mut answered) = (Vec::new(), Vec::new());
        query.put(&self.params, &mut asked);
        let answer = self.server.answer(&(), query).unwrap();
        answer.put(&self.params, &mut answered);
        let record = client.recover(pending, OneServer(answer)).unwrap();
        (asked, answered, record.bytes().to_vec())
    }

    pub(crate) fn record(&self, index: u64) -> &[u8] {
        &self.records[index as usize * self.params.l()..][..self.params.l()]
    }
}

/// Words of `bits` bits, read bit by bit.
pub(crate) fn words(bytes: &[u8], bits: u32) -> Vec<u32> {
    let bit = |i: usize| u32::from(bytes[i / 8] >> (i % 8) & 1);
    (0..bytes.len() * 8 / bits as usize)
        .map(|w| (0..bits as usize).map(|i| bit(w * bits as usize + i) << i).sum())
        .collect()
}
