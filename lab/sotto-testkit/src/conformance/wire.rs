//! Sizes are what the report says, and damaged bytes give typed errors.

use super::subject::{Case, MIDDLE, NARROW, Subject, WIDE, single};
use crate::rng::seeded;
use sotto_core::{CryptoRng, Error, PeerMisbehaved, Record, RecordIndex, Result};

/// Keys, queries and answers have the sizes that report, server and wire agree on, for any request.
pub fn sizes(subject: &Subject) {
    for case in [NARROW, MIDDLE, WIDE] {
        let table = subject.table(case);
        let costs = table.report.costs;
        let rng = &mut seeded("sizes");
        let mut client = table.client(rng);
        assert_eq!(client.keys().len() as u64, costs.keys_bytes);
        assert_eq!(table.server.keys_bytes() as u64, costs.keys_bytes);
        assert_eq!(table.server.query_bytes() as u64, costs.query_bytes);
        assert_eq!(table.server.answer_bytes() as u64, costs.answer_bytes);
        let session = table.session(client.as_ref());
        for record in table.some_records() {
            let (queries, pending) = client.query(RecordIndex(record), rng).unwrap();
            assert_eq!(queries.len(), subject.entry.query_servers);
            assert!(queries.iter().all(|query| query.len() as u64 == costs.query_bytes));
            let answers = table.answer(&session, &queries).unwrap();
            assert!(answers.iter().all(|answer| answer.len() as u64 == costs.answer_bytes));
            let read = client.recover(pending, &answers).unwrap();
            assert!(read.bytes() == table.record(record), "record {record} of {case:?} came back changed");
        }
    }
}

/// Queries cut at each byte, and longer ones.
pub fn query_lengths(subject: &Subject) {
    let table = subject.table(MIDDLE);
    let rng = &mut seeded("query lengths");
    let mut client = table.client(rng);
    let session = table.session(client.as_ref());
    let (queries, _) = client.query(RecordIndex(table.some_record()), rng).unwrap();
    for query in queries {
        for wrong in wrong_lengths(&query) {
            wrong_length(single(table.server.as_ref(), &session, &wrong), wrong.len());
        }
    }
}

/// Answers cut at each byte, and longer ones, from each server.
pub fn answer_lengths(subject: &Subject) {
    let table = subject.table(MIDDLE);
    let rng = &mut seeded("answer lengths");
    let mut client = table.client(rng);
    let (_, answers) = table.query(client.as_mut(), table.some_record(), rng);
    for server in 0..answers.len() {
        for wrong in wrong_lengths(&answers[server]) {
            // `recover` consumes the pending secret, so every attempt has its own query.
            let (_, pending) = client.query(RecordIndex(table.some_record()), rng).unwrap();
            let mut damaged = answers.clone();
            damaged[server] = wrong;
            wrong_length(client.recover(pending, &damaged), damaged[server].len());
        }
    }
}

/// Keys cut at each byte, and longer ones.
pub fn key_lengths(subject: &Subject) {
    let table = subject.table(MIDDLE);
    let client = table.client(&mut seeded("key lengths"));
    for wrong in wrong_lengths(&client.keys()) {
        wrong_length(table.server.admit(&wrong), wrong.len());
    }
}

/// Queries with flipped bits, and queries made of anything.
pub fn damaged_queries(subject: &Subject) {
    for case in [NARROW, MIDDLE, WIDE] {
        let table = subject.table(case);
        let rng = &mut seeded("damaged queries");
        let mut client = table.client(rng);
        let session = table.session(client.as_ref());
        let (queries, _) = client.query(RecordIndex(0), rng).unwrap();
        for damaged in queries.iter().flat_map(|query| damage_with(query, flips(case), rng)) {
            match single(table.server.as_ref(), &session, &damaged) {
                Ok(answer) => assert_eq!(answer.len(), table.server.answer_bytes()),
                Err(error) => peer(&error),
            }
        }
    }
}

/// Answers with flipped bits, and answers made of anything.
pub fn damaged_answers(subject: &Subject) {
    for case in [NARROW, MIDDLE, WIDE] {
        let table = subject.table(case);
        let rng = &mut seeded("damaged answers");
        let mut client = table.client(rng);
        let (_, answers) = table.query(client.as_mut(), 0, rng);
        for server in 0..answers.len() {
            for damaged in damage_with(&answers[server], flips(case), rng) {
                let (_, pending) = client.query(RecordIndex(0), rng).unwrap();
                let mut answers = answers.clone();
                answers[server] = damaged;
                match client.recover(pending, &answers) {
                    Ok(record) => assert_eq!(record.bytes().len() as u64, table.report.record_bytes),
                    Err(Error::Unreadable) => {}
                    Err(error) => peer(&error),
                }
            }
        }
    }
}

/// Keys with flipped bits, and keys made of anything.
pub fn damaged_keys(subject: &Subject) {
    let table = subject.table(MIDDLE);
    let rng = &mut seeded("damaged keys");
    let mut client = table.client(rng);
    let keys = client.keys();
    let (queries, _) = client.query(RecordIndex(0), rng).unwrap();
    if keys.is_empty() {
        return wrong_length(table.server.admit(&[0]), 1);
    }
    for damaged in damage(&keys, rng) {
        match table.server.admit(&damaged) {
            Ok(session) => {
                let answers = table.answer(&session, &queries).unwrap();
                assert_eq!(answers[0].len(), table.server.answer_bytes());
            }
            Err(error) => peer(&error),
        }
    }
}

/// One answer too few, one too many, none.
pub fn answer_count(subject: &Subject) {
    let table = subject.table(NARROW);
    let rng = &mut seeded("answer count");
    let mut client = table.client(rng);
    let (_, answers) = table.query(client.as_mut(), 0, rng);
    let more = [&answers[..], &answers[..1]].concat();
    for wrong in [&more[..], &answers[1..], &[]] {
        let (_, pending) = client.query(RecordIndex(0), rng).unwrap();
        match client.recover(pending, wrong) {
            Err(Error::Peer(PeerMisbehaved::Count { got, want, .. })) => {
                assert_eq!((got, want), (wrong.len() as u64, answers.len() as u64));
            }
            other => panic!("{} answers gave {:?}", wrong.len(), other.map(|_| "a record")),
        }
    }
}

/// Prefixes of a message and longer ones. For a message above 512 bytes not each prefix is tried,
/// but those near both ends and some between.
fn wrong_lengths(message: &[u8]) -> Vec<Vec<u8>> {
    let len = message.len();
    let step = (len / 16).max(1);
    let near_an_end = |cut: &usize| *cut <= 16 || *cut + 16 >= len;
    let cuts = (0..len).filter(|cut| len <= 512 || near_an_end(cut) || cut % step == 0);
    let mut wrong: Vec<Vec<u8>> = cuts.map(|cut| message[..cut].to_vec()).collect();
    for more in [1, 7, 64, len] {
        wrong.push([message, &vec![0; more.max(1)][..]].concat());
    }
    wrong
}

/// Copies of a message with a bit flipped here or there, at its ends for certain; spliced; and of
/// its size, but arbitrary.
pub(crate) fn damage(message: &[u8], rng: &mut dyn CryptoRng) -> Vec<Vec<u8>> {
    damage_with(message, 64, rng)
}

/// The number of random flips in a message of a table: many in the first, since all tables of a
/// scheme are decoded by one function.
fn flips(case: Case) -> usize {
    if case == NARROW { 64 } else { 8 }
}

/// Copies as those of [`damage`], with a bit flipped in `flips` random places.
fn damage_with(message: &[u8], flips: usize, rng: &mut dyn CryptoRng) -> Vec<Vec<u8>> {
    let len = message.len();
    let flip = |bit: usize| {
        let mut copy = message.to_vec();
        copy[bit / 8] ^= 1 << (bit % 8);
        copy
    };
    let mut damaged: Vec<Vec<u8>> = (0..flips).map(|_| flip(rng.next_u64() as usize % (len * 8))).collect();
    damaged.extend([flip(0), flip(7), flip(len * 8 - 8), flip(len * 8 - 1)]);
    damaged.push([&message[len / 2..], &message[..len / 2]].concat());
    damaged.extend([0x00, 0x7F, 0x80, 0xFF].map(|byte| vec![byte; len]));
    let mut noise = vec![0; len];
    rng.fill_bytes(&mut noise);
    damaged.push(noise);
    damaged
}

#[track_caller]
fn peer(error: &Error) {
    assert!(matches!(error, Error::Peer(_)), "bytes of the peer's are the peer's fault, not {error:?}");
}

#[track_caller]
fn wrong_length<T>(result: Result<T>, len: usize) {
    match result {
        Err(Error::Peer(PeerMisbehaved::Length { got, want, .. })) => {
            assert_eq!(got, len as u64);
            assert_ne!(got, want);
        }
        Err(error) => panic!("{len} bytes gave {error:?} and not a wrong length"),
        Ok(_) => panic!("a message of {len} bytes was taken"),
    }
}

/// Accepts any record, or an error that names the party at fault.
#[track_caller]
pub(crate) fn harmless(result: Result<Record>) {
    if let Err(error) = result {
        let typed = matches!(error, Error::Unreadable | Error::Misuse(_) | Error::Peer(_));
        assert!(typed, "neither the caller's nor the peer's fault: {error:?}");
    }
}
