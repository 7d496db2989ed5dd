//! Many clients' queries in one pass.

use super::rows::packs;
use super::subject::{MIDDLE, Subject, Table, WIDE, single};
use crate::rng::seeded;
use sotto_core::{AnySession, CryptoRng, Error, RecordIndex};

/// Batch sizes around those at which kernels change.
const SIZES: [usize; 7] = [0, 1, 2, 3, 4, 8, 17];

/// Answers of a batch are, byte for byte, those of its queries alone.
pub fn equal_singles(subject: &Subject) {
    for case in [MIDDLE, WIDE] {
        let table = subject.table(case);
        // Kernels change with the size of a batch, and not with a table's width: where an answer
        // takes a while, only one table has large batches.
        let max = if packs(subject) && case == WIDE { 3 } else { 17 };
        let asks = asks(&table, max as u64, &mut seeded("batches"));
        let alone: Vec<Vec<u8>> = asks
            .iter()
            .map(|(session, query)| single(table.server.as_ref(), session, query).unwrap())
            .collect();
        for size in SIZES.into_iter().filter(|size| *size <= max) {
            let batch: Vec<_> = asks[..size].iter().map(|(session, query)| (session, &query[..])).collect();
            let answers = table.server.answer_many(&batch);
            assert_eq!(answers.len(), size);
            for (answer, alone) in answers.into_iter().zip(&alone) {
                assert!(&answer.unwrap() == alone, "an answer in a batch of {size} differs");
            }
        }
    }
}

/// A malformed query at any position gets its error and leaves its neighbors alone.
pub fn bad_among_good(subject: &Subject) {
    let table = subject.table(MIDDLE);
    let asks = asks(&table, 5, &mut seeded("bad among good"));
    let batch: Vec<_> = asks.iter().map(|(session, query)| (session, &query[..])).collect();
    let good = table.server.answer_many(&batch);
    for bad in 0..asks.len() {
        let mut batch = batch.clone();
        batch[bad].1 = &batch[bad].1[1..];
        let answers = table.server.answer_many(&batch);
        assert_eq!(answers.len(), asks.len());
        for (index, answer) in answers.into_iter().enumerate() {
            match answer {
                Err(error) => assert!(index == bad && matches!(error, Error::Peer(_)), "{index}: {error}"),
                Ok(answer) => assert!(index != bad && Some(&answer) == good[index].as_ref().ok(), "{index}"),
            }
        }
    }
}

/// Queries for various records, each by its own client.
fn asks(table: &Table, count: u64, rng: &mut dyn CryptoRng) -> Vec<(AnySession, Vec<u8>)> {
    let mut ask = |index: u64| {
        let mut client = table.client(rng);
        let (mut queries, _) = client.query(RecordIndex(index * 7 % table.report.records), rng).unwrap();
        let session = table.session(client.as_ref());
        (session, queries.swap_remove(index as usize % queries.len()))
    };
    (0..count).map(&mut ask).collect()
}
