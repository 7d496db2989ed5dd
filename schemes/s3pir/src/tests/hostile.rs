//! Answers that lie, and parameters under which hints run out.

use super::setup::Table;
use crate::S3pir;
use crate::params::ParamsLiteral;
use crate::state::malformed;
use sotto_core::{Client as _, Error, One, RecordIndex, Stateful};
use sotto_testkit::rng::seeded;

/// Two clients with the same key and coins, one of which is lied to: what they send never differs.
#[test]
fn lies_do_not_change_what_is_sent() {
    let table = Table::new(30, 4, u64::MAX);
    let (mut honest, mut lied_to) = (table.client(8), table.client(8));
    let (one, other) = (&mut seeded("lies"), &mut seeded("lies"));
    let (mut unreadable, mut rejected) = (0, 0);
    for i in 0..table.params.pairs() as u64 {
        let index = i * i % 30;
        let (request, pending) = table.ask(&mut honest, index, one);
        honest.recover(pending, table.answer(&request)).unwrap();
        let (same, pending) = table.ask(&mut lied_to, index, other);
        assert_eq!(request, same, "query {i}");
        let mut answer = table.answer(&same);
        let One(crate::message::Answer(parities)) = &mut answer;
        match i % 4 {
            0 => parities[0] ^= 1,
            1 => parities[5] ^= 1,
            _ => {}
        }
        let number = S3pir::number(&pending);
        match lied_to.recover(pending, answer) {
            Ok(record) if record.bytes() != table.row(index) => {
                assert!(i % 4 < 2, "an honest answer to query {i} gave another row");
                S3pir::reject(&mut lied_to, number);
                rejected += 1;
            }
            Ok(_) => {}
            Err(Error::Unreadable) => unreadable += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    assert!(rejected > 20 && unreadable > 20, "{rejected} rejected, {unreadable} unreadable");
}

/// What was rejected is forgotten; what was not is in the parity.
#[test]
fn a_rejected_row_is_nowhere() {
    let table = Table::new(30, 4, u64::MAX);
    let rng = &mut seeded("rejected");
    let mut client = table.client(2);
    let (request, pending) = table.ask(&mut client, 3, rng);
    let number = S3pir::number(&pending);
    let promoted = client.asked[0].promoted;
    client.recover(pending, table.answer(&request)).unwrap();
    table.check_parities(&client);
    S3pir::reject(&mut client, number + 1);
    table.check_parities(&client);
    S3pir::reject(&mut client, number);
    assert!(client.hints.parity(promoted) == [0; 4] && !client.hints.is(promoted, crate::hints::KNOWN));
    // A query that spends it cannot be read, and all others can.
    let mut unreadable = 0;
    for _ in 0..300 {
        match table.fetch(&mut client, 3, rng) {
            Ok(()) => {}
            Err(Error::Unreadable) => unreadable += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    assert!(unreadable >= 1, "one of a few hints with the row was chosen in 300 queries");
}

/// With three hints most rows are in none. A request is sent all the same, of the same form, and read as nothing.
#[test]
fn a_row_in_no_hint_is_asked_for_and_not_found() {
    let literal =
        ParamsLiteral { rows: 64, row_bytes: 3, partitions: 8, partition_rows: 8, hints: 3, pairs: 4000 };
    let table = Table::unreliable(literal);
    let rng = &mut seeded("no hint");
    let mut client = table.client(1);
    let (mut found, mut ones) = (0, [0u32; 8]);
    for i in 0..4000 {
        let (request, pending) = table.ask(&mut client, i * 7 % 64, rng);
        ones.iter_mut().enumerate().for_each(|(k, count)| *count += u32::from(request[0] >> k & 1));
        match client.recover(pending, table.answer(&request)) {
            Ok(record) => {
                assert!(record.bytes() == table.row(i * 7 % 64));
                found += 1;
            }
            Err(Error::Unreadable) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    // Three hints with five rows each: a row is in one of them once in five queries or less.
    assert!((100..1500).contains(&found), "{found}");
    table.check_parities(&client);
    // Each partition is in set 1 in half of the requests; 4000 coins have a deviation of 32.
    assert!(ones.iter().all(|count| count.abs_diff(2000) < 160), "{ones:?}");
    assert!(matches!(client.query(RecordIndex(0), rng), Err(Error::Exhausted(_))));
}

#[test]
fn foreign_and_repeated_queries_are_misuse() {
    let table = Table::new(30, 4, 100);
    let rng = &mut seeded("foreign");
    let (mut one, mut other) = (table.client(1), table.client(2));
    let (request, pending) = table.ask(&mut one, 3, rng);
    let _ = table.ask(&mut other, 3, rng);
    let result = other.recover(pending, table.answer(&request)).map(|_| "a record");
    assert!(matches!(result, Err(Error::Misuse(_))), "{result:?}");
    let again = S3pir::reopen(&mut one, 0).unwrap();
    let twice = S3pir::reopen(&mut one, 0).unwrap();
    one.recover(again, table.answer(&request)).unwrap();
    let result = one.recover(twice, table.answer(&request)).map(|_| "a record");
    assert!(matches!(result, Err(Error::Misuse(_))), "{result:?}");
    assert!(S3pir::reopen(&mut one, 0).is_err() && S3pir::reopen(&mut one, 1).is_err());
    assert!(matches!(malformed("x"), Error::Peer(_)));
}
