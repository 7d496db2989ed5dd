//! Rows that are rejected, ids that are void, and parameters under which hints run out.

use super::table;
use crate::hints::KNOWN;
use crate::params::ParamsLiteral;
use crate::prf::VOID;
use crate::{Params, S3pir};
use sotto_core::{Budget, Client as _, Error, Params as _, RecordIndex, Stateful};
use sotto_testkit::rng::seeded;
use sotto_testkit::served::InProcessServer;

/// A rejected row is forgotten; an accepted one is in the parity.
#[test]
fn a_rejected_row_is_nowhere() {
    let table = table(30, 4, u64::MAX);
    let rng = &mut seeded("rejected");
    let mut client = table.client("rejected");
    let open_queries = table.query(&mut client, 3, rng);
    let number = S3pir::query_number(&open_queries.1);
    let promoted = client.open_queries[0].plan.promoted;
    table.read(&mut client, 3, open_queries).unwrap();
    S3pir::reject(&mut client, number + 1);
    assert!(client.hints.parity(promoted) != [0; 4] && client.hints.is(promoted, KNOWN));
    S3pir::reject(&mut client, number);
    assert!(client.hints.parity(promoted) == [0; 4] && !client.hints.is(promoted, KNOWN));
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

/// With three hints most rows are in none. A query is sent all the same, of the same form, and
/// recovers nothing.
#[test]
fn a_row_in_no_hint_is_asked_for_and_not_found() {
    let literal =
        ParamsLiteral { rows: 64, row_bytes: 3, partitions: 8, partition_rows: 8, hints: 3, pairs: 4000 };
    assert!(Params::check(literal.clone()).is_err());
    let table = InProcessServer::<S3pir>::new(Params::of(literal).unwrap());
    let rng = &mut seeded("no hint");
    let mut client = table.client("no hint");
    let (mut found, mut ones) = (0, [0u32; 8]);
    for i in 0..4000 {
        let open_queries = table.query(&mut client, i * 7 % 64, rng);
        ones.iter_mut().enumerate().for_each(|(k, count)| *count += u32::from(open_queries.0[0][0] >> k & 1));
        match table.read(&mut client, i * 7 % 64, open_queries) {
            Ok(()) => found += 1,
            Err(Error::Unreadable) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    // Three hints with five rows each: a row is in one of them once in five queries or less.
    assert!((100..1500).contains(&found), "{found}");
    // Each partition is in set 1 in half of the requests; 4000 coins have a deviation of 32.
    assert!(ones.iter().all(|count| count.abs_diff(2000) < 160), "{ones:?}");
    assert!(matches!(client.query(RecordIndex(0), rng), Err(Error::Exhausted(_))));
}

/// The last partitions may be past the last row. A checkpoint that covers them has more than a
/// table provides.
#[test]
fn a_checkpoint_of_more_than_the_table_is_refused() {
    let table = table(20, 3, 100);
    let params = &table.params;
    assert_eq!((params.partitions(), params.partition_rows()), (4, 8));
    let mut checkpoint = [&[9; 16][..], &[1], &4u64.to_le_bytes()].concat();
    checkpoint.resize(checkpoint.len() + (params.hints() + 2 * params.backups()) * params.row_bytes(), 0);
    let result = S3pir::resume(params, &mut checkpoint.as_slice()).map(|_| "a preparation");
    assert!(matches!(result, Err(Error::Peer(_))), "{:?}", result.err());
}

/// 2^-32 of ids have no cut; here some pairs lose theirs.
#[test]
fn void_pairs_are_passed_over() {
    let table = table(60, 4, 100);
    let rng = &mut seeded("void pairs");
    let mut client = table.client("void pairs");
    let pairs = table.params.hints()..table.params.ids();
    let void = [pairs.start, pairs.start + 1, pairs.start + 40, pairs.end - 1];
    void.iter().for_each(|id| client.hints.of[*id].set = VOID);
    client.hints.backup_stock.left -= void.len() as u64;
    for left in (0..100 - void.len() as u64).rev() {
        table.fetch(&mut client, left % 60, rng).unwrap();
        assert_eq!(client.budget(), Budget::Left(left));
    }
    assert!(matches!(client.query(RecordIndex(0), rng), Err(Error::Exhausted(_))));
}

/// A client that streams the table has no blocks.
#[test]
fn a_supply_in_the_journal_of_one_server_is_refused() {
    let mut client = table(10, 2, 64).client("no blocks");
    let entry = [&[4], &[0; 8][..], &[0; 64]].concat();
    assert!(matches!(S3pir::replay(&mut client, &entry), Err(Error::Peer(_))));
}
