//! Abilities that some schemes have: one query for a record of each bucket or for a sum of records,
//! records read piece by piece, and tables under masks of their own.

use super::subject::{Case, Fill, MIDDLE, NARROW, Subject, Table, WIDE};
use super::wire::{damage, harmless};
use crate::memory::{MemoryImage, MemorySink};
use crate::rng::seeded;
use rand_core::Rng;
use sotto_core::{
    AnyClient, AnyPending, AnySession, AnyStreamServer, CryptoRng, Error, Image, Misuse, Record, RecordIndex,
    Result, Section, TableShape, UnitLayout, WhiteningEntry, WriteSlot,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Queries about several records look like one for a single record, and differ for the same records.
fn look_alike(subject: &Subject, table: &Table, session: &AnySession, queries: &[&Vec<Vec<u8>>]) {
    for sent in queries {
        assert_eq!(sent.len(), queries[0].len(), "a query for each server");
        assert!(sent.iter().all(|query| query.len() as u64 == table.report.costs.query_bytes));
        let answers = table.answer(session, sent).expect("a client's own query is answered");
        assert!(answers.iter().all(|answer| answer.len() as u64 == table.report.costs.answer_bytes));
    }
    let [.., one, other] = queries else { panic!("two queries for the same records") };
    let equal = one.iter().zip(*other).any(|(one, other)| one == other);
    assert_eq!(equal, !subject.private, "two queries for the same records");
}

/// Rows in a bucket, bytes in a row, and number of buckets. Among them are rows that share a record
/// and rows that span several, and counts of buckets around a power of two.
const SHAPES: [(u64, u64, u64); 6] =
    [(40, 32, 1), (7, 32, 2), (20, 4, 3), (33, 16, 8), (5, 32, 9), (2, 4096, 3)];

/// Maximum number of places of a bucket that are tried.
const MAX_PLACES: u64 = 64;

/// A table of buckets, and the number of records of each.
fn bucket_table(subject: &Subject, (rows, row_bytes, buckets): (u64, u64, u64)) -> (Table, u64) {
    let table = Table::encode_buckets(subject.entry, Case { rows, row_bytes, fill: Fill::Random }, buckets);
    let found = subject.entry.batch.unwrap()(&table.params).expect("good parameters have buckets");
    assert_eq!(found, buckets, "the buckets that were asked for");
    let records = table.report.records;
    assert!(records.is_multiple_of(buckets), "{records} records do not divide into {buckets} equal buckets");
    let room = records / buckets / table.packing.records_per_row() as u64 * table.packing.rows_per_record();
    assert!(room >= rows, "a bucket has room for {room} of {rows} rows");
    (table, records / buckets)
}

fn ask_buckets(
    table: &Table,
    client: &mut dyn AnyClient,
    places: &[u64],
    rng: &mut dyn CryptoRng,
) -> Result<Vec<Record>> {
    let session = table.session(client);
    let batch = client.batch().expect("a client of a scheme with buckets asks for a record of each");
    let (queries, pending) = batch.query_buckets(places, rng)?;
    batch.recover_buckets(
        pending,
        &table.answer(&session, &queries).expect("a client's own query is answered"),
    )
}

/// Every record of every bucket, by places that are all different and all the same; first and last.
pub fn buckets_come_back(subject: &Subject) {
    for shape in SHAPES {
        let (table, each) = bucket_table(subject, shape);
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
            let records =
                ask_buckets(&table, client.as_mut(), &places, rng).expect("an honest answer is read");
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
pub fn bucket_sizes(subject: &Subject) {
    for shape in SHAPES {
        let (table, _) = bucket_table(subject, shape);
        let rng = &mut seeded("sizes of buckets");
        let mut client = table.client(rng);
        let session = table.session(client.as_ref());
        let single = client.query(RecordIndex(0), rng).unwrap().0;
        let places = vec![0; shape.2 as usize];
        let mut batch = || client.batch().unwrap().query_buckets(&places, rng).unwrap().0;
        let (one, other) = (batch(), batch());
        look_alike(subject, &table, &session, &[&single, &one, &other]);
    }
}

/// Too many places, too few, and places past their bucket.
pub fn bucket_misuse(subject: &Subject) {
    let (table, each) = bucket_table(subject, SHAPES[2]);
    let rng = &mut seeded("places past their buckets");
    let mut client = table.client(rng);
    for count in [0, 1, 2, 4, 9] {
        match ask_buckets(&table, client.as_mut(), &vec![0; count], rng) {
            Err(Error::Misuse(_)) => {}
            other => panic!("{count} places in 3 buckets gave {:?}", other.map(|_| "records")),
        }
    }
    for bucket in 0..3 {
        for past in [each, each + 1, 3 * each, u64::MAX] {
            let mut places = [0; 3];
            places[bucket] = past;
            match ask_buckets(&table, client.as_mut(), &places, rng) {
                Err(Error::Misuse(Misuse::IndexPastEnd { index, len })) => {
                    assert_eq!((index, len), (past, each))
                }
                other => panic!("place {past} of {each} gave {:?}", other.map(|_| "records")),
            }
        }
    }
    let last = vec![each - 1; 3];
    ask_buckets(&table, client.as_mut(), &last, rng).expect("refusals leave the client usable");
}

/// Answers cut short, missing, or with flipped bits.
pub fn damaged_buckets(subject: &Subject) {
    let (table, each) = bucket_table(subject, SHAPES[2]);
    let rng = &mut seeded("damaged buckets");
    let mut client = table.client(rng);
    let session = table.session(client.as_ref());
    let places = [1, 0, 2].map(|place: u64| place.min(each - 1));
    let (queries, _) = client.batch().unwrap().query_buckets(&places, rng).unwrap();
    let honest = table.answer(&session, &queries).unwrap();
    for server in 0..honest.len() {
        let mut read = |answers: &[Vec<u8>]| {
            let batch = client.batch().unwrap();
            let (_, pending) = batch.query_buckets(&places, rng).unwrap();
            batch.recover_buckets(pending, answers)
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

/// Parameters for buckets are refused without batch queries, and for unequal buckets.
pub fn buckets_refused(subject: &Subject) {
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

/// A table whose sums wrap: the most negative bytes, and many records.
const WRAPPING: Case = Case { fill: Fill::Byte(0x80), ..LONG };
const LONG: Case = Case { rows: 3000, row_bytes: 31, fill: Fill::Random };

fn query_sum(
    table: &Table,
    client: &mut dyn AnyClient,
    (first, ones): (u64, u128),
    rng: &mut dyn CryptoRng,
) -> Result<Record> {
    let session = table.session(client);
    let sum = client.sum().expect("a client of a scheme with sums asks for them");
    let (queries, pending) = sum.query_sum(RecordIndex(first), ones, rng)?;
    client.recover(pending, &table.answer(&session, &queries).expect("a client's own query is answered"))
}

/// Few and many records, scattered and consecutive, at both ends of the table and past the last;
/// and misuse.
pub fn sums_come_back(subject: &Subject) {
    let unit = subject.entry.sum.expect("a scheme with sums says what is added up");
    for case in [NARROW, MIDDLE, WIDE, LONG, WRAPPING] {
        let shape = TableShape { sums: true, ..TableShape::new(case.rows, case.row_bytes, 100) };
        let table = Table::encode_shape(subject.entry, case, &shape);
        let rng = &mut seeded("sums");
        let mut client = table.client(rng);
        let records = table.report.records;
        let mut any = || u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
        let patterns = [0, 1, 1 << 127 | 1, u128::MAX, any(), any()];
        let firsts = [0, records / 3, records.saturating_sub(128), records - 1];
        for (i, pattern) in patterns.into_iter().enumerate() {
            for first in firsts.iter().cycle().skip(i).take(2).copied() {
                let record = query_sum(&table, client.as_mut(), (first, pattern), rng)
                    .expect("an honest answer is read");
                let added = (0..128).filter(|i| pattern >> i & 1 == 1).map(|i| first + i);
                let added: Vec<&[u8]> =
                    added.take_while(|record| *record < records).map(|r| table.record(r)).collect();
                let bytes = table.report.record_bytes as usize;
                let number = |at: usize| {
                    let number = |record: &&[u8]| unit.number(&record[at..bytes.min(at + unit.bytes())]);
                    added.iter().map(number).fold(0, u16::wrapping_add)
                };
                let numbers = (0..bytes).step_by(unit.bytes());
                let mut want: Vec<u8> =
                    numbers.flat_map(|at| unit.bytes_of(number(at)).into_iter().take(unit.bytes())).collect();
                want.truncate(bytes);
                assert!(
                    record.bytes() == want,
                    "{case:?}: the sum of {pattern:x} from {first} on came back changed"
                );
            }
        }
        for past in [records, records + 1, u64::MAX] {
            match query_sum(&table, client.as_mut(), (past, 1), rng) {
                Err(Error::Misuse(Misuse::IndexPastEnd { index, len })) => {
                    assert_eq!((index, len), (past, records))
                }
                other => panic!("record {past} of {records} gave {:?}", other.map(|_| "a sum")),
            }
        }
    }
}

/// A query for a sum has the sizes of one for a record, and differs from another one for the same sum.
pub fn sum_sizes(subject: &Subject) {
    let table = subject.table(MIDDLE);
    let rng = &mut seeded("sizes of sums");
    let mut client = table.client(rng);
    let session = table.session(client.as_ref());
    let single = client.query(RecordIndex(0), rng).unwrap().0;
    let mut sum = |ones| client.sum().unwrap().query_sum(RecordIndex(0), ones, rng).unwrap().0;
    let (none, one, other) = (sum(0), sum(u128::MAX), sum(u128::MAX));
    look_alike(subject, &table, &session, &[&single, &none, &one, &other]);
}

/// The units of a table's records, and the server of units; `None` if the scheme does not stream.
fn streams(table: &Table) -> (UnitLayout, &dyn AnyStreamServer) {
    let units = table.entry.units.unwrap()(&table.params).expect("good parameters have units");
    let stream = table.server.stream().expect("the server streams what the entry has units of");
    assert_eq!(units, stream.units(), "entry and server disagree about units");
    (units, stream)
}

/// A query for a record, and the answers about all of its units.
fn unit_answers(
    table: &Table,
    client: &mut dyn AnyClient,
    record: u64,
    rng: &mut dyn CryptoRng,
) -> (AnyPending, Vec<Vec<u8>>) {
    let (units, stream) = streams(table);
    let session = table.session(client);
    let (queries, pending) = client.query(RecordIndex(record), rng).unwrap();
    let prepared = stream.prepare(&session, &queries[0]).expect("a client's own query is prepared");
    let answer = |unit| stream.unit(&prepared, unit).expect("a prepared query is answered");
    (pending, (0..units.count).map(answer).collect())
}

/// Sizes are those of the layout, the units together are the record, and one query suffices to read
/// them twice.
pub fn units_come_back(subject: &Subject) {
    for case in [NARROW, MIDDLE, WIDE] {
        let table = subject.table(case);
        let rng = &mut seeded("units");
        let mut client = table.client(rng);
        let (units, _) = streams(&table);
        assert!(units.count >= 1 && units.count * units.bytes == table.report.record_bytes, "{units:?}");
        for record in table.some_records() {
            let (pending, answers) = unit_answers(&table, client.as_mut(), record, rng);
            assert!(answers.iter().all(|answer| answer.len() as u64 == units.answer_bytes));
            let client = client.units().expect("a client of a scheme that streams reads units");
            for _ in 0..2 {
                let mut read: Vec<u8> = Vec::new();
                for (unit, answer) in (0..).zip(&answers) {
                    read.extend(client.recover_unit(&pending, unit, answer).unwrap().bytes());
                }
                assert!(read == table.record(record), "record {record} of {case:?} came back changed");
            }
        }
    }
}

/// Units past the end, foreign pending secrets, answers of wrong lengths and with flipped bits.
pub fn damaged_units(subject: &Subject) {
    let table = subject.table(MIDDLE);
    let rng = &mut seeded("damaged units");
    let mut client = table.client(rng);
    let (units, stream) = streams(&table);
    let (pending, answers) = unit_answers(&table, client.as_mut(), 1, rng);
    let session = table.session(client.as_ref());
    let (queries, _) = client.query(RecordIndex(1), rng).unwrap();
    for len in 0..queries[0].len() {
        assert!(matches!(stream.prepare(&session, &queries[0][..len]), Err(Error::Peer(_))));
    }
    let prepared = stream.prepare(&session, &queries[0]).unwrap();
    let past = |error| matches!(error, Some(Error::Misuse(Misuse::IndexPastEnd { .. })));
    let reader = client.units().unwrap();
    for unit in [units.count, u64::MAX] {
        assert!(past(stream.unit(&prepared, unit).err()));
        assert!(past(reader.recover_unit(&pending, unit, &answers[0]).err()));
    }
    for answer in &answers {
        for len in (0..answer.len()).step_by((answer.len() / 64).max(1)) {
            assert!(matches!(reader.recover_unit(&pending, 0, &answer[..len]), Err(Error::Peer(_))));
        }
        for damaged in damage(answer, rng) {
            harmless(reader.recover_unit(&pending, 0, &damaged));
        }
    }
}

fn mask(subject: &Subject) -> WhiteningEntry {
    subject.entry.server.whitening.unwrap()
}

/// The table under another mask.
fn under(table: &Table, params: &[u8]) -> MemoryImage {
    let sink = MemorySink::new();
    (table.entry.server.encode)(params, &table.records, &sink).expect("encoding in memory");
    sink.into_image()
}

fn resident(image: &MemoryImage) -> &[u8] {
    image.section(Section::Resident).expect("an image has a table")
}

/// One table under two masks has different parameters and bytes, and the same records with the
/// right parameters.
pub fn masks_of_their_own(subject: &Subject) {
    for case in [NARROW, WIDE] {
        let table = subject.table(case);
        let seeds = [[1; 32], [2; 32]];
        let params = seeds.map(|seed| (mask(subject).with_seed)(&table.params, seed).unwrap());
        let digests = params.each_ref().map(|params| (subject.entry.report)(params).unwrap().digest);
        assert!(
            digests[0] != digests[1] && digests[0] != table.report.digest,
            "{case:?}: masks are of the parameters"
        );
        let images = params.each_ref().map(|params| under(&table, params));
        assert!(resident(&images[0]) != resident(&images[1]), "{case:?}");
        let again = (mask(subject).with_seed)(&params[1], seeds[0]).unwrap();
        assert!(again == params[0] && resident(&under(&table, &again)) == resident(&images[0]));

        let record = table.report.records - 1;
        let fetched = |params: &[u8]| {
            let rng = &mut seeded("masks of their own");
            let server = (subject.entry.server.open)(params, Arc::new(images[1].clone())).unwrap();
            let mut client = (subject.entry.prepare)(params, rng).unwrap().finish().unwrap();
            let session = server.admit(&client.keys()).unwrap();
            let (queries, pending) = client.query(RecordIndex(record), rng).unwrap();
            let answer = server.answer_many(&[(&session, queries[0].as_slice())]).remove(0).unwrap();
            client.recover(pending, &[answer]).unwrap().bytes().to_vec()
        };
        assert!(fetched(&params[1]) == table.record(record));
        assert!(fetched(&params[0]) != table.record(record), "{case:?}: a mask that does nothing");
    }
}

/// No column has more written places than it has places, and at most an eighth of them may be
/// written.
pub fn mask_places(subject: &Subject) {
    for case in [NARROW, MIDDLE, Case { rows: 5000, ..MIDDLE }] {
        let table = subject.table(case);
        let records: Vec<u64> = (0..table.report.records).collect();
        let places = (mask(subject).places)(&table.params, &records).unwrap();
        assert_eq!(places.len(), records.len());
        let mut columns: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for WriteSlot { column, summand } in places {
            columns.entry(column).or_default().insert(summand);
        }
        let most = (mask(subject).max_writes)(&table.params).unwrap();
        let longest = columns.values().flatten().max().expect("a table has records") + 1;
        assert!(most <= longest.div_ceil(8).max(1), "{case:?}: {most} of {longest}");
    }
}
