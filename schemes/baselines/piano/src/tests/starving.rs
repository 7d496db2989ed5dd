//! The limit of this scheme: backups belong to partitions. A client that requests rows of one
//! partition uses them up while most of the budget is left, and from then on lookups of that
//! partition fail. Only the client notices: see `views`, too.

use super::{rows_of, table};
use crate::Params;
use crate::params::ParamsLiteral;
use sotto_core::{Budget, Client as _, Error, Params as _};
use sotto_testkit::rng::seeded;

/// Different rows of one partition, each once: as many are recovered as the partition has backups.
#[test]
fn rows_of_one_partition_use_its_backups_up() {
    let table = table(1 << 14, 4);
    let (m, queries) = (table.params.backups(), table.params.queries() as u64);
    let rows = rows_of(&table.params, 5);
    assert_eq!((rows.len(), m, queries), (128, 44, 1243));
    let detail = table.params.report().details.into_iter().find(|(name, _)| *name == "failure").unwrap().1;
    assert!(detail.contains("without regard to the table's public order"), "{detail}");

    let rng = &mut seeded("starving");
    let mut client = table.client("starving");
    for (i, row) in rows.iter().enumerate() {
        let (before, state) = (client.hints.backup_stock.of.clone(), client.hints.of.clone());
        let result = table.fetch(&mut client, *row, rng);
        if i < m {
            assert!(result.is_ok(), "{i} of {m}");
        } else {
            // Nothing is spent, and the query was of the same form (`InProcessServer::ask` checks
            // it).
            assert!(matches!(result, Err(Error::Unreadable)), "{i} of {m}: {result:?}");
            assert!(client.hints.backup_stock.of == before && client.hints.of == state);
        }
    }
    assert_eq!(client.budget(), Budget::Left(queries - 128));
    // Rows of other partitions are recovered as before, and so are rows of this one that were
    // recovered already.
    let others = (0..(1 << 14)).filter(|row| !rows.contains(row));
    others.take(300).for_each(|row| table.fetch(&mut client, row, rng).unwrap());
    assert!(table.fetch(&mut client, rows[0], rng).is_ok());
}

/// One row again and again, without waiting for its answer.
#[test]
fn a_row_asked_for_before_it_was_read_takes_a_backup_each_time() {
    let table = table(1 << 14, 4);
    let m = table.params.backups();
    let rng = &mut seeded("never waiting");
    let mut client = table.client("never waiting");
    let open_queries: Vec<_> = (0..m + 3).map(|_| table.query(&mut client, 77, rng)).collect();
    for (i, open_queries) in open_queries.into_iter().enumerate() {
        assert_eq!(table.read(&mut client, 77, open_queries).is_ok(), i < m, "{i} of {m}");
    }
    assert!(table.fetch(&mut client, 78, rng).is_ok());
}

/// Small tables have backups for every row, and parameters that promise more than they cover are
/// refused.
#[test]
fn what_is_not_covered_is_not_promised() {
    let small = table(200, 4);
    let rng = &mut seeded("small");
    assert!(small.params.backups() >= small.params.partition_rows());
    for partition in 0..small.params.partitions() as u16 {
        let mut client = small.client(&format!("partition {partition}"));
        let rows = rows_of(&small.params, partition);
        rows.iter().for_each(|row| small.fetch(&mut client, *row, rng).unwrap());
    }
    let literal = small.params.literal();
    let few = ParamsLiteral { backups: literal.partition_rows - 1, ..literal.clone() };
    assert!(Params::check(few.clone()).is_err() && Params::of(few).is_ok());
}
