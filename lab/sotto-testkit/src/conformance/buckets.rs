//! One query for a record of each bucket: all of them are recovered, for any places, and the query
//! looks like one for a single record.

use super::subject::{Case, Fill, MIDDLE, Subject, Table};
use super::wire::damage;
use crate::rng::seeded;
use sotto_core::{AnyClient, CryptoRng, Error, Misuse, Record, RecordIndex, Result, TableShape};

/// Rows in a bucket, bytes in a row, and number of buckets. Among them are rows that share a record
/// and rows that span several, and counts of buckets around a power of two.
const SHAPES: [(u64, u64, u64); 6] =
    [(40, 32, 1), (7, 32, 2), (20, 4, 3), (33, 16, 8), (5, 32, 9), (2, 4096, 3)];

/// Maximum number of places of a bucket that are tried.
const MAX_PLACES: u64 = 64;

/// A table of buckets, and the number of records of each.
fn table(subject: &Subject, (rows, row_bytes, buckets): (u64, u64, u64)) -> (Table, u64) {
    let table = Table::encode_buckets(subject.entry, Case { rows, row_bytes, fill: Fill::Random }, buckets);
    let found = subject.entry.batch.unwrap()(&table.params).expect("good parameters have buckets");
    assert_eq!(found, buckets, "the buckets that were asked for");
    let records = table.report.records;
    assert!(records.is_multiple_of(buckets), "{records} records are no {buckets} equal buckets");
    let room = records / buckets / table.packing.records_per_row() as u64 * table.packing.rows_per_record();
    assert!(room >= rows, "a bucket has room for {room} of {rows} rows");
    (table, records / buckets)
}

fn ask(
    table: &Table,
    client: &mut dyn AnyClient,
    places: &[u64],
    rng: &mut dyn CryptoRng,
) -> Result<Vec<Record>> {
    let session = table.session(client);
    let batch = client.batch().expect("a client of a scheme with buckets asks for a record of each");
    let (queries, ticket) = batch.query_buckets(places, rng)?;
    batch
        .recover_buckets(ticket, &table.answer(&session, &queries).expect("a client's own query is answered"))
}

/// Every record of every bucket, by places that are all different and all the same; first and last.
pub fn come_back(subject: &Subject) {
    for shape in SHAPES {
        let (table, each) = table(subject, shape);
        let rng = &mut seeded("buckets");
        let mut client = table.client(rng);
        let buckets = shape.2;
        let mut tries: Vec<Vec<u64>> = (0..each)
            .step_by(each.div_ceil(MAX_PLACES) as usize)
            .map(|place| (0..buckets).map(|bucket| (place + bucket) % each).collect())
            .collect();
        tries.extend([0, each / 2, each - 1].map(|place| vec![place; buckets as usize]));
        let ends = |odd| (0..buckets).map(|bucket| if bucket % 2 == odd { 0 } else { each - 1 }).collect();
        tries.extend([ends(0), ends(1)]);
        for places in tries {
            let records = ask(&table, client.as_mut(), &places, rng).expect("an honest answer is read");
            assert_eq!(records.len() as u64, buckets, "a record of each bucket");
            for (bucket, (record, place)) in (0..).zip(records.iter().zip(&places)) {
                let right = table.record(bucket * each + place);
                assert!(
                    record.bytes() == right,
                    "{shape:?}: place {place} of bucket {bucket} came back changed"
                );
            }
        }
        for index in table.some_records() {
            let record = table.fetch(client.as_mut(), index, rng).expect("an honest answer is read");
            assert!(record.bytes() == table.record(index), "{shape:?}: record {index} came back changed");
        }
    }
}

/// A query for a record of each bucket has the sizes of one for a single record, as reported, and
/// differs from another one for the same places.
pub fn sizes(subject: &Subject) {
    for shape in SHAPES {
        let (table, _) = table(subject, shape);
        let rng = &mut seeded("sizes of buckets");
        let mut client = table.client(rng);
        let session = table.session(client.as_ref());
        let single = client.query(RecordIndex(0), rng).unwrap().0;
        let places = vec![0; shape.2 as usize];
        let mut batch = || client.batch().unwrap().query_buckets(&places, rng).unwrap().0;
        let (one, other) = (batch(), batch());
        assert_eq!(one.len(), single.len(), "a query for each server");
        for queries in [&single, &one, &other] {
            assert!(queries.iter().all(|query| query.len() as u64 == table.report.costs.query_bytes));
            let answers = table.answer(&session, queries).expect("a client's own query is answered");
            assert!(answers.iter().all(|answer| answer.len() as u64 == table.report.costs.answer_bytes));
        }
        let equal = one.iter().zip(&other).any(|(one, other)| one == other);
        assert_eq!(equal, !subject.private, "two queries for the same places");
    }
}

/// Too many places, too few, and places past their bucket.
pub fn misuse(subject: &Subject) {
    let (table, each) = table(subject, SHAPES[2]);
    let rng = &mut seeded("places past their buckets");
    let mut client = table.client(rng);
    for count in [0, 1, 2, 4, 9] {
        match ask(&table, client.as_mut(), &vec![0; count], rng) {
            Err(Error::Misuse(_)) => {}
            other => panic!("{count} places in 3 buckets gave {:?}", other.map(|_| "records")),
        }
    }
    for bucket in 0..3 {
        for past in [each, each + 1, 3 * each, u64::MAX] {
            let mut places = [0; 3];
            places[bucket] = past;
            match ask(&table, client.as_mut(), &places, rng) {
                Err(Error::Misuse(Misuse::IndexPastEnd { index, len })) => {
                    assert_eq!((index, len), (past, each))
                }
                other => panic!("place {past} of {each} gave {:?}", other.map(|_| "records")),
            }
        }
    }
    let last = vec![each - 1; 3];
    ask(&table, client.as_mut(), &last, rng).expect("refusals leave the client usable");
}

/// Answers cut short, missing, or with flipped bits.
pub fn damaged(subject: &Subject) {
    let (table, each) = table(subject, SHAPES[2]);
    let rng = &mut seeded("damaged buckets");
    let mut client = table.client(rng);
    let session = table.session(client.as_ref());
    let places = [1, 0, 2].map(|place: u64| place.min(each - 1));
    let (queries, _) = client.batch().unwrap().query_buckets(&places, rng).unwrap();
    let honest = table.answer(&session, &queries).unwrap();
    for server in 0..honest.len() {
        let mut read = |answers: &[Vec<u8>]| {
            let batch = client.batch().unwrap();
            let (_, ticket) = batch.query_buckets(&places, rng).unwrap();
            batch.recover_buckets(ticket, answers)
        };
        let mut short = honest.clone();
        short[server].pop();
        assert!(matches!(read(&short), Err(Error::Peer(_))), "an answer that is too short");
        assert!(matches!(read(&honest[1..]), Err(Error::Peer(_))), "an answer is missing");
        for damaged in damage(&honest[server], &mut seeded("flipped bits")) {
            let mut answers = honest.clone();
            answers[server] = damaged;
            match read(&answers) {
                Ok(records) => {
                    let sized = |record: &Record| record.bytes().len() as u64 == table.report.record_bytes;
                    assert!(records.len() == 3 && records.iter().all(sized));
                }
                Err(Error::Unreadable | Error::Peer(_)) => {}
                Err(other) => panic!("a damaged answer gave {other:?}"),
            }
        }
    }
}

/// Only a scheme with batch queries has parameters for buckets, and only for equal ones.
pub fn refused(subject: &Subject) {
    let select = |rows, buckets| {
        let shape = TableShape { buckets, ..TableShape::new(rows, MIDDLE.row_bytes, 100) };
        (subject.entry.select)(&shape)
    };
    assert!(matches!(select(129, 0), Err(Error::Params(_))), "a table without a bucket");
    assert!(matches!(select(129, 2), Err(Error::Params(_))), "129 rows are no 2 equal buckets");
    match select(129, 3) {
        Ok(_) => assert!(subject.entry.batch.is_some(), "buckets were ignored"),
        Err(Error::Params(error)) => {
            let said = error.to_string();
            assert!(subject.entry.batch.is_none() && said.starts_with("buckets:"), "{said}");
        }
        Err(other) => panic!("buckets gave {other:?}"),
    }
}
