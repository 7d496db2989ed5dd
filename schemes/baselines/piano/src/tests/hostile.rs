//! Rows that were recovered and stored, rows that are rejected, and parameters under which hints
//! run out.

use super::table;
use crate::hints::KNOWN;
use crate::params::ParamsLiteral;
use crate::{Params, Piano};
use sotto_core::{Client as _, Error, Params as _, RecordIndex, Stateful};
use sotto_testkit::rng::seeded;
use sotto_testkit::served::InProcessServer;

/// A row that was recovered is not requested again: no backup is used, and the row is the stored
/// one.
#[test]
fn rows_are_asked_for_once() {
    let table = table(500, 4);
    let rng = &mut seeded("once");
    let mut client = table.client("once");
    for i in 0..60 {
        let (request, pending) = table.query(&mut client, i % 6, rng);
        let mut answer = table.answer(&client, &request);
        if i >= 6 {
            // The answer to a repeated query is not used.
            answer.0.0.fill(0x5A);
        }
        assert!(client.recover(pending, answer).unwrap().bytes() == table.row(i % 6));
        let used: u64 = client.hints.backup_stock.of.iter().map(|used| u64::from(*used)).sum();
        assert_eq!(used, (i + 1).min(6));
    }
}

/// A rejected row is forgotten: the hint that learned it has unknown parity, and the row is not
/// stored; also if it was a stored one.
#[test]
fn a_rejected_row_is_nowhere() {
    let table = table(300, 4);
    for again in [false, true] {
        let rng = &mut seeded("rejected");
        let mut client = table.client("rejected");
        let open_queries = table.query(&mut client, 3, rng);
        let promoted = client.open_queries[0].plan.promoted;
        table.read(&mut client, 3, open_queries).unwrap();
        if again {
            table.fetch(&mut client, 3, rng).unwrap();
        }
        Piano::reject(&mut client, 2);
        assert!(client.own.is_known(0) && client.own.row(0) == table.row(3));
        Piano::reject(&mut client, u64::from(again));
        assert!(!client.own.is_known(0) && client.own.row(0) == [0; 4]);
        if !again {
            assert!(client.hints.parity(promoted) == [0; 4] && !client.hints.is(promoted, KNOWN));
        }
        // It is not requested again, and others are recovered, except for those that the hint is
        // spent on.
        assert!(matches!(table.fetch(&mut client, 3, rng), Err(Error::Unreadable)));
        let failed = (4..60).filter(|row| table.fetch(&mut client, *row, rng).is_err()).count();
        assert!(failed <= 1, "one hint is lost, not {failed}");
    }
}

/// With three hints most rows are in none. A query is sent all the same, of the same form, and
/// recovers nothing.
#[test]
fn a_row_in_no_hint_is_asked_for_and_not_found() {
    let literal = ParamsLiteral {
        rows: 4096,
        row_bytes: 3,
        partitions: 64,
        partition_rows: 64,
        hints: 3,
        backups: 64,
        queries: 3000,
    };
    assert!(Params::check(literal.clone()).is_err());
    let table = InProcessServer::<Piano>::new(Params::of(literal).unwrap());
    let rng = &mut seeded("no hint");
    let mut client = table.client("no hint");
    let mut found = 0;
    for i in 0..3000 {
        match table.fetch(&mut client, i, rng) {
            Ok(()) => found += 1,
            Err(Error::Unreadable) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    // Each of three hints has one row of 64.
    assert!((60..240).contains(&found), "{found}");
    assert!(matches!(client.query(RecordIndex(0), rng), Err(Error::Exhausted(_))));
}
