//! State on disk: what comes back after a crash at any point is the client that was there.

use super::setup::Table;
use crate::S3pir;
use crate::client::{Client, Pending};
use crate::prepare::Prepare;
use rand_core::Rng;
use sotto_core::{Artifact, Client as _, Error, One, Params as _, Prepare as _, RecordIndex, Stateful, Wire};
use sotto_testkit::rng::seeded;
use zeroize::Zeroizing;

fn saved(table: &Table, client: &Client) -> Vec<u8> {
    let mut out = Vec::new();
    S3pir::save(&table.params, client, &mut out).unwrap();
    out
}

fn loaded(table: &Table, bytes: &[u8]) -> Client {
    let mut rest = bytes;
    let client = S3pir::load(&table.params, &mut rest).unwrap();
    assert!(rest.is_empty(), "a state is read to its end");
    client
}

/// A whole state, and the journal since.
struct Disk {
    base: Vec<u8>,
    journal: Vec<Zeroizing<Vec<u8>>>,
}

impl Disk {
    fn commit(&mut self, table: &Table, client: &mut Client) {
        self.journal.push(S3pir::journal(client));
        assert!(S3pir::journal(client).is_empty());
        let back = self.restore(table);
        assert!(saved(table, &back) == saved(table, client), "after {} entries", self.journal.len());
    }

    fn restore(&self, table: &Table) -> Client {
        let mut client = loaded(table, &self.base);
        self.journal.iter().for_each(|entry| S3pir::replay(&mut client, entry).unwrap());
        client
    }
}

/// Queries, answers in and out of order, rejections, whole states and crashes, in any order.
#[test]
fn a_crash_at_every_entry_of_the_journal() {
    for seed in 0..6 {
        let table = Table::new([1, 5, 20, 33, 60, 90][seed as usize], 5, u64::MAX);
        let rows = table.params.rows();
        let rng = &mut seeded(&format!("crashes {seed}"));
        let mut client = table.client(seed);
        let mut disk = Disk { base: saved(&table, &client), journal: Vec::new() };
        let mut waiting: Vec<(u64, Vec<u8>, Pending)> = Vec::new();
        let mut left = table.params.pairs();
        while left > 0 {
            match rng.next_u32() % 10 {
                0..4 => {
                    let index = rng.next_u64() % rows;
                    let (request, pending) = table.ask(&mut client, index, rng);
                    waiting.push((index, request, pending));
                    left -= 1;
                }
                4..8 if !waiting.is_empty() => {
                    let at = if rng.next_u32().is_multiple_of(4) {
                        rng.next_u64() as usize % waiting.len()
                    } else {
                        0
                    };
                    let (index, request, pending) = waiting.remove(at);
                    let number = S3pir::number(&pending);
                    match client.recover(pending, table.answer(&request)) {
                        Ok(record) => assert!(record.bytes() == table.row(index), "row {index}"),
                        Err(error) => assert!(matches!(error, Error::Unreadable), "{error:?}"),
                    }
                    // In the same entry as the answer, in one of its own, or never.
                    match rng.next_u32() % 20 {
                        0 => S3pir::reject(&mut client, number),
                        1 => {
                            disk.commit(&table, &mut client);
                            S3pir::reject(&mut client, number);
                        }
                        _ => {}
                    }
                }
                8 => {
                    disk = Disk { base: saved(&table, &client), journal: Vec::new() };
                    continue;
                }
                _ => {
                    client = disk.restore(&table);
                    for (_, _, pending) in &mut waiting {
                        *pending = S3pir::reopen(&mut client, S3pir::number(pending)).unwrap();
                    }
                    continue;
                }
            }
            disk.commit(&table, &mut client);
        }
    }
}

/// Several steps in one entry, of which later ones spend what earlier ones promoted.
#[test]
fn one_entry_of_many_steps() {
    let table = Table::new(2, 3, u64::MAX);
    let rng = &mut seeded("one entry");
    let mut client = table.client(1);
    let disk = Disk { base: saved(&table, &client), journal: Vec::new() };
    for i in 0..70 {
        let (request, pending) = table.ask(&mut client, i % 2, rng);
        client.recover(pending, table.answer(&request)).unwrap();
    }
    let before = saved(&table, &client);
    let disk = Disk { journal: vec![S3pir::journal(&mut client)], ..disk };
    assert!(saved(&table, &disk.restore(&table)) == before);
    // A journal that begins before the state was saved changes nothing.
    let late = Disk { base: before.clone(), ..disk };
    assert!(saved(&table, &late.restore(&table)) == before);
}

#[test]
fn a_fresh_state_has_the_reported_size() {
    for (rows, row_bytes) in [(1, 1), (100, 7), (1000, 32)] {
        let table = Table::new(rows, row_bytes, 1000);
        let bytes = saved(&table, &table.client(1)).len() as u64;
        assert_eq!(bytes, table.params.report().costs.client_bytes);
    }
}

fn some_state(table: &Table) -> (Vec<u8>, Vec<u8>) {
    let rng = &mut seeded("some state");
    let mut client = table.client(1);
    let base = saved(table, &client);
    for index in 0..5 {
        table.fetch(&mut client, index, rng).unwrap();
        let _ = table.ask(&mut client, index, rng);
    }
    S3pir::reject(&mut client, 8);
    let journal = S3pir::journal(&mut client).to_vec();
    assert!(S3pir::replay(&mut loaded(table, &base), &journal).is_ok());
    (saved(table, &client), journal)
}

#[test]
fn damaged_states_are_refused_or_harmless() {
    let table = Table::new(10, 2, 64);
    let (state, _) = some_state(&table);
    let cut_short = |len: usize| S3pir::load(&table.params, &mut &state[..len]).map(|_| "a client");
    for len in 0..state.len() {
        assert!(matches!(cut_short(len), Err(Error::Peer(_))), "{len} of {}", state.len());
    }
    let rng = &mut seeded("damaged states");
    for bit in (0..state.len() * 8).step_by(3).chain(0..2000) {
        let mut damaged = state.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        match S3pir::load(&table.params, &mut damaged.as_slice()) {
            Ok(mut client) => {
                match client.query(RecordIndex(3), rng) {
                    Ok((One(query), pending)) => {
                        let mut bytes = Vec::new();
                        query.put(&table.params, &mut bytes);
                        // Whatever the damage, what is sent has the form of a request.
                        let _ = client.recover(pending, table.answer(&bytes));
                    }
                    Err(error) => assert!(matches!(error, Error::Peer(_)), "{error:?}"),
                }
            }
            Err(error) => assert!(matches!(error, Error::Peer(_)), "{error:?}"),
        }
    }
}

#[test]
fn damaged_journals_are_refused_or_harmless() {
    let table = Table::new(10, 2, 64);
    let base = saved(&table, &table.client(1));
    let (_, journal) = some_state(&table);
    for bit in 0..journal.len() * 8 {
        let mut damaged = journal.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        match S3pir::replay(&mut loaded(&table, &base), &damaged) {
            Ok(()) => {}
            Err(error) => assert!(matches!(error, Error::Peer(_)), "{error:?}"),
        }
    }
    // Cut inside a record, or begun with a later one.
    let asked = 1 + 8 + 4 + 4 + 1;
    for len in (1..asked).chain(asked + 1..asked + 12) {
        let result = S3pir::replay(&mut loaded(&table, &base), &journal[..len]);
        assert!(matches!(result, Err(Error::Peer(_))), "{len}: {result:?}");
    }
    let result = S3pir::replay(&mut loaded(&table, &base), &journal[asked..]);
    assert!(matches!(result, Err(Error::Peer(_))), "{result:?}");
}

/// A preparation goes on from what was kept, and ends as one that was never interrupted.
#[test]
fn preparations_go_on() {
    let table = Table::new(500, 3, 100);
    let whole = saved(&table, &table.client(9));
    for stop in (0..=table.rows.len()).step_by(97) {
        let mut prepare = Prepare::new(&table.params, Zeroizing::new(9u128.to_le_bytes()));
        prepare.absorb(Artifact::Rows, &table.rows[..stop]).unwrap();
        let kept = S3pir::kept(&prepare);
        assert!(kept as usize <= stop);
        let mut checkpoint = Vec::new();
        S3pir::checkpoint(&table.params, &prepare, &mut checkpoint).unwrap();
        let mut prepare = S3pir::resume(&table.params, &mut checkpoint.as_slice()).unwrap();
        assert_eq!(S3pir::kept(&prepare), kept);
        prepare.absorb(Artifact::Rows, &table.rows[kept as usize..]).unwrap();
        assert!(saved(&table, &prepare.finish().unwrap()) == whole, "stopped after {stop} bytes");
        for len in [0, 15, checkpoint.len() - 1] {
            let result = S3pir::resume(&table.params, &mut &checkpoint[..len]).map(|_| "a preparation");
            assert!(matches!(result, Err(Error::Peer(_))), "{len}: {:?}", result.err());
        }
    }
}

/// The last partitions may lie past the last row. A checkpoint that has them has more than a table gives.
#[test]
fn a_checkpoint_of_more_than_the_table_is_refused() {
    let table = Table::new(20, 3, 100);
    let params = &table.params;
    assert_eq!((params.partitions(), params.partition_rows()), (4, 8));
    let mut checkpoint = [&[9; 16][..], &[1], &4u64.to_le_bytes()].concat();
    checkpoint.resize(checkpoint.len() + (params.hints() + 2 * params.pairs()) * params.row_bytes(), 0);
    let result = S3pir::resume(params, &mut checkpoint.as_slice()).map(|_| "a preparation");
    assert!(matches!(result, Err(Error::Peer(_))), "{:?}", result.err());
}
