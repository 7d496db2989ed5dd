//! State on disk: what comes back after a crash at any point is the client that was there.

use super::setup::Table;
use crate::TreePir;
use crate::client::{Client, Pending};
use crate::message::Query;
use rand_core::Rng;
use sotto_core::{Client as _, Error, Params as _, Prepare as _, RecordIndex, Stateful, Two, Upkeep, Wire};
use sotto_testkit::rng::seeded;
use zeroize::Zeroizing;

fn saved(table: &Table, client: &Client) -> Vec<u8> {
    let mut out = Vec::new();
    TreePir::save(&table.params, client, &mut out).unwrap();
    out
}

fn loaded(table: &Table, bytes: &[u8]) -> Client {
    let mut rest = bytes;
    let client = TreePir::load(&table.params, &mut rest).unwrap();
    assert!(rest.is_empty(), "a state is read to its end");
    client
}

/// A whole state, and the journal since.
struct Disk {
    base: Vec<u8>,
    journal: Vec<Zeroizing<Vec<u8>>>,
}

impl Disk {
    fn new(table: &Table, client: &Client) -> Self {
        Disk { base: saved(table, client), journal: Vec::new() }
    }

    fn commit(&mut self, table: &Table, client: &mut Client) {
        self.journal.push(TreePir::journal(client));
        assert!(TreePir::journal(client).is_empty());
        let back = self.restore(table);
        assert!(saved(table, &back) == saved(table, client), "after {} entries", self.journal.len());
    }

    fn restore(&self, table: &Table) -> Client {
        let mut client = loaded(table, &self.base);
        self.journal.iter().for_each(|entry| TreePir::replay(&mut client, entry).unwrap());
        client
    }
}

/// Supplies, queries, answers in and out of order, rejections, whole states and crashes, in any order.
#[test]
fn a_crash_at_every_entry_of_the_journal() {
    for seed in 0..6u64 {
        let table = Table::new([1, 5, 20, 33, 60, 90][seed as usize], 5, 200);
        let rows = table.params.rows();
        let rng = &mut seeded(&format!("crashes {seed}"));
        let mut client = table.unstocked(seed);
        let mut disk = Disk::new(&table, &client);
        while let Some(order) = TreePir::order(&mut client).unwrap() {
            TreePir::stock(&mut client, table.supply(&order)).unwrap();
            disk.commit(&table, &mut client);
            client = disk.restore(&table);
        }
        let mut waiting: Vec<(u64, [Vec<u8>; 2], Pending)> = Vec::new();
        let mut left = 200;
        while left > 0 {
            match rng.next_u32() % 10 {
                0..4 => {
                    let index = rng.next_u64() % rows;
                    let (requests, pending) = table.ask(&mut client, index, rng);
                    waiting.push((index, requests, pending));
                    left -= 1;
                }
                4..8 if !waiting.is_empty() => {
                    let any = rng.next_u32().is_multiple_of(4);
                    let at = if any { rng.next_u64() as usize % waiting.len() } else { 0 };
                    let (index, requests, pending) = waiting.remove(at);
                    let number = TreePir::number(&pending);
                    match client.recover(pending, table.answer(&requests)) {
                        Ok(record) => assert!(record.bytes() == table.row(index), "row {index}"),
                        Err(error) => assert!(matches!(error, Error::Unreadable), "{error:?}"),
                    }
                    // In the same entry as the answer, in one of its own, or never.
                    match rng.next_u32() % 20 {
                        0 => TreePir::reject(&mut client, number),
                        1 => {
                            disk.commit(&table, &mut client);
                            TreePir::reject(&mut client, number);
                        }
                        _ => {}
                    }
                }
                8 => {
                    disk = Disk::new(&table, &client);
                    continue;
                }
                _ => {
                    client = disk.restore(&table);
                    for (_, _, pending) in &mut waiting {
                        *pending = TreePir::reopen(&mut client, TreePir::number(pending)).unwrap();
                    }
                    continue;
                }
            }
            disk.commit(&table, &mut client);
            table.check_parities(&client);
        }
    }
}

/// Several steps in one entry, of which later ones spend what earlier ones made.
#[test]
fn one_entry_of_many_steps() {
    let table = Table::new(2, 3, 300);
    let rng = &mut seeded("one entry");
    let mut client = table.client(1);
    let empty = table.unstocked(1);
    for i in 0..200 {
        let (requests, pending) = table.ask(&mut client, i % 2, rng);
        client.recover(pending, table.answer(&requests)).unwrap();
    }
    let before = saved(&table, &client);
    let disk = Disk { base: saved(&table, &empty), journal: vec![TreePir::journal(&mut client)] };
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
    for index in 0..5 {
        table.fetch(&mut client, index, rng).unwrap();
        let _ = table.ask(&mut client, index, rng);
    }
    TreePir::reject(&mut client, 9);
    let journal = TreePir::journal(&mut client).to_vec();
    let mut replayed = table.unstocked(1);
    TreePir::replay(&mut replayed, &journal).unwrap();
    assert!(saved(table, &replayed) == saved(table, &client));
    (saved(table, &client), journal)
}

#[test]
fn damaged_states_are_refused_or_harmless() {
    let table = Table::new(10, 2, 64);
    let (state, _) = some_state(&table);
    for len in 0..state.len() {
        let result = TreePir::load(&table.params, &mut &state[..len]).map(|_| "a client");
        assert!(matches!(result, Err(Error::Peer(_))), "{len} of {}", state.len());
    }
    let rng = &mut seeded("damaged states");
    for bit in (0..state.len() * 8).step_by(7).chain(0..44 * 8) {
        let mut damaged = state.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        match TreePir::load(&table.params, &mut damaged.as_slice()) {
            Ok(mut client) => match client.query(RecordIndex(3), rng) {
                Ok((Two(first, second), pending)) => {
                    // Whatever the damage, what is sent has the form of a request.
                    let requests = [first, second].map(|query: Query| {
                        let mut bytes = Vec::new();
                        query.put(&table.params, &mut bytes);
                        bytes
                    });
                    let _ = client.recover(pending, table.answer(&requests));
                }
                Err(error) => assert!(matches!(error, Error::Exhausted(_)), "{error:?}"),
            },
            Err(error) => assert!(matches!(error, Error::Peer(_)), "{error:?}"),
        }
    }
}

#[test]
fn damaged_journals_are_refused_or_harmless() {
    let table = Table::new(10, 2, 64);
    let base = saved(&table, &table.unstocked(1));
    let (_, journal) = some_state(&table);
    for bit in 0..journal.len() * 8 {
        let mut damaged = journal.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        match TreePir::replay(&mut loaded(&table, &base), &damaged) {
            Ok(()) => {}
            Err(error) => assert!(matches!(error, Error::Peer(_)), "{error:?}"),
        }
    }
    // Cut inside a record, or begun with a later one.
    let stocked = 5 + table.params.hints() * 2;
    for len in (1..stocked).chain(stocked + 1..stocked + 50) {
        let result = TreePir::replay(&mut loaded(&table, &base), &journal[..len]);
        assert!(matches!(result, Err(Error::Peer(_))), "{len}: {result:?}");
    }
    let result = TreePir::replay(&mut loaded(&table, &base), &journal[stocked..]);
    assert!(matches!(result, Err(Error::Peer(_))), "{result:?}");
}

#[test]
fn preparations_go_on() {
    let table = Table::new(50, 3, 100);
    let prepare = crate::prepare::Prepare::with_key(&table.params, Zeroizing::new(9u128.to_le_bytes()));
    let mut checkpoint = Vec::new();
    TreePir::checkpoint(&table.params, &prepare, &mut checkpoint).unwrap();
    let resumed = TreePir::resume(&table.params, &mut checkpoint.as_slice()).unwrap();
    assert_eq!(TreePir::kept(&resumed), 0);
    assert!(saved(&table, &resumed.finish().unwrap()) == saved(&table, &table.unstocked(9)));
    for len in 0..checkpoint.len() {
        let result = TreePir::resume(&table.params, &mut &checkpoint[..len]).map(|_| "a preparation");
        assert!(matches!(result, Err(Error::Peer(_))), "{len}: {:?}", result.err());
    }
}
