//! A small table, its server, and clients whose every parity can be checked against the definition of a hint.

use crate::client::{Client, Pending};
use crate::hints::{KNOWN, LIVE, OUTSIDE, OWED, place};
use crate::message::{Answer, Query};
use crate::params::{Params, ParamsLiteral};
use crate::prepare::Prepare;
use crate::prf::VOID;
use crate::server::Server;
use rand_core::Rng;
use sotto_core::{
    Artifact, Client as _, One, Params as _, Prepare as _, RecordIndex, Result, Server as _, Shape, Wire,
};
use sotto_testkit::memory::{MemoryImage, MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::sync::Arc;
use zeroize::Zeroizing;

pub(super) struct Table {
    pub(super) params: Params,
    pub(super) rows: Vec<u8>,
    pub(super) image: MemoryImage,
    server: Server,
}

impl Table {
    pub(super) fn new(rows: u64, row_bytes: u64, lookups: u64) -> Self {
        let literal = crate::select::select(&Shape::new(rows, row_bytes, lookups)).unwrap();
        Table::with(Params::check(literal).unwrap())
    }

    /// With numbers of hints and pairs that no check would pass.
    pub(super) fn unreliable(literal: ParamsLiteral) -> Self {
        assert!(Params::check(literal.clone()).is_err());
        Table::with(Params::of(literal).unwrap())
    }

    fn with(params: Params) -> Self {
        let mut rows = vec![0; params.table_bytes() as usize];
        seeded(&format!("{:?}", params.literal())).fill_bytes(&mut rows);
        Table::of(params, rows)
    }

    pub(super) fn of(params: Params, rows: Vec<u8>) -> Self {
        let sink = MemorySink::new();
        Server::encode(&params, &MemoryRows::new(params.row_bytes(), rows.clone()), &sink).unwrap();
        let image = sink.into_image();
        let server = Server::open(&params, Arc::new(image.clone())).unwrap();
        Table { params, rows, image, server }
    }

    pub(super) fn client(&self, key: u64) -> Client {
        let mut prepare = Prepare::new(&self.params, Zeroizing::new(u128::from(key).to_le_bytes()));
        self.rows.chunks(1001).for_each(|chunk| prepare.absorb(Artifact::Rows, chunk).unwrap());
        prepare.finish().unwrap()
    }

    pub(super) fn row(&self, index: u64) -> &[u8] {
        let width = self.params.row_bytes();
        &self.rows[index as usize * width..][..width]
    }

    /// The answer to a request as it travels.
    pub(super) fn answer(&self, request: &[u8]) -> One<Answer> {
        One(self.server.answer(&(), Query::take(&self.params, request).unwrap()).unwrap())
    }

    pub(super) fn ask(
        &self,
        client: &mut Client,
        index: u64,
        rng: &mut dyn sotto_core::CryptoRng,
    ) -> (Vec<u8>, Pending) {
        let (One(query), pending) = client.query(RecordIndex(index), rng).unwrap();
        let mut bytes = Vec::new();
        query.put(&self.params, &mut bytes);
        assert_eq!(bytes.len(), self.params.request_bytes());
        assert_eq!(Query::take(&self.params, &bytes).unwrap(), query, "a request that is not canonical");
        (bytes, pending)
    }

    /// A lookup; says whether the row came back, and insists that it is the right one.
    pub(super) fn fetch(
        &self,
        client: &mut Client,
        index: u64,
        rng: &mut dyn sotto_core::CryptoRng,
    ) -> Result<()> {
        let (request, pending) = self.ask(client, index, rng);
        let record = client.recover(pending, self.answer(&request))?;
        assert!(record.bytes() == self.row(index), "row {index} came back changed");
        Ok(())
    }

    /// Every parity a client has, against the sum of the rows that the definition puts into it.
    pub(super) fn check_parities(&self, client: &Client) {
        let zero = vec![0; self.params.row_bytes()];
        let add = |sum: &mut Vec<u8>, partition: usize, offset: u16| {
            let index = partition * self.params.partition_rows() + usize::from(offset);
            if (index as u64) < self.params.rows() {
                sum.iter_mut().zip(self.row(index as u64)).for_each(|(sum, byte)| *sum ^= byte);
            }
        };
        for id in 0..client.hints.stocked as u32 {
            let hint = client.hints.of[id as usize];
            let mut halves = [zero.clone(), zero.clone()];
            for (k, rank) in client.prf.ranks(id).into_iter().enumerate() {
                add(&mut halves[usize::from(rank >= hint.cut)], k, client.prf.offset(id, k as u16));
            }
            if id as usize >= client.hints.used() {
                let stored = client.hints.pair(id);
                assert!(hint.cut == VOID || (stored[0] == halves[0] && stored[1] == halves[1]), "pair {id}");
            } else if hint.mark & (LIVE | OWED) == 0 {
                assert!(client.hints.parity(id) == zero, "hint {id} was spent and is still there");
            } else {
                let [half, other] = halves;
                let mut sum = if hint.mark & OUTSIDE == 0 { half } else { other };
                if hint.mark & KNOWN != 0 {
                    let extra = place(hint.extra);
                    add(&mut sum, extra.partition.into(), extra.offset);
                }
                assert!(client.hints.parity(id) == sum, "hint {id} with mark {}", hint.mark);
            }
        }
    }
}
