//! Answers do not depend on how many queries share a pass, or on how many threads share a matrix.

use crate::setup::{Table, literal};
use sotto_core::{Client as _, OneServer, RecordIndex, Server as _};
use sotto_silent::message::{Answer, Query};
use sotto_testkit::rng::seeded;

fn answers(table: &Table, queries: &[Query], threads: usize) -> Vec<Answer> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let pairs = queries.iter().map(|query| (&(), query.clone())).collect();
    pool.install(|| table.server.answer_many(pairs)).into_iter().map(Result::unwrap).collect()
}

#[test]
fn threads_and_batches_change_nothing() {
    // Ten panels, so that neither three nor seven threads divide them; seventeen queries are three passes.
    let (l, m) = (600, 37);
    let table = Table::new(literal(l, m, 27, 11), (0..l * m).map(|i| (i * i / 8) as u8).collect());
    let mut client = table.client();
    let rng = &mut seeded("batches");
    let (queries, pendings): (Vec<_>, Vec<_>) = (0..17)
        .map(|i| {
            client
                .query(RecordIndex(i * 2 % m), rng)
                .map(|(OneServer(query), pending)| (query, pending))
                .unwrap()
        })
        .unzip();
    let one_by_one: Vec<_> =
        queries.iter().map(|query| table.server.answer(&(), query.clone()).unwrap()).collect();
    for threads in [1, 3, 7, 16] {
        assert!(answers(&table, &queries, threads) == one_by_one, "{threads} threads");
    }
    assert!(table.server.answer_many(Vec::new()).is_empty());
    for ((i, pending), answer) in (0..).zip(pendings).zip(one_by_one) {
        let record = client.recover(pending, OneServer(answer)).unwrap();
        assert_eq!(record.bytes(), table.row(i * 2 % m));
    }
}
