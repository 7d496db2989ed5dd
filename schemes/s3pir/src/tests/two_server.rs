//! Two servers: parameters; hints that are requested block by block, and are those of the
//! definition through the whole life of a key.

use crate::S3pir;
use crate::params::min_hints;
use crate::prf::VOID;
use crate::two_server::params::{ParamsLiteral, select};
use crate::two_server::{Client, Params, Prepare, S3pirTwo};
use rand_core::Rng;
use sotto_core::{
    Artifact, Budget, Client as _, Error, Goal, HintScheme, HintServer, Params as _, Prepare as _,
    RecordIndex, Stateful, TableShape, Wire,
};
use sotto_hints::message::{HintRequest, HintResponse};
use sotto_hints::one_server;
use sotto_testkit::rng::seeded;
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
        client.one.hints.backup_stock.left -= 1;
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
    let block = table.params.blocks_of(full.one.hints.ids_received) as u64;
    let more = [&[4], &block.to_le_bytes()[..], &vec![0; table.params.response_bytes()]].concat();
    assert!(matches!(S3pirTwo::replay(&mut full, &more), Err(Error::Peer(_))));
}

fn checked(shape: &TableShape) -> Params {
    Params::check(select(shape).unwrap()).unwrap()
}

#[test]
fn the_papers_tables() {
    for (log2_rows, side, supply) in
        [(20, 1 << 10, 512 << 10), (24, 1 << 12, 2 << 20), (28, 1 << 14, 4 << 20)]
    {
        let params = checked(&TableShape::new(1 << log2_rows, 32, 1));
        let one = params.one();
        assert_eq!((one.partitions(), one.partition_rows()), (side, side));
        assert!((80 * side..96 * side).contains(&one.backups()), "{} pairs", one.backups());
        assert!(params.response_bytes() <= supply && params.response_bytes() > supply * 3 / 4);
        // The number that the bound requires, and no more than rounding adds.
        let least = min_hints(one.backups() as u64, -40.0, side as u64, |_| side as u64) as usize;
        assert!((least..least + least / 100).contains(&one.hints()), "{} hints of {least}", one.hints());
    }
}

#[test]
fn every_table_fits_by_every_goal_and_set() {
    let rows = (1..200).chain([(1 << 20) - 1, 3 << 19, 1 << 32]);
    for rows in rows {
        for row_bytes in [1, 33, 4096, 1 << 20] {
            let mut shape = TableShape::new(rows, row_bytes, 1000);
            for goal in Goal::ALL {
                shape.goal = goal;
                checked(&shape);
            }
            for set in Params::sets() {
                shape.set = Some(set.name.into());
                let params = checked(&shape);
                assert_eq!(params.ids_of(params.blocks()), params.one().ids());
                assert!(
                    (0..=params.blocks()).all(|blocks| params.blocks_of(params.ids_of(blocks)) == blocks)
                );
            }
        }
    }
}

#[test]
fn blocks_are_whole_and_bounded() {
    let good = select(&TableShape::new(1000, 32, 1)).unwrap();
    let refused = |change: fn(&mut ParamsLiteral)| {
        let mut literal = good.clone();
        change(&mut literal);
        let refused = matches!(Params::check(literal.clone()), Err(Error::Params(_)));
        assert!(refused, "{literal:?}");
    };
    refused(|literal| literal.block = 0);
    refused(|literal| literal.block = u64::MAX);
    refused(|literal| literal.block /= 2 * literal.block);
    refused(|literal| literal.block += 8);
    refused(|literal| literal.block = literal.hints * 2);
    refused(|literal| literal.hints += 16);
    refused(|literal| literal.pairs += 1);
    refused(|literal| (literal.row_bytes, literal.block) = (1 << 20, 32));
}

/// Sequences that would detect storage whose hints are used up unevenly, each until no pair is
/// left.
#[test]
fn rows_come_back_through_all_supplies() {
    type Sequence = fn(u64, u64, u64) -> u64;
    let sequences: [(&str, Sequence); 4] = [
        ("one row again and again", |_, n, _| n / 2),
        ("one partition", |i, n, _| i % n.min(4)),
        ("ascending", |i, n, _| i % n),
        ("random", |_, n, random| random % n),
    ];
    for (rows, (name, sequence)) in [1, 5, 33, 90].into_iter().zip(sequences) {
        let table = table(rows, 3 + rows % 4);
        let rng = &mut seeded(name);
        let mut client = client(&table, rows);
        let (mut made, mut supplies) = (0, 0);
        while client.budget() != Budget::Left(0) {
            let random = rng.next_u64();
            table.fetch(&mut client, sequence(made, rows, random), rng).unwrap();
            made += 1;
            supplies += usize::from(refill(&table, &mut client));
        }
        let params = &table.params;
        assert_eq!(made, params.one().backups() as u64, "{name}");
        let blocks = params.blocks() - params.blocks_of(params.one().hints());
        assert_eq!(supplies, blocks - params.low().div_ceil(params.block() / 2), "{name}");
        let beyond = client.query(RecordIndex(0), rng).map(|_| "a query");
        assert!(matches!(beyond, Err(Error::Exhausted(Budget::Left(0)))), "{beyond:?}");
        assert!(
            S3pirTwo::next_hint_request(&mut client).unwrap().is_none(),
            "an order beyond the life of a key"
        );
    }
}

/// With one key and the same coins, a client that streams the table and one that requests its hints
/// send the same queries, and have the same parities. Proofs and tests of one server's view and
/// clients hold for the other's.
#[test]
fn requests_are_those_of_a_client_that_streams() {
    let table = table(60, 2);
    let one = InProcessServer::<S3pir>::of(table.params.one().clone(), table.rows.clone());
    let key = 0x5EED;
    let mut prepare =
        one_server::Prepare::with_key(&one.params, Zeroizing::new(u128::from(key).to_le_bytes()));
    prepare.absorb(Artifact::Rows, &one.rows).unwrap();
    let (mut streams, mut orders) = (prepare.finish().unwrap(), client(&table, key));
    let (rng, other) = (&mut seeded("the same"), &mut seeded("the same"));
    for i in 0..one.params.queries() as u64 {
        let index = i * i % 60;
        let (open_queries, waits) =
            (one.query(&mut streams, index, rng), table.query(&mut orders, index, other));
        assert_eq!(open_queries.0, waits.0, "query {i}");
        // Both clients learn the row a while after the next block was requested.
        refill(&table, &mut orders);
        one.read(&mut streams, index, open_queries).unwrap();
        table.read(&mut orders, index, waits).unwrap();
        for id in (0..orders.one.hints.ids_received as u32).filter(|_| i % 16 == 0) {
            assert!(streams.hints.hint(id) == orders.one.hints.hint(id), "{id} after {i}");
            assert!(streams.hints.parity(id) == orders.one.hints.parity(id), "parity {id} after {i}");
        }
    }
}

/// A block is requested when fewer pairs are left than it has, or than go into one request, and
/// there is always space for it.
#[test]
fn orders_come_ahead_of_need() {
    // With long rows a block has few pairs.
    for (rows, row_bytes, few) in [(33, 1, false), (3, 70_000, true)] {
        let table = table(rows, row_bytes);
        let (block, low) = (table.params.block() as u64 / 2, table.params.low() as u64);
        assert_eq!((low, few), (block.max(64), block < 64));
        let rng = &mut seeded("ahead");
        let mut client = client(&table, 4);
        let mut left = low.next_multiple_of(block);
        assert_eq!(client.budget(), Budget::Left(left));
        for i in 0..3 * block {
            assert!(S3pirTwo::next_hint_request(&mut client).unwrap().is_none(), "query {i}");
            table.fetch(&mut client, i % rows, rng).unwrap();
            left -= 1;
            let due = left < low;
            assert_eq!(refill(&table, &mut client), due, "query {i}");
            left += if due { block } else { 0 };
            assert_eq!(client.budget(), Budget::Left(left), "query {i}");
        }
        assert!(left <= table.params.max_stock() as u64);
    }
}

#[test]
fn void_pairs_are_passed_over() {
    let table = table(40, 4);
    let (first, block) = (table.params.one().hints(), table.params.block() / 2);
    let rng = &mut seeded("void");
    let mut client = client(&table, 1);
    make_void(&mut client, &[first, first + 1, first + block - 1]);
    let mut made = 0;
    while client.budget() != Budget::Left(0) {
        table.fetch(&mut client, made % 40, rng).unwrap();
        made += 1;
        if refill(&table, &mut client) && made < block as u64 {
            // Pairs of the block that came just now.
            make_void(&mut client, &[first + block, first + 2 * block - 1]);
        }
    }
    let pairs = table.params.one().backups() as u64;
    assert!((pairs - 5 - 2..=pairs - 3).contains(&made), "{made} of {pairs}");
}

/// An epoch may end while hints are being requested, and while queries wait.
#[test]
fn a_client_follows_with_what_it_has() {
    for rows in [1, 9, 50] {
        let rng = &mut seeded("follow");
        let mut table: Table = table(rows, 6);
        let mut client = fresh(&table, rows);
        for step in 0..table.params.blocks() as u64 + 3 {
            // Half of the time a hint request is in progress.
            if step % 2 == 0 {
                refill(&table, &mut client);
            } else {
                let _ = S3pirTwo::next_hint_request(&mut client).unwrap();
            }
            let mut waiting = Vec::new();
            for index in [0, rows - 1, rows / 2] {
                if !matches!(client.budget(), Budget::Left(0 | 1)) {
                    table.fetch(&mut client, index, rng).unwrap();
                    waiting.push((index, table.query(&mut client, index, rng)));
                }
            }
            let (next, delta) = table.update_image(&[step % rows], rng);
            table = next;
            S3pirTwo::apply_delta(&mut client, &delta).unwrap();
            waiting
                .into_iter()
                .for_each(|(index, open_queries)| table.read(&mut client, index, open_queries).unwrap());
        }
    }
}
