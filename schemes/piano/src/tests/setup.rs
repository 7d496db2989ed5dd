//! A small table, its server, and clients whose every parity can be checked against the definition of a hint.

use crate::client::{Client, Pending};
use crate::hints::{FRESH, KNOWN, LIVE, OWED, PROMOTED, WAITING, place};
use crate::message::{Answer, Query};
use crate::params::{Params, ParamsLiteral};
use crate::places::Places;
use crate::prepare::Prepare;
use crate::prf::Place;
use crate::server::{Server, index};
use rand_core::Rng;
use sotto_core::{
    Artifact, Client as _, Image, One, Params as _, Prepare as _, RecordIndex, Result, Server as _, Shape,
    Wire,
};
use sotto_testkit::memory::{MemoryImage, MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::sync::Arc;
use zeroize::Zeroizing;

pub(super) struct Table {
    pub(super) params: Params,
    pub(super) rows: Vec<u8>,
    pub(super) image: MemoryImage,
    pub(super) order: Places,
    server: Server,
}

impl Table {
    pub(super) fn new(rows: u64, row_bytes: u64, lookups: u64) -> Self {
        let literal = crate::select::select(&Shape::new(rows, row_bytes, lookups)).unwrap();
        Table::with(Params::check(literal).unwrap())
    }

    /// With numbers of hints and backups that no check would pass.
    pub(super) fn unreliable(literal: ParamsLiteral) -> Self {
        assert!(Params::check(literal.clone()).is_err());
        Table::with(Params::of(literal).unwrap())
    }

    pub(super) fn with(params: Params) -> Self {
        let mut rows = vec![0; params.rows() as usize * params.row_bytes()];
        seeded(&format!("{:?}", params.literal())).fill_bytes(&mut rows);
        Table::of(params, rows)
    }

    pub(super) fn of(params: Params, rows: Vec<u8>) -> Self {
        let sink = MemorySink::new();
        Server::encode(&params, &MemoryRows::new(params.row_bytes(), rows.clone()), &sink).unwrap();
        let image = sink.into_image();
        let server = Server::open(&params, Arc::new(image.clone())).unwrap();
        Table { order: Places::new(&params), params, rows, image, server }
    }

    pub(super) fn stream(&self) -> &[u8] {
        self.image.section(crate::server::ROWS).unwrap()
    }

    pub(super) fn client(&self, key: u64) -> Client {
        let mut prepare = Prepare::new(&self.params, Zeroizing::new(u128::from(key).to_le_bytes()));
        self.stream().chunks(1001).for_each(|chunk| prepare.absorb(Artifact::Rows, chunk).unwrap());
        prepare.finish().unwrap()
    }

    pub(super) fn row(&self, index: u64) -> &[u8] {
        let width = self.params.row_bytes();
        &self.rows[index as usize * width..][..width]
    }

    /// Rows of one partition, as somebody finds them who knows the public order.
    pub(super) fn rows_of(&self, partition: u16) -> Vec<u64> {
        (0..self.params.rows()).filter(|row| self.order.of(*row).partition == partition).collect()
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

    /// Every parity and entry a client has, against the rows that the definition puts into it.
    pub(super) fn check_parities(&self, client: &Client) {
        let (width, stream) = (self.params.row_bytes(), self.stream());
        let zero = vec![0; width];
        let at = |place: Place| &stream[index(&self.params, place) as usize * width..][..width];
        for id in 0..client.hints.none() {
            let (hint, home) = (client.hints.of[id as usize], client.hints.home(id));
            let own = place(hint.own);
            let mut sum = zero.clone();
            for k in 0..self.params.partitions() {
                let row = match home == Some(k) {
                    true if hint.mark & PROMOTED == 0 || hint.mark & KNOWN == 0 => &zero,
                    true => at(own),
                    false => at(Place { partition: k as u16, offset: client.prf.offset(id, k as u16) }),
                };
                sum.iter_mut().zip(row).for_each(|(sum, byte)| *sum ^= byte);
            }
            let there = hint.mark & (LIVE | OWED | FRESH) != 0;
            assert!(client.hints.parity(id) == if there { &sum } else { &zero }, "{id}: {hint:?}");
            if let Some(home) = home {
                let offset = client.prf.replacement(id);
                let entry = at(Place { partition: home as u16, offset });
                let there = hint.mark & (FRESH | WAITING) != 0;
                assert!(client.hints.replacement(id) == if there { entry } else { &zero }, "entry {id}");
            }
        }
        for (place_of, row) in client.seen.all(client.next) {
            if let Some(row) = row {
                assert!(row == at(place(place_of.unwrap())), "a kept row");
            }
        }
    }
}
