//! What is supplied is what the definition says, through the whole life of a key.

use super::{Served, make_void};
use crate::prepare::Prepare;
use crate::two::S3pirTwo;
use rand_core::Rng;
use sotto_core::{
    Artifact, Budget, Change, Client as _, Error, Prepare as _, RecordIndex, Revise, Stateful, Upkeep,
};
use sotto_testkit::memory::MemorySink;
use sotto_testkit::rng::seeded;
use zeroize::Zeroizing;

/// Sequences that would find out a table whose hints are used up unevenly, each until no pair is left.
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
        let served = Served::new(rows, 3 + rows % 4);
        let rng = &mut seeded(name);
        let mut client = served.client(rows);
        served.table.check_parities(&client.one);
        let (mut made, mut supplies) = (0, 0);
        while client.budget() != Budget::Left(0) {
            let random = rng.next_u64();
            served.fetch(&mut client, sequence(made, rows, random), rng).unwrap();
            made += 1;
            if served.supply(&mut client) {
                supplies += 1;
                served.table.check_parities(&client.one);
            }
        }
        assert_eq!(made, served.params.one().pairs() as u64, "{name}");
        let blocks = served.params.blocks() - served.params.blocks_of(served.params.one().hints());
        let first = served.params.low().div_ceil(served.params.block() / 2);
        assert_eq!(supplies, blocks - first, "{name}");
        let beyond = client.query(RecordIndex(0), rng).map(|_| "a query");
        assert!(matches!(beyond, Err(Error::Exhausted(Budget::Left(0)))), "{beyond:?}");
        assert!(S3pirTwo::order(&mut client).unwrap().is_none(), "an order beyond the life of a key");
    }
}

/// With one key and the same coins, a client that streams the table and one that orders its hints send the same. What is
/// proved and tested of one server's view holds for the other's.
#[test]
fn requests_are_those_of_a_client_that_streams() {
    let served = Served::new(60, 2);
    let key = 0x5EED;
    let mut prepare = Prepare::new(served.params.one(), Zeroizing::new(u128::from(key).to_le_bytes()));
    prepare.absorb(Artifact::Rows, &served.table.rows).unwrap();
    let (mut streams, mut orders) = (prepare.finish().unwrap(), served.client(key));
    let (one, other) = (&mut seeded("the same"), &mut seeded("the same"));
    for i in 0..served.params.one().pairs() as u64 {
        let index = i * i % 60;
        let (request, pending) = served.table.ask(&mut streams, index, one);
        let (same, waiting) = served.ask(&mut orders, index, other);
        assert_eq!(request, same, "query {i}");
        // Both learn the row a while after the next block was ordered.
        served.supply(&mut orders);
        streams.recover(pending, served.table.answer(&request)).unwrap();
        orders.recover(waiting, served.table.answer(&request)).unwrap();
    }
}

/// A block is ordered when fewer pairs are left than it has, or than go into one request, and there is always room for it.
#[test]
fn orders_come_ahead_of_need() {
    // With long rows a block has few pairs.
    for (rows, row_bytes, few) in [(33, 1, false), (3, 70_000, true)] {
        let served = Served::new(rows, row_bytes);
        let (block, low) = (served.params.block() as u64 / 2, served.params.low() as u64);
        assert_eq!((low, few), (block.max(64), block < 64));
        let rng = &mut seeded("ahead");
        let mut client = served.client(4);
        let mut left = low.next_multiple_of(block);
        assert_eq!(client.budget(), Budget::Left(left));
        for i in 0..3 * block {
            assert!(S3pirTwo::order(&mut client).unwrap().is_none(), "query {i}");
            served.fetch(&mut client, i % rows, rng).unwrap();
            left -= 1;
            let due = left < low;
            assert_eq!(served.supply(&mut client), due, "query {i}");
            left += if due { block } else { 0 };
            assert_eq!(client.budget(), Budget::Left(left), "query {i}");
        }
        assert!(left <= served.params.room() as u64);
    }
}

#[test]
fn void_pairs_are_passed_over() {
    let served = Served::new(40, 4);
    let (first, block) = (served.params.one().hints(), served.params.block() / 2);
    let rng = &mut seeded("void");
    let mut client = served.client(1);
    make_void(&mut client, &[first, first + 1, first + block - 1]);
    let mut made = 0;
    while client.budget() != Budget::Left(0) {
        served.fetch(&mut client, made % 40, rng).unwrap();
        made += 1;
        if served.supply(&mut client) && made < block as u64 {
            // Those of the block that came just now.
            make_void(&mut client, &[first + block, first + 2 * block - 1]);
        }
    }
    let pairs = served.params.one().pairs() as u64;
    assert!((pairs - 5 - 2..=pairs - 3).contains(&made), "{made} of {pairs}");
}

/// An epoch may end while hints are being ordered, and while queries wait.
#[test]
fn a_client_follows_with_what_it_has() {
    for rows in [1, 9, 50] {
        let rng = &mut seeded("follow");
        let mut served = Served::new(rows, 6);
        let mut client = served.fresh(rows);
        for step in 0..served.params.blocks() + 3 {
            // Half of the time an order is under way.
            if step % 2 == 0 {
                served.supply(&mut client);
            } else {
                let _ = S3pirTwo::order(&mut client).unwrap();
            }
            let mut waiting = Vec::new();
            for index in [0, rows - 1, rows / 2] {
                if !matches!(client.budget(), Budget::Left(0 | 1)) {
                    served.fetch(&mut client, index, rng).unwrap();
                    waiting.push((index, served.ask(&mut client, index, rng)));
                }
            }
            let (next, delta) = revise(&served, step as u64 % rows, rng);
            S3pirTwo::follow(&mut client, &delta).unwrap();
            next.table.check_parities(&client.one);
            for (index, (request, pending)) in waiting {
                let record = client.recover(pending, next.table.answer(&request)).unwrap();
                assert!(record.bytes() == next.table.row(index), "row {index} of {rows}");
            }
            served = next;
        }
    }
}

/// The next epoch with a row changed, and its delta.
fn revise(served: &Served, row: u64, rng: &mut dyn sotto_core::CryptoRng) -> (Served, Vec<u8>) {
    let width = served.params.one().row_bytes();
    let mut rows = served.table.rows.clone();
    let bytes = &mut rows[row as usize * width..][..width];
    rng.fill_bytes(bytes);
    let change = Change { record: row, offset: 0, bytes: bytes.to_vec() };
    let sink = MemorySink::holding(served.image.clone());
    S3pirTwo::revise(&served.params, &[change], &sink).unwrap();
    let delta = sink.into_image().artifact(Artifact::RowsDelta).unwrap().to_vec();
    (Served::of(served.params.clone(), rows), delta)
}
