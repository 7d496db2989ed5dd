//! Two servers: hints that are ordered block by block.

mod crashes;
mod hostile;
mod sizes;
mod supplies;

use super::setup::Table;
use crate::client::Pending;
use crate::prf::VOID;
use crate::two::S3pirTwo;
use crate::two::client::{Client, Prepare};
use crate::two::message::Supply;
use crate::two::params::Params;
use crate::two::server::Server;
use rand_core::Rng;
use sotto_core::{
    CryptoRng, Image, Params as _, Prepare as _, Result, Server as _, Shape, Stateful, Supplier, Upkeep,
};
use sotto_testkit::memory::{MemoryImage, MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::sync::Arc;

/// A table on both servers, and the same as one server has it.
pub(super) struct Served {
    pub(super) params: Params,
    pub(super) image: MemoryImage,
    pub(super) helper: Server,
    pub(super) table: Table,
}

impl Served {
    pub(super) fn new(rows: u64, row_bytes: u64) -> Self {
        let literal = crate::two::select::select(&Shape::new(rows, row_bytes, 1)).unwrap();
        let params = Params::check(literal).unwrap();
        let mut rows = vec![0; params.one().table_bytes() as usize];
        seeded(&format!("{:?}", params.literal())).fill_bytes(&mut rows);
        Served::of(params, rows)
    }

    pub(super) fn of(params: Params, rows: Vec<u8>) -> Self {
        let sink = MemorySink::new();
        Server::encode(&params, &MemoryRows::new(params.one().row_bytes(), rows.clone()), &sink).unwrap();
        let image = sink.into_image();
        let helper = Server::open(&params, Arc::new(image.clone()) as Arc<dyn Image>).unwrap();
        let table = Table::of(params.one().clone(), rows);
        Served { params, image, helper, table }
    }

    /// A client that has ordered nothing.
    pub(super) fn fresh(&self, key: u64) -> Client {
        let mut bytes: &[u8] = &u128::from(key).to_le_bytes();
        S3pirTwo::resume(&self.params, &mut bytes).and_then(Prepare::finish).unwrap()
    }

    /// A client with everything that is due at first.
    pub(super) fn client(&self, key: u64) -> Client {
        let mut client = self.fresh(key);
        while self.supply(&mut client) {}
        client
    }

    /// Orders once; says whether an order was due.
    pub(super) fn supply(&self, client: &mut Client) -> bool {
        let Some(order) = S3pirTwo::order(client).unwrap() else { return false };
        let supply: Supply = S3pirTwo::supply(&self.helper, order).unwrap();
        S3pirTwo::stock(client, supply).unwrap();
        true
    }

    pub(super) fn ask(&self, client: &mut Client, index: u64, rng: &mut dyn CryptoRng) -> (Vec<u8>, Pending) {
        self.table.ask(&mut client.one, index, rng)
    }

    pub(super) fn fetch(&self, client: &mut Client, index: u64, rng: &mut dyn CryptoRng) -> Result<()> {
        self.table.fetch(&mut client.one, index, rng)
    }

    pub(super) fn saved(&self, client: &Client) -> Vec<u8> {
        let mut out = Vec::new();
        S3pirTwo::save(&self.params, client, &mut out).unwrap();
        out
    }

    pub(super) fn loaded(&self, bytes: &[u8]) -> Client {
        let mut rest = bytes;
        let client = S3pirTwo::load(&self.params, &mut rest).unwrap();
        assert!(rest.is_empty(), "a state is read to its end");
        client
    }
}

/// Ids with this number are void from now on.
pub(super) fn make_void(client: &mut Client, ids: &[usize]) {
    for id in ids {
        client.one.hints.of[*id].cut = VOID;
        client.one.hints.left -= 1;
    }
}
