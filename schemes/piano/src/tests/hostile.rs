//! Rows that are rejected, and parameters under which hints run out.

use super::setup::Table;
use crate::Piano;
use crate::params::ParamsLiteral;
use sotto_core::{Client as _, Error, RecordIndex, Stateful};
use sotto_testkit::rng::seeded;

/// What was rejected is forgotten: the hint that learnt it is of unknown parity, and the row is not kept.
#[test]
fn a_rejected_row_is_nowhere() {
    let table = Table::new(300, 4, u64::MAX);
    let rng = &mut seeded("rejected");
    let mut client = table.client(2);
    let (request, pending) = table.ask(&mut client, 3, rng);
    let number = Piano::number(&pending);
    let promoted = client.asked[0].promoted;
    client.recover(pending, table.answer(&request)).unwrap();
    Piano::reject(&mut client, number + 1);
    table.check_parities(&client);
    assert!(client.seen.is_known(0) && client.seen.row(0) == table.row(3));
    Piano::reject(&mut client, number);
    assert!(client.hints.parity(promoted) == [0; 4] && !client.hints.is(promoted, crate::hints::KNOWN));
    assert!(!client.seen.is_known(0) && client.seen.row(0) == [0; 4]);
    // It is not asked for again, and others are read, but for those that the hint is spent on.
    assert!(matches!(table.fetch(&mut client, 3, rng), Err(Error::Unreadable)));
    let failed = (4..60).filter(|row| table.fetch(&mut client, *row, rng).is_err()).count();
    assert!(failed <= 1, "one hint is lost, not {failed}");
}

/// A row that came back once and is rejected when it comes out of what was kept is forgotten, too.
#[test]
fn a_kept_row_can_be_rejected() {
    let table = Table::new(300, 4, u64::MAX);
    let rng = &mut seeded("kept");
    let mut client = table.client(2);
    table.fetch(&mut client, 3, rng).unwrap();
    table.fetch(&mut client, 3, rng).unwrap();
    Piano::reject(&mut client, 1);
    assert!(matches!(table.fetch(&mut client, 3, rng), Err(Error::Unreadable)));
    table.check_parities(&client);
}

/// With three hints most rows are in none. A request is sent all the same, of the same form, and read as nothing.
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
    let table = Table::unreliable(literal);
    let rng = &mut seeded("no hint");
    let mut client = table.client(1);
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
    table.check_parities(&client);
    assert!(matches!(client.query(RecordIndex(0), rng), Err(Error::Exhausted(_))));
}
