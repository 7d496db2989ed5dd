//! Records read piece by piece: the pieces are the record, and damaged ones give typed errors. Schemes without
//! the capability pass.

use super::subject::{MIDDLE, NARROW, Subject, Table, WIDE};
use super::wire::{damage, harmless};
use crate::rng::seeded;
use sotto_core::{AnyClient, AnyPending, AnyStreamServer, CryptoRng, Error, Misuse, RecordIndex, UnitLayout};

/// The units of a table's records, and the server of units; `None` if the scheme does not stream.
fn streams(table: &Table) -> (UnitLayout, &dyn AnyStreamServer) {
    let units = table.entry.units.unwrap()(&table.params).expect("good parameters have units");
    let stream = table.server.stream().expect("the server streams what the entry has units of");
    assert_eq!(units, stream.units(), "entry and server disagree about units");
    (units, stream)
}

/// A query for a record, and the answers about all of its units.
fn answers(
    table: &Table,
    client: &mut dyn AnyClient,
    record: u64,
    rng: &mut dyn CryptoRng,
) -> (AnyPending, Vec<Vec<u8>>) {
    let (units, stream) = streams(table);
    let session = table.session(client);
    let (queries, ticket) = client.query(RecordIndex(record), rng).unwrap();
    let prepared = stream.prepare(&session, &queries[0]).expect("a client's own query is prepared");
    let answer = |unit| stream.unit(&prepared, unit).expect("a prepared query is answered");
    (ticket, (0..units.count).map(answer).collect())
}

/// Sizes are those of the layout, the units together are the record, and one query suffices to read
/// them twice.
pub fn come_back(subject: &Subject) {
    for case in [NARROW, MIDDLE, WIDE] {
        let table = subject.table(case);
        let rng = &mut seeded("units");
        let mut client = table.client(rng);
        let (units, _) = streams(&table);
        assert!(units.count >= 1 && units.count * units.bytes == table.report.record_bytes, "{units:?}");
        for record in table.some_records() {
            let (ticket, answers) = answers(&table, client.as_mut(), record, rng);
            assert!(answers.iter().all(|answer| answer.len() as u64 == units.answer_bytes));
            let client = client.units().expect("a client of a scheme that streams reads units");
            for _ in 0..2 {
                let mut read: Vec<u8> = Vec::new();
                for (unit, answer) in (0..).zip(&answers) {
                    read.extend(client.open_unit(&ticket, unit, answer).unwrap().bytes());
                }
                assert!(read == table.record(record), "record {record} of {case:?} came back changed");
            }
        }
    }
}

/// Units past the end, foreign pending secrets, answers of wrong lengths and with flipped bits.
pub fn damaged(subject: &Subject) {
    let table = subject.table(MIDDLE);
    let rng = &mut seeded("damaged units");
    let mut client = table.client(rng);
    let (units, stream) = streams(&table);
    let (ticket, answers) = answers(&table, client.as_mut(), 1, rng);
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
        assert!(past(reader.open_unit(&ticket, unit, &answers[0]).err()));
    }
    for answer in &answers {
        for len in (0..answer.len()).step_by((answer.len() / 64).max(1)) {
            assert!(matches!(reader.open_unit(&ticket, 0, &answer[..len]), Err(Error::Peer(_))));
        }
        for damaged in damage(answer, rng) {
            harmless(reader.open_unit(&ticket, 0, &damaged));
        }
    }
}
