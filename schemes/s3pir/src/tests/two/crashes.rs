//! State on disk: clients that order, crash and go on.

use super::Served;
use crate::client::Pending;
use crate::two::S3pirTwo;
use crate::two::client::Client;
use rand_core::Rng;
use sotto_core::{Client as _, Error, Stateful, Upkeep};
use sotto_testkit::rng::seeded;
use zeroize::Zeroizing;

/// A whole state, and the journal since.
struct Disk {
    base: Vec<u8>,
    journal: Vec<Zeroizing<Vec<u8>>>,
}

impl Disk {
    fn of(served: &Served, client: &Client) -> Self {
        Disk { base: served.saved(client), journal: Vec::new() }
    }

    fn commit(&mut self, served: &Served, client: &mut Client) {
        self.journal.push(S3pirTwo::journal(client));
        assert!(S3pirTwo::journal(client).is_empty());
        let back = self.restore(served);
        assert!(served.saved(&back) == served.saved(client), "after {} entries", self.journal.len());
    }

    fn restore(&self, served: &Served) -> Client {
        let mut client = served.loaded(&self.base);
        self.journal.iter().for_each(|entry| S3pirTwo::replay(&mut client, entry).unwrap());
        client
    }
}

/// Orders, supplies, queries, answers, rejections, whole states and crashes, in any order, from a client without hints on.
/// After a crash the order that stands is the same.
#[test]
fn a_crash_at_every_entry_of_the_journal() {
    for seed in 0..5 {
        let rows = [1, 5, 20, 33, 60][seed as usize];
        let served = Served::new(rows, 5);
        let rng = &mut seeded(&format!("crashes {seed}"));
        let mut client = served.fresh(seed);
        let mut disk = Disk::of(&served, &client);
        let mut waiting: Vec<(u64, Vec<u8>, Pending)> = Vec::new();
        for _ in 0..1500 {
            match rng.next_u32() % 16 {
                0..6 => {
                    let index = rng.next_u64() % rows;
                    if client.budget() == sotto_core::Budget::Left(0) {
                        continue;
                    }
                    let (request, pending) = served.ask(&mut client, index, rng);
                    waiting.push((index, request, pending));
                }
                6..12 if !waiting.is_empty() => {
                    let (index, request, pending) = waiting.remove(rng.next_u64() as usize % waiting.len());
                    let number = S3pirTwo::number(&pending);
                    match client.recover(pending, served.table.answer(&request)) {
                        Ok(record) => assert!(record.bytes() == served.table.row(index), "row {index}"),
                        Err(error) => assert!(matches!(error, Error::Unreadable), "{error:?}"),
                    }
                    if rng.next_u32().is_multiple_of(20) {
                        S3pirTwo::reject(&mut client, number);
                    }
                }
                12 => {
                    served.supply(&mut client);
                }
                13 => disk = Disk::of(&served, &client),
                _ => {
                    let stands = S3pirTwo::order(&mut client).unwrap();
                    client = disk.restore(&served);
                    assert!(S3pirTwo::order(&mut client).unwrap() == stands, "another order after a crash");
                    for (_, _, pending) in &mut waiting {
                        *pending = S3pirTwo::reopen(&mut client, S3pirTwo::number(pending)).unwrap();
                    }
                    continue;
                }
            }
            disk.commit(&served, &mut client);
        }
        let (made, pairs) = (client.one.hints.next, served.params.one().pairs());
        assert!(made > 400.min(pairs / 2), "{made} queries of {pairs}");
    }
}

/// The whole life of a key in one entry, in which blocks are spent, and written over, before they are written down.
#[test]
fn one_entry_of_a_whole_life() {
    let served = Served::new(10, 3);
    let rng = &mut seeded("one entry");
    let mut client = served.fresh(1);
    let base = Disk::of(&served, &client);
    while served.supply(&mut client) {}
    for i in 0..served.params.one().pairs() as u64 {
        let (request, pending) = served.ask(&mut client, i % 10, rng);
        if i % 7 > 0 {
            let number = S3pirTwo::number(&pending);
            match client.recover(pending, served.table.answer(&request)) {
                Ok(record) => assert!(record.bytes() == served.table.row(i % 10), "query {i}"),
                Err(error) => assert!(matches!(error, Error::Unreadable), "{error:?}"),
            }
            if i % 50 == 1 {
                S3pirTwo::reject(&mut client, number);
            }
        }
        served.supply(&mut client);
    }
    let saved = served.saved(&client);
    let disk = Disk { journal: vec![S3pirTwo::journal(&mut client)], ..base };
    assert!(served.saved(&disk.restore(&served)) == saved);
    // A journal that begins before the state was saved changes nothing.
    let late = Disk { base: saved.clone(), ..disk };
    assert!(served.saved(&late.restore(&served)) == saved);
}
