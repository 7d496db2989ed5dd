//! Tables of SimplePIR and VeriSimplePIR, for tests that look inside messages.

use sotto_core::{Artifact, Scheme, Section, Wire};
use sotto_silent::lwe::dense::FRODO;
use sotto_silent::lwe::ring::PUBLIC_SEED;
use sotto_silent::{Client, MatrixScheme};
use sotto_simplepir::SimplePir;
use sotto_simplepir::literal::{ParamsLiteral, SET};
use sotto_testkit::served::InProcessServer;

pub(crate) const HINT: Section = Section::Public(Artifact::Hint);

pub(crate) fn literal(record_bytes: u64, records: u64, query_bits: u8, answer_bits: u8) -> ParamsLiteral {
    ParamsLiteral { set: SET.into(), record_bytes, records, query_bits, answer_bits, seed: PUBLIC_SEED }
}

/// A literal of FrodoPIR.
pub(crate) fn frodo(record_bytes: u64, records: u64) -> ParamsLiteral {
    ParamsLiteral { set: FRODO.name.into(), ..literal(record_bytes, records, 32, 32) }
}

/// A table, and a server that has it.
pub(crate) struct Table(InProcessServer<MatrixScheme<SimplePir>>);

impl std::ops::Deref for Table {
    type Target = InProcessServer<MatrixScheme<SimplePir>>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Table {
    pub(crate) fn new(literal: ParamsLiteral, rows: Vec<u8>) -> Self {
        Table(InProcessServer::checked(literal, rows))
    }

    pub(crate) fn hint(&self) -> &[u8] {
        self.image.artifact(Artifact::Hint).unwrap()
    }

    pub(crate) fn client(&self) -> Client<SimplePir> {
        self.0.client("prepare")
    }

    /// Bytes of a query and of its answer, and the record that comes of it.
    pub(crate) fn lookup(
        &self,
        client: &mut Client<SimplePir>,
        index: u64,
        label: &str,
    ) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        let (query, answer, record) = self.0.lookup(client, index, label);
        (query, sent::<MatrixScheme<SimplePir>>(&self.params, &answer), record)
    }
}

/// The bytes of an answer.
pub(crate) fn sent<S: Scheme>(params: &S::Params, answer: &S::Answer) -> Vec<u8> {
    let mut out = Vec::new();
    answer.put(params, &mut out);
    out
}

/// Words of `bits` bits, read bit by bit.
pub(crate) fn words(bytes: &[u8], bits: u32) -> Vec<u32> {
    let bit = |i: usize| u32::from(bytes[i / 8] >> (i % 8) & 1);
    (0..bytes.len() * 8 / bits as usize)
        .map(|w| (0..bits as usize).map(|i| bit(w * bits as usize + i) << i).sum())
        .collect()
}
