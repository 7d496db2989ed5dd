//! A small table, its servers, and clients whose every parity can be checked against the definition of a hint.

use crate::TreePir;
use crate::bound::least_hints;
use crate::client::{Client, Hint, KNOWN, Pending};
use crate::message::{Answer, Order, Query, Supply};
use crate::params::{Params, ParamsLiteral};
use crate::prepare::Prepare;
use crate::server::Server;
use crate::tree::Room;
use rand_core::Rng;
use sotto_core::{
    Client as _, CryptoRng, Params as _, Prepare as _, RecordIndex, Result, Server as _, Supplier, Two,
    Upkeep, Wire,
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

/// Parameters for few queries, so that a test can make them all.
pub(super) fn literal(rows: u64, row_bytes: u64, queries: u64) -> ParamsLiteral {
    let bits = rows.next_power_of_two().ilog2().max(2);
    let hints = least_hints(queries, -40.0, 1 << (bits / 2));
    ParamsLiteral { rows, row_bytes, hints, queries }
}

impl Table {
    pub(super) fn new(rows: u64, row_bytes: u64, queries: u64) -> Self {
        let params = Params::check(literal(rows, row_bytes, queries)).unwrap();
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

    /// A client that has ordered nothing.
    pub(super) fn unstocked(&self, key: u64) -> Client {
        let key = Zeroizing::new(u128::from(key).to_le_bytes());
        Prepare::with_key(&self.params, key).finish().unwrap()
    }

    /// What the second server makes of an order as it travels.
    pub(super) fn supply(&self, order: &Order) -> Supply {
        let mut bytes = Vec::new();
        order.put(&self.params, &mut bytes);
        let order = Order::take(&self.params, &bytes).unwrap();
        TreePir::supply(&self.server, order).unwrap()
    }

    pub(super) fn client(&self, key: u64) -> Client {
        let mut client = self.unstocked(key);
        while let Some(order) = TreePir::order(&mut client).unwrap() {
            TreePir::stock(&mut client, self.supply(&order)).unwrap();
        }
        client
    }

    pub(super) fn row(&self, index: u64) -> &[u8] {
        let width = self.params.row_bytes();
        &self.rows[index as usize * width..][..width]
    }

    /// The answers to requests as they travel.
    pub(super) fn answer(&self, requests: &[Vec<u8>; 2]) -> Two<Answer> {
        let [first, second] = requests.each_ref().map(|request| {
            let query = Query::take(&self.params, request).unwrap();
            self.server.answer(&(), query).unwrap()
        });
        Two(first, second)
    }

    pub(super) fn ask(
        &self,
        client: &mut Client,
        index: u64,
        rng: &mut dyn CryptoRng,
    ) -> ([Vec<u8>; 2], Pending) {
        let (Two(first, second), pending) = client.query(RecordIndex(index), rng).unwrap();
        let requests = [first, second].map(|query| {
            let mut bytes = Vec::new();
            query.put(&self.params, &mut bytes);
            assert_eq!(bytes.len(), Query::size(&self.params));
            assert_eq!(Query::take(&self.params, &bytes).unwrap(), query, "a request that is not canonical");
            bytes
        });
        (requests, pending)
    }

    /// A lookup that insists on the right row, if one is read.
    pub(super) fn fetch(&self, client: &mut Client, index: u64, rng: &mut dyn CryptoRng) -> Result<()> {
        let (requests, pending) = self.ask(client, index, rng);
        let record = client.recover(pending, self.answer(&requests))?;
        assert!(record.bytes() == self.row(index), "row {index} came back changed");
        Ok(())
    }

    /// The sum of the rows of a set.
    fn sum(&self, client: &Client, hint: &Hint) -> Vec<u8> {
        let mut sum = vec![0; self.params.row_bytes()];
        let mut room = Room::default();
        let numbers = client.trees.grow([hint.set.root].into_iter(), &mut room);
        for (partition, number) in (0u64..).zip(numbers) {
            let row = partition << self.params.offset_bits() | u64::from(number ^ hint.set.shift);
            if row < self.params.rows() {
                sum.iter_mut().zip(self.row(row)).for_each(|(sum, byte)| *sum ^= byte);
            }
        }
        sum
    }

    /// Every parity a client has, against the sum of the rows of its set. Gives how many are known.
    pub(super) fn check_parities(&self, client: &Client) -> usize {
        let width = self.params.row_bytes();
        let slots = client.hints.iter().zip(client.parities.chunks(width)).take(self.params.hints());
        let spent = client.asked.iter().map(|asked| (&asked.spent, asked.parity.as_slice()));
        let known = slots.chain(spent).filter(|(hint, _)| hint.standing == KNOWN);
        known
            .inspect(|(hint, parity)| assert!(self.sum(client, hint) == **parity, "made by {}", hint.made))
            .count()
    }
}
