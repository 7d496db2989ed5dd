//! Damaged states, journals and deltas; and wrong answers.

use super::crashes::{Disk, loaded, query, saved};
use super::epochs::change_rows;
use super::subject::{Case, Fill, NARROW, Subject, Table, refill_hints, single};
use super::wire::harmless;
use crate::memory::MemorySink;
use crate::rng::seeded;
use sotto_core::{AnyClient, Artifact, Budget, Error, RecordIndex, Result};
use std::sync::Arc;

/// A table whose states are short.
const SMALL: Case = Case { rows: 10, row_bytes: 2, fill: Fill::Random };

/// A state with open queries, and the journal since the client had none.
fn some_state(table: &Table) -> (Disk, Vec<u8>) {
    let rng = &mut seeded("some state");
    let mut client = table.client(rng);
    drop(client.state().unwrap().journal());
    let mut disk = Disk::new(client.as_mut());
    for index in 0..5 {
        table.fetch(client.as_mut(), index % table.report.records, rng).unwrap();
        let _ = query(client.as_mut(), index % table.report.records, rng);
    }
    disk.journal = vec![client.state().unwrap().journal().to_vec()];
    let state = saved(client.as_mut());
    assert!(saved(disk.restore(table).as_mut()) == state);
    (disk, state)
}

fn peer<T>(result: Result<T>, what: impl std::fmt::Debug) {
    let result = result.map(|_| "something");
    assert!(matches!(result, Err(Error::Peer(_))), "{what:?}: {result:?}");
}

/// Whole states cut short and with flipped bits, of clients with open queries and of fresh ones:
/// refused, or a client whose queries have the form of any other's.
pub fn damaged(subject: &Subject) {
    let table = subject.table(SMALL);
    let fresh = table.unstocked(&table.image, &mut seeded("fresh state"));
    damaged_state(&table, &some_state(&table).1);
    damaged_state(&table, &saved(fresh.unwrap().as_mut()));
}

fn damaged_state(table: &Table, state: &[u8]) {
    let entry = table.entry.state.expect("a scheme with a state");
    let sparse = (state.len() / 400).max(1);
    for len in (0..100.min(state.len())).chain((0..state.len()).step_by(sparse)) {
        peer((entry.load)(&table.params, &mut &state[..len]), len);
    }
    let rng = &mut seeded("damaged states");
    let head = (0..60.min(state.len()) * 8).filter(|bit| bit % 3 == 0);
    for bit in (0..state.len() * 8).step_by(8 * sparse + 3).chain(head) {
        let mut damaged = state.to_vec();
        damaged[bit / 8] ^= 1 << (bit % 8);
        // A number of queries under way that is larger finds something to read.
        damaged.resize(2 * state.len(), 0);
        match (entry.load)(&table.params, &mut damaged.as_slice()) {
            Err(error) => assert!(matches!(error, Error::Peer(_)), "bit {bit}: {error:?}"),
            Ok(mut client) => {
                if let Some(hint_client) = client.hint_client() {
                    hint_client.next_hint_request().unwrap();
                }
                match client.query(RecordIndex(3), rng) {
                    Ok((queries, pending)) => {
                        let answers = table.answer(&table.session(client.as_ref()), &queries);
                        harmless(client.recover(pending, &answers.expect("what is sent can be answered")));
                    }
                    Err(error) => {
                        assert!(
                            matches!(error, Error::Exhausted(_) | Error::Peer(_)),
                            "bit {bit}: {error:?}"
                        );
                    }
                }
                saved(client.as_mut());
            }
        }
    }
}

/// Journals with flipped bits, cut short, and with an entry missing.
pub fn damaged_journals(subject: &Subject) {
    let table = subject.table(SMALL);
    let (disk, _) = some_state(&table);
    let whole = &disk.journal[0];
    let replay = |entry: &[u8]| loaded(&table, &disk.base).state().unwrap().replay(entry);
    for bit in (0..whole.len() * 8).filter(|bit| bit % 3 == 0 || *bit < 64 * 8) {
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        if let Err(error) = replay(&damaged) {
            assert!(matches!(error, Error::Peer(_)), "bit {bit}: {error:?}");
        }
    }
    let mut ends = 0;
    for len in 1..whole.len() {
        match replay(&whole[..len]) {
            // A journal that is cut at the end of a record is valid.
            Ok(()) => ends += 1,
            Err(error) => assert!(matches!(error, Error::Peer(_)), "{len}: {error:?}"),
        }
    }
    assert!(ends < 20, "{ends} of {} bytes are ends of records", whole.len());

    let rng = &mut seeded("missing");
    let mut client = loaded(&table, &disk.base);
    let [first, second] = [0, 1].map(|record| {
        let _ = query(client.as_mut(), record, rng);
        client.state().unwrap().journal().to_vec()
    });
    peer(replay(&second), "a query was left out");
    assert!(replay(&[first.clone(), first, second].concat()).is_ok(), "what was seen is passed over");
    if client.hint_client().is_some() {
        let mut client = table.unstocked(&table.image, rng).unwrap();
        let base = saved(client.as_mut());
        refill_hints(client.as_mut(), table.server.as_ref()).unwrap();
        let _ = client.query(RecordIndex(0), rng).unwrap();
        let _ = query(client.as_mut(), 0, rng);
        let entry = client.state().unwrap().journal().to_vec();
        assert!(loaded(&table, &base).state().unwrap().replay(&entry).is_ok());
        // A client without its first hint response cannot have made a query.
        let mut fresh = table.unstocked(&table.image, rng).unwrap();
        refill_hints(fresh.as_mut(), table.server.as_ref()).unwrap();
        let supplies = fresh.state().unwrap().journal().len();
        peer(loaded(&table, &base).state().unwrap().replay(&entry[supplies..]), "a supply was left out");
    }
}

/// Two clients with the same key and coins, one of which gets wrong answers from each server in
/// turn, always send the same.
pub fn lies_do_not_change_what_is_sent(subject: &Subject) {
    let table = subject.table(NARROW);
    let (one, other) = (&mut seeded("lies"), &mut seeded("lies"));
    let (mut honest, mut lied_to) = (table.client(one), table.client(other));
    let (mut unreadable, mut rejected) = (0, 0);
    for i in 0..300 {
        let record = i * i % table.report.records;
        if honest.budget() == Budget::Left(0) {
            break;
        }
        let (queries, pending) = honest.query(RecordIndex(record), one).unwrap();
        let mut answers = table.answer(&table.session(honest.as_ref()), &queries).unwrap();
        harmless(honest.recover(pending, &answers));
        let (same, pending) = lied_to.query(RecordIndex(record), other).unwrap();
        assert!(queries == same, "a lie changed query {i}");
        let liar = (i / 2) as usize % answers.len();
        if i % 4 < 2 {
            let at = i as usize * 5 % answers[liar].len();
            answers[liar][at] ^= 1;
        }
        let number = lied_to.state().unwrap().query_number(&pending).unwrap();
        match lied_to.recover(pending, &answers) {
            Ok(read) if read.bytes() != table.record(record) => {
                lied_to.state().unwrap().reject(number);
                rejected += 1;
            }
            Ok(_) => {}
            Err(Error::Unreadable) => unreadable += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    assert!(rejected + unreadable > 0, "{rejected} rejected, {unreadable} unreadable");
}

/// Hints follow the table from epoch to epoch, including those of open queries.
pub fn follow(subject: &Subject) {
    let update_image = subject.entry.server.update_image.expect("a scheme that revises");
    for rows in [1, 9, 100] {
        let table = subject.table(Case { rows, row_bytes: 6, fill: Fill::Random });
        let rng = &mut seeded("follow");
        let mut client = table.client(rng);
        let session = table.session(client.as_ref());
        let (mut image, mut records) = (table.image.clone(), table.records.clone());
        let last = table.report.records - 1;
        for changed in [vec![], vec![rows - 1], (0..rows).step_by(3).collect(), (0..rows).collect()] {
            let waiting = [0, 0, last, last / 2].map(|record| query(client.as_mut(), record, rng));
            let (changes, next) = change_rows(&table, &records, &changed, rng);
            let sink = MemorySink::holding(image);
            update_image(&table.params, &changes, &sink).unwrap();
            (image, records) = (sink.into_image(), next);
            let delta = image.artifact(Artifact::RowsDelta).expect("such a scheme writes what changed");
            client.state().unwrap().apply_delta(delta).unwrap();
            let mut back = loaded(&table, &saved(client.as_mut()));
            assert!(saved(back.as_mut()) == saved(client.as_mut()), "a state that followed can be saved");

            let server = (subject.entry.server.open)(&table.params, Arc::new(image.clone())).unwrap();
            let width = table.report.record_bytes as usize;
            let check = |client: &mut dyn AnyClient, (record, queries, pending)| {
                let queries: Vec<Vec<u8>> = queries;
                let answers = queries.iter().map(|query| single(server.as_ref(), &session, query).unwrap());
                let read =
                    client.recover(pending, &answers.collect::<Vec<_>>()).expect("a hint that followed");
                let expected = &records.bytes()[record as usize * width..][..width];
                assert!(read.bytes() == expected, "record {record} of {rows}");
            };
            waiting.into_iter().for_each(|open| check(client.as_mut(), open));
            for record in table.some_records() {
                let open = query(client.as_mut(), record, rng);
                check(client.as_mut(), open);
            }
        }
    }
}

/// Deltas cut short, out of order, and of rows that do not exist.
pub fn damaged_deltas(subject: &Subject) {
    let update_image = subject.entry.server.update_image.expect("a scheme that revises");
    let table = subject.table(NARROW);
    let rng = &mut seeded("deltas");
    let (changes, _) = change_rows(&table, &table.records, &(0..table.case.rows).collect::<Vec<_>>(), rng);
    let sink = MemorySink::holding(table.image.clone());
    update_image(&table.params, &changes, &sink).unwrap();
    let image = sink.into_image();
    let delta = image.artifact(Artifact::RowsDelta).unwrap();
    let rows: Vec<&[u8]> = delta.chunks_exact(8 + table.report.record_bytes as usize).collect();
    let follow = |delta: &[u8]| table.client(&mut seeded("client")).state().unwrap().apply_delta(delta);
    assert!(follow(delta).is_ok() && rows.len() > 3);
    for len in 1..rows[0].len() {
        peer(follow(&delta[..len]), len);
    }
    peer(follow(&[rows[3], rows[3]].concat()), "twice");
    peer(follow(&[rows[3], rows[2]].concat()), "out of order");
    for index in [u64::MAX, 1 << 33] {
        peer(follow(&[&index.to_le_bytes(), &rows[0][8..]].concat()), index);
    }
}
