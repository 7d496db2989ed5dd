//! Hints that follow a table from epoch to epoch.

use super::setup::Table;
use crate::S3pir;
use sotto_core::{Artifact, Change, Client as _, Revise, Stateful};
use sotto_testkit::memory::MemorySink;
use sotto_testkit::rng::seeded;

/// The next epoch with these rows changed, and its delta.
fn revise(table: &Table, rows: &[u64], rng: &mut dyn sotto_core::CryptoRng) -> (Table, Vec<u8>) {
    let mut next = table.rows.clone();
    let changes: Vec<Change> = rows
        .iter()
        .map(|row| {
            let mut bytes = vec![0; table.params.row_bytes()];
            rng.fill_bytes(&mut bytes);
            next[*row as usize * bytes.len()..][..bytes.len()].copy_from_slice(&bytes);
            Change { record: *row, offset: 0, bytes }
        })
        .collect();
    let sink = MemorySink::holding(table.image.clone());
    S3pir::revise(&table.params, &changes, &sink).unwrap();
    let delta = sink.into_image().artifact(Artifact::RowsDelta).unwrap().to_vec();
    (Table::of(table.params.clone(), next), delta)
}

#[test]
fn every_parity_follows() {
    for rows in [1, 2, 9, 50, 100] {
        let rng = &mut seeded("follow");
        let mut table = Table::new(rows, 6, u64::MAX);
        let mut client = table.client(rows);
        let changed: [Vec<u64>; 4] =
            [vec![], vec![rows - 1], (0..rows).step_by(3).collect(), (0..rows).collect()];
        for changed in changed {
            for i in 0..5 {
                table.fetch(&mut client, i % rows, rng).unwrap();
            }
            // These wait while the table changes; two of them need the same row.
            let waiting: Vec<_> =
                [0, 0, rows - 1, rows / 2].map(|index| (index, table.ask(&mut client, index, rng))).into();
            let (next, delta) = revise(&table, &changed, rng);
            S3pir::follow(&mut client, &delta).unwrap();
            next.check_parities(&client);
            for (index, (request, pending)) in waiting {
                let record = client.recover(pending, next.answer(&request)).unwrap();
                assert!(record.bytes() == next.row(index), "row {index} of {rows}");
            }
            next.check_parities(&client);
            table = next;
        }
    }
}
