//! Two servers: hints that are requested block by block.

mod sizes;
mod supplies;

use crate::prf::VOID;
use crate::two_server::S3pirTwo;
use crate::two_server::client::{Client, Prepare};
use crate::two_server::params::{Params, select};
use sotto_core::{Error, HintScheme, HintServer, Params as _, Prepare as _, Stateful, TableShape, Wire};
use sotto_hints::message::{HintRequest, HintResponse};
use sotto_testkit::served::InProcessServer;
use zeroize::Zeroizing;

type Table = InProcessServer<S3pirTwo>;

fn table(rows: u64, row_bytes: u64) -> Table {
    InProcessServer::new(Params::check(select(&TableShape::new(rows, row_bytes, 1)).unwrap()).unwrap())
}

/// A client that has requested no hints.
fn fresh(table: &Table, key: u64) -> Client {
    let mut bytes: &[u8] = &u128::from(key).to_le_bytes();
    S3pirTwo::resume(&table.params, &mut bytes).and_then(Prepare::finish).unwrap()
}

/// A client with all hints that are due at first.
fn client(table: &Table, key: u64) -> Client {
    let mut client = fresh(table, key);
    while refill(table, &mut client) {}
    client
}

/// Requests hints once; returns whether a request was due.
fn refill(table: &Table, client: &mut Client) -> bool {
    let Some(order) = S3pirTwo::next_hint_request(client).unwrap() else { return false };
    S3pirTwo::apply_hint_response(client, S3pirTwo::answer_hint_request(&table.server, order).unwrap())
        .unwrap();
    true
}

/// Makes the ids with these numbers void.
fn make_void(client: &mut Client, ids: &[usize]) {
    for id in ids {
        client.one.hints.of[*id].set = VOID;
        client.one.hints.stock.left -= 1;
    }
}

#[test]
fn orders_are_of_blocks_that_exist() {
    let params = table(10, 2).params;
    let blocks = params.blocks() as u32;
    let order = |block: u32| [&[9; 16], &block.to_le_bytes()[..]].concat();
    for block in [0, 1, blocks - 1] {
        assert_eq!(HintRequest::take(&params, &order(block)).unwrap().block, block);
    }
    for block in [blocks, blocks + 1, u32::MAX] {
        assert!(matches!(HintRequest::take(&params, &order(block)), Err(Error::Peer(_))), "block {block}");
    }
}

/// More blocks than are due would overwrite pairs that were not promoted yet.
#[test]
fn supplies_that_are_not_due_are_refused() {
    let table = table(2, 1);
    let mut full = client(&table, 1);
    assert!(!refill(&table, &mut full));
    let nothing = HintResponse(Zeroizing::new(vec![0; table.params.response_bytes()]));
    assert!(matches!(S3pirTwo::apply_hint_response(&mut full, nothing), Err(Error::Misuse(_))));
    let block = table.params.blocks_of(full.one.hints.stocked) as u64;
    let more = [&[4], &block.to_le_bytes()[..], &vec![0; table.params.response_bytes()]].concat();
    assert!(matches!(S3pirTwo::replay(&mut full, &more), Err(Error::Peer(_))));
}
