//! Tests of both schemes with hints from the streamed table.

use super::parities::Hinted;
use piano::FullSets;
use s3pir::HalfSets;
use sotto_core::{Params as _, TableShape};
use sotto_hints::one_server::{
    BackupStock, Client, Family, LIVE, OWED, OneServerScheme, Params, PartitionPlace, Prf, RowOrder,
};
use sotto_testkit::rng::seeded;
use sotto_testkit::served::InProcessServer;
use std::collections::BTreeSet;

fn params<F: Family>(rows: u64, row_bytes: u64, lookups: u64) -> Params<F> {
    Params::check(Params::<F>::select(&TableShape::new(rows, row_bytes, lookups)).unwrap()).unwrap()
}

/// The place of each row.
fn places<F: Family>(params: &Params<F>) -> Vec<PartitionPlace> {
    let mut places = vec![PartitionPlace::default(); params.rows() as usize];
    F::Order::new(params.partitions(), params.partition_rows()).run(0, &mut places);
    places
}

impl<F: Family> Hinted for OneServerScheme<F> {
    fn table(rows: u64, row_bytes: u64, queries: u64) -> InProcessServer<Self> {
        InProcessServer::new(params(rows, row_bytes, queries))
    }

    fn client(table: &InProcessServer<Self>, label: &str) -> Client<F> {
        table.client(label)
    }

    /// A spent hint has no parity; a backup, or a hint that waits for its row, is not checked.
    fn check_parities(table: &InProcessServer<Self>, client: &Client<F>, _: bool) {
        let (places, hints) = (places(&table.params), &client.hints);
        for id in 0..hints.none() {
            let hint = hints.hint(id);
            let known = hint.mark & (LIVE | OWED) != 0 && hint.mark & F::KNOWN != 0;
            if !known && hints.backup_stock.has(&table.params, id as usize, &hint)[0] {
                continue;
            }
            let mut sum = vec![0; table.params.row_bytes()];
            for (row, place) in (0..).zip(&places).filter(|_| known) {
                if F::contains(&client.prf, id, &hint, *place) {
                    sum.iter_mut().zip(table.row(row)).for_each(|(sum, byte)| *sum ^= byte);
                }
            }
            assert!(hints.parity(id) == sum, "{id} of {}: {hint:?}", F::ID);
        }
    }
}

/// Sequences that the bounds do not cover: a partition has more rows than backups.
#[test]
fn covered_sequences_to_the_end_of_the_budget() {
    let table = InProcessServer::<OneServerScheme<FullSets>>::new(params(5000, 5, u64::MAX));
    let queries = table.params.queries() as u64;
    assert!(table.params.backups() < table.params.partition_rows() && queries > 300);
    let sequences: [fn(u64) -> u64; 2] = [|i| 3 * 128 + i % 128, |i| (i * 128 + i / 40) % 5000];
    for sequence in sequences {
        let (mut client, rng) = (table.client("covered"), &mut seeded("covered"));
        (0..queries).for_each(|i| table.fetch(&mut client, sequence(i), rng).unwrap());
    }
}

fn tags<F: Family>() {
    let prf = Prf::<F>::new(&params(1 << 16, 1, 1000), &[1; 16]);
    let tags: Vec<u16> =
        (0..4096).map(|i| prf.tag(PartitionPlace { partition: i / 256, offset: i % 256 })).collect();
    assert!(!tags.contains(&0));
    let distinct = tags.iter().collect::<BTreeSet<_>>().len();
    // 4096^2 / 2 / 65535 = 128 pairs are expected to meet.
    assert!((3900..4096).contains(&distinct), "{distinct} of 4096");
}

#[test]
fn tags_of_one_key_seldom_meet() {
    tags::<HalfSets>();
    tags::<FullSets>();
}
