//! Hint responses are those of the definition, through the whole life of a key.

use super::{Table, client, fresh, make_void, refill, table};
use crate::S3pir;
use crate::two_server::S3pirTwo;
use rand_core::Rng;
use sotto_core::{Artifact, Budget, Client as _, Error, HintScheme, Prepare as _, RecordIndex, Stateful};
use sotto_hints::one_server::Prepare;
use sotto_testkit::rng::seeded;
use sotto_testkit::served::InProcessServer;
use zeroize::Zeroizing;

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
    let mut prepare = Prepare::with_key(&one.params, Zeroizing::new(u128::from(key).to_le_bytes()));
    prepare.absorb(Artifact::Rows, &one.rows).unwrap();
    let (mut streams, mut orders) = (prepare.finish().unwrap(), client(&table, key));
    let (rng, other) = (&mut seeded("the same"), &mut seeded("the same"));
    for i in 0..one.params.queries() as u64 {
        let index = i * i % 60;
        let (asked, waits) = (one.ask(&mut streams, index, rng), table.ask(&mut orders, index, other));
        assert_eq!(asked.0, waits.0, "query {i}");
        // Both clients learn the row a while after the next block was requested.
        refill(&table, &mut orders);
        one.read(&mut streams, index, asked).unwrap();
        table.read(&mut orders, index, waits).unwrap();
        for id in (0..orders.one.hints.stocked as u32).filter(|_| i % 16 == 0) {
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
                    waiting.push((index, table.ask(&mut client, index, rng)));
                }
            }
            let (next, delta) = table.revise(&[step % rows], rng);
            table = next;
            S3pirTwo::apply_delta(&mut client, &delta).unwrap();
            waiting.into_iter().for_each(|(index, asked)| table.read(&mut client, index, asked).unwrap());
        }
    }
}
