//! Rows that are rejected, and parameters under which hints run out.

use super::setup::Table;
use crate::S3pir;
use crate::params::ParamsLiteral;
use sotto_core::{Client as _, Error, RecordIndex, Stateful};
use sotto_testkit::rng::seeded;

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

/// The last partitions may lie past the last row. A checkpoint that has them has more than a table gives.
#[test]
fn a_checkpoint_of_more_than_the_table_is_refused() {
    let table = Table::new(20, 3, 100);
    let params = &table.params;
    assert_eq!((params.partitions(), params.partition_rows()), (4, 8));
    let mut checkpoint = [&[9; 16][..], &[1], &4u64.to_le_bytes()].concat();
    checkpoint.resize(checkpoint.len() + (params.hints() + 2 * params.pairs()) * params.row_bytes(), 0);
    let result = S3pir::resume(params, &mut checkpoint.as_slice()).map(|_| "a preparation");
    assert!(matches!(result, Err(Error::Peer(_))), "{:?}", result.err());
}
