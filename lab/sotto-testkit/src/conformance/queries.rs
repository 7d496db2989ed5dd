//! Queries: fresh randomness, repeatable from a seed; misuse; budgets; many clients' in one pass.

use super::rows::packs;
use super::subject::{Case, Fill, MIDDLE, NARROW, Subject, Table, WIDE, single};
use super::wire::harmless;
use crate::cleartext::{CLEAR, CLEAR_KEYED};
use crate::rng::seeded;
use sotto_core::{AnySession, Budget, CryptoRng, Error, Misuse, RecordIndex};

/// All randomness comes from the given generator.
pub fn repeat(subject: &Subject) {
    let table = subject.table(MIDDLE);
    let transcript = || {
        let rng = &mut seeded("repeat");
        let mut client = table.client(rng);
        let queries = table.some_records().into_iter().map(|record| {
            let (queries, _) = client.query(RecordIndex(record), rng).unwrap();
            queries
        });
        let queries: Vec<_> = queries.collect();
        (client.keys(), queries)
    };
    assert!(transcript() == transcript(), "the same seed gave other bytes");
}

/// Two queries for one record share nothing by which a server could link them: not within a client,
/// not between clients.
pub fn differ(subject: &Subject) {
    let table = subject.table(MIDDLE);
    let rng = &mut seeded("differ");
    let (mut one, mut other) = (table.client(rng), table.client(rng));
    let record = RecordIndex(table.report.records / 2);
    let mut query = |client: &mut dyn sotto_core::AnyClient| client.query(record, rng).unwrap().0;
    let queries = [query(one.as_mut()), query(one.as_mut()), query(other.as_mut())];
    let equal = |a: usize, b: usize| queries[a].iter().zip(&queries[b]).any(|(a, b)| a == b);
    if subject.private {
        assert!(!equal(0, 1) && !equal(0, 2) && !equal(1, 2), "two queries for one record are equal");
    } else {
        assert!(
            equal(0, 1),
            "a scheme in the clear repeats itself; if it no longer does, test it as private"
        );
    }
}

/// The first record past the end, and the largest index.
pub fn past_the_end(subject: &Subject) {
    let table = subject.table(MIDDLE);
    let rng = &mut seeded("past the end");
    let mut client = table.client(rng);
    let records = table.report.records;
    for past in [records, records + 1, u64::MAX] {
        match client.query(RecordIndex(past), rng) {
            Err(Error::Misuse(Misuse::IndexPastEnd { index, len })) => {
                assert_eq!((index, len), (past, records))
            }
            other => panic!("index {past} of {records} gave {:?}", other.map(|_| "a query")),
        }
    }
    let last = table.fetch(client.as_mut(), records - 1, rng).expect("refusals leave the client usable");
    assert!(last.bytes() == table.record(records - 1));
}

/// Pending secrets of another client, of another table, and of another scheme. A scheme need not
/// recognize the first two as foreign: they may give a wrong record, but no panic.
pub fn foreign_tickets(subject: &Subject) {
    let table = subject.table(MIDDLE);
    let rng = &mut seeded("foreign tickets");
    let mut client = table.client(rng);
    let (_, answers) = table.query(client.as_mut(), table.some_record(), rng);

    let (of_another_client, _) = table.query(table.client(rng).as_mut(), table.some_record(), rng);
    harmless(client.recover(of_another_client, &answers));

    let small = subject.table(NARROW);
    let (of_another_table, answers_there) = small.query(small.client(rng).as_mut(), 0, rng);
    harmless(client.recover(of_another_table, &answers));
    let (pending, _) = table.query(client.as_mut(), table.some_record(), rng);
    harmless(client.recover(pending, &answers_there));

    let stranger = Subject::in_the_clear(&CLEAR).fresh_table(MIDDLE);
    let (of_another_scheme, _) = stranger.query(stranger.client(rng).as_mut(), 1, rng);
    let result = client.recover(of_another_scheme, &answers);
    if subject.private {
        assert!(
            matches!(result, Err(Error::Misuse(Misuse::ForeignValue(_)))),
            "a ticket of another scheme was taken"
        );
    } else {
        harmless(result);
    }
}

/// A session that a server of another scheme made.
pub fn foreign_sessions(subject: &Subject) {
    let table = subject.table(MIDDLE);
    let rng = &mut seeded("foreign sessions");
    let stranger = Subject::in_the_clear(&CLEAR_KEYED).fresh_table(MIDDLE);
    let session = stranger.session(stranger.client(rng).as_ref());
    let (queries, _) = table.client(rng).query(RecordIndex(table.some_record()), rng).unwrap();
    let result = table.answer(&session, &queries);
    match result {
        // Schemes in the clear share one kind of session, where they have keys.
        Ok(answers) if !subject.private => assert_eq!(answers[0].len(), table.server.answer_bytes()),
        Err(Error::Misuse(Misuse::ForeignValue(_))) => {}
        other => panic!("a session of another scheme was taken: {other:?}"),
    }
}

/// A session made at one epoch is valid at the next: a server holds it for as long as the
/// parameters stay.
pub fn sessions_outlive_epochs(subject: &Subject) {
    let table = subject.table(MIDDLE);
    let next = subject.table(Case { fill: Fill::Byte(0x80), ..MIDDLE });
    assert!(table.params == next.params, "parameters are chosen by the table's shape alone");
    let rng = &mut seeded("sessions outlive epochs");
    let mut client = next.client(rng);
    let kept = table.session(client.as_ref());
    let (queries, pending) = client.query(RecordIndex(table.some_record()), rng).unwrap();
    let answers = next.answer(&kept, &queries).expect("a session of the epoch before is taken");
    let read = client.recover(pending, &answers).expect("an honest answer is read");
    assert!(
        read.bytes() == next.record(table.some_record()),
        "a session of the epoch before gave another record"
    );
}

/// A limited budget decreases by one with each query and ends in [`Error::Exhausted`].
pub fn budget(subject: &Subject) {
    if subject.entry.hint_server.is_some() {
        return super::hint_requests::budget(subject);
    }
    let table = subject.table(NARROW);
    let rng = &mut seeded("budget");
    let mut client = table.client(rng);
    let mut left = client.budget();
    // The number suffices for a small budget, and takes just a moment of a large one.
    for _ in 0..64 {
        let result = client.query(RecordIndex(0), rng);
        let expected = match left {
            Budget::Unlimited => Budget::Unlimited,
            Budget::Left(0) => {
                assert!(matches!(result, Err(Error::Exhausted(_))), "a query beyond the budget");
                return;
            }
            Budget::Left(n) => Budget::Left(n - 1),
        };
        assert!(result.is_ok(), "a query within the budget failed");
        left = client.budget();
        assert_eq!(left, expected);
    }
}

/// The entry and the server agree on the scheme's abilities, and each ability has its
/// prerequisites.
pub fn abilities(subject: &Subject) {
    let (entry, table) = (subject.entry, subject.table(MIDDLE));
    assert_eq!(entry.units.is_some(), table.server.stream().is_some(), "units and streams");
    let buckets = entry.batch.map(|buckets| buckets(&table.params).expect("good parameters have buckets"));
    assert!(buckets.is_none_or(|buckets| buckets == 1), "an ordinary table has one bucket");
    assert_eq!(entry.hint_server.is_some(), table.server.hint_server().is_some(), "orders and supplies");
    assert!(
        entry.patch.is_none() || entry.server.update_image.is_some(),
        "only a revision writes deltas to patch with"
    );
    assert!(entry.hint_server.is_none() || entry.state.is_some(), "a client that orders hints has a state");
    assert!(entry.query_servers <= entry.servers, "queries go to servers that are there");
}

/// Batch sizes around those at which kernels change.
const SIZES: [usize; 7] = [0, 1, 2, 3, 4, 8, 17];

/// Answers of a batch are, byte for byte, those of its queries alone.
pub fn batches_equal_singles(subject: &Subject) {
    for case in [MIDDLE, WIDE] {
        let table = subject.table(case);
        // Kernels change with the size of a batch, and not with a table's width: where an answer
        // takes a while, only one table has large batches.
        let max = if packs(subject) && case == WIDE { 3 } else { 17 };
        let random_queries = random_queries(&table, max as u64, &mut seeded("batches"));
        let alone: Vec<Vec<u8>> = random_queries
            .iter()
            .map(|(session, query)| single(table.server.as_ref(), session, query).unwrap())
            .collect();
        for size in SIZES.into_iter().filter(|size| *size <= max) {
            let batch: Vec<_> =
                random_queries[..size].iter().map(|(session, query)| (session, &query[..])).collect();
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
    let random_queries = random_queries(&table, 5, &mut seeded("bad among good"));
    let batch: Vec<_> = random_queries.iter().map(|(session, query)| (session, &query[..])).collect();
    let good = table.server.answer_many(&batch);
    for bad in 0..random_queries.len() {
        let mut batch = batch.clone();
        batch[bad].1 = &batch[bad].1[1..];
        let answers = table.server.answer_many(&batch);
        assert_eq!(answers.len(), random_queries.len());
        for (index, answer) in answers.into_iter().enumerate() {
            match answer {
                Err(error) => assert!(index == bad && matches!(error, Error::Peer(_)), "{index}: {error}"),
                Ok(answer) => assert!(index != bad && Some(&answer) == good[index].as_ref().ok(), "{index}"),
            }
        }
    }
}

/// Queries for various records, each by its own client.
fn random_queries(table: &Table, count: u64, rng: &mut dyn CryptoRng) -> Vec<(AnySession, Vec<u8>)> {
    let mut ask = |index: u64| {
        let mut client = table.client(rng);
        let (mut queries, _) = client.query(RecordIndex(index * 7 % table.report.records), rng).unwrap();
        let session = table.session(client.as_ref());
        (session, queries.swap_remove(index as usize % queries.len()))
    };
    (0..count).map(&mut ask).collect()
}
