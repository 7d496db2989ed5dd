//! Keys end by a public count and age, and by nothing else; the next keys are made in the background.

use crate::common::{NAME, Server, as_addresses, boxed, server_of, value};
use sotto_catalog::TableKind;
use sotto_client::cache::keyring::{Keyring, KeyringSlot};
use sotto_client::table::{TableBuilder, TableEvent};
use sotto_core::Epoch;
use sotto_wire::{SessionId, query};
use std::time::Duration;

/// The requests to a server: names of the keys of queries, and `keys` for each registration.
fn received(server: &Server) -> Vec<String> {
    let requests =
        server.received().into_iter().filter_map(|request| match request.path.rsplit('/').next()? {
            "keys" => Some("keys".to_owned()),
            "ask" => {
                let SessionId(id) = query::QueryHead::parse(&request.body).unwrap().session;
                Some(id[0].to_string())
            }
            _ => None,
        });
    requests.collect()
}

fn asked(server: &Server) -> Vec<String> {
    received(server).into_iter().filter(|request| request != "keys").collect()
}

fn keyed() -> Server {
    server_of("clear-stream/1", 300, 8)
}

#[test]
fn keys_end_after_so_many_queries() {
    let server = keyed();
    let (sender, events) = std::sync::mpsc::channel();
    let listener = move |event| sender.send(event).unwrap();
    let mut table = server.table().max_keys_queries(4).events(listener).open().unwrap();
    for row in 0..9 {
        assert_eq!(table.get(row).unwrap(), value(row, 8));
    }
    let expected = ["keys", "1", "1", "1", "1", "keys", "2", "2", "2", "2", "keys", "3"];
    assert_eq!(received(&server), expected);
    assert_eq!(events.try_iter().collect::<Vec<_>>(), [TableEvent::KeysRotated, TableEvent::KeysRotated]);
    assert_eq!(table.stats().keys.requests, 3);
    // Rows in one request count one by one, and one request is never under two keys.
    table.get_many(&[0, 1]).unwrap();
    table.get_many(&[2, 3]).unwrap();
    table.get_many(&[5; 20]).unwrap();
    assert_eq!(received(&server), ["3", "keys", "4", "keys", "5"]);
}

#[test]
fn keys_end_after_so_much_time() {
    let server = keyed();
    let mut table = server.table().max_keys_age(Duration::from_secs(1)).open().unwrap();
    table.get(1).unwrap();
    std::thread::sleep(Duration::from_millis(2100));
    table.get(1).unwrap();
    assert_eq!(received(&server), ["keys", "1", "keys", "2"]);
}

/// New keys are registered for the newest epoch, whose blocks may start at another key.
#[test]
fn what_is_wanted_is_looked_for_where_the_next_keys_are_good() {
    let server = keyed();
    as_addresses(&server);
    let mut table = server.table().max_keys_queries(1).open().unwrap();
    assert_eq!(table.get_key("10.0.9.1").unwrap(), value(9, 8));
    server.with(|world| {
        world.update(&[]);
        let TableKind::Range { first, .. } = &mut world.catalog.kind else { panic!("a table of ranges") };
        *first += 256;
    });
    server.received();
    assert_eq!(table.get_key("10.0.9.1").unwrap(), value(8, 8));
    assert_eq!(received(&server), ["keys", "2"]);
}

#[test]
fn keys_of_any_age_do_no_harm() {
    let server = keyed();
    let mut table = server.table().max_keys_age(Duration::MAX).max_keys_queries(u64::MAX).open().unwrap();
    (0..3).for_each(|row| drop(table.get(row).unwrap()));
    assert_eq!(received(&server), ["keys", "1", "1", "1"]);
}

#[test]
fn an_error_changes_no_keys() {
    let server = keyed();
    let mut table = server.table().max_keys_queries(6).open().unwrap();
    server.tamper_asks(|body| body.truncate(body.len() - 1));
    for _ in 0..3 {
        table.get(5).unwrap_err();
    }
    server.with(|world| world.tamper = None);
    table.get(300).unwrap_err();
    // The server drops the keys: they are registered again, and their count continues.
    server.with(|world| world.drop_sessions());
    table.get(5).unwrap();
    let bodies: Vec<_> =
        server.received().into_iter().filter(|one| one.path.ends_with("/keys")).map(|one| one.body).collect();
    assert!(bodies.len() == 2 && bodies[0] == bodies[1]);
    table.get(5).unwrap();
    assert_eq!(received(&server), ["1"]);
    table.get(5).unwrap();
    assert_eq!(received(&server), ["keys", "2"]);
    // The next epoch uses them too.
    server.with(|world| world.update(&[]));
    table.get(5).unwrap();
    assert_eq!(asked(&server), ["2", "2"]);
}

#[test]
fn nothing_is_asked_under_keys_that_have_ended() {
    let server = keyed();
    let mut table = server.table().max_keys_queries(2).open().unwrap();
    (0..2).for_each(|row| drop(table.get(row).unwrap()));
    server.received();
    // A server that takes no more keys gets no more queries.
    server.tamper(|request, honest| match request.path.ends_with("/keys") {
        true => Ok(sotto_client::transport::Response::new(503, Vec::new())),
        false => Ok(honest),
    });
    table.get(3).unwrap_err();
    assert_eq!(received(&server), ["keys"]);
    server.with(|world| world.tamper = None);
    table.get(3).unwrap();
    assert_eq!(received(&server), ["keys", "3"]);
}

#[test]
fn the_next_keys_are_there_in_time() {
    let server = keyed();
    let again = server.clone();
    let builder = server.table().preparation_transports(move || vec![boxed(again.transport())]);
    let mut table = builder.max_keys_queries(8).open().unwrap();
    for row in 0..7 {
        table.get(row).unwrap();
    }
    assert!(table.is_preparing());
    // They are registered while the old ones are in use, and taken when those end.
    let mut all = received(&server);
    for _ in 0..200 {
        if all.iter().filter(|request| *request == "keys").count() == 2 {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
        all.extend(received(&server));
    }
    assert_eq!(all.iter().filter(|request| *request == "keys").count(), 2, "{all:?}");
    (7..9).for_each(|row| assert_eq!(table.get(row).unwrap(), value(row, 8)));
    assert_eq!(received(&server), ["1", "2"]);
    assert!(!table.is_preparing());

    // The table moves on meanwhile, and the next keys with it.
    (9..15).for_each(|row| drop(table.get(row).unwrap()));
    std::thread::sleep(Duration::from_millis(200));
    server.with(|world| world.update(&[]));
    (15..19).for_each(|row| assert_eq!(table.get(row).unwrap(), value(row, 8)));
    assert_eq!(asked(&server).last().unwrap(), "3");
}

/// Keys are made for the table's newest epoch, also if a new encoding has changed the parameters;
/// servers still answer for the previous epoch.
#[test]
fn the_next_keys_are_good_for_other_parameters_too() {
    let (server, larger) = (keyed(), server_of("clear-stream/1", 600, 8));
    larger.with(|world| world.catalog.epoch = Epoch(2));
    assert_ne!(
        server.with(|world| world.catalog.params_digest),
        larger.with(|world| world.catalog.params_digest)
    );
    let again = server.clone();
    // Just when the next keys are begun.
    let builder = server.table().preparation_transports(move || {
        larger.with(|next| again.with(|world| std::mem::swap(world, next)));
        vec![boxed(again.transport())]
    });
    let mut table = builder.max_keys_queries(1).open().unwrap();
    assert_eq!(table.get(1).unwrap(), value(1, 8));
    assert_eq!(table.get(500).unwrap(), value(500, 8), "a row that the larger table has");
    assert_eq!(table.catalog().epoch, Epoch(2));
}

#[test]
fn calls_count_together() {
    let (server, dir) = (keyed(), tempfile::tempdir().unwrap());
    let open = |limit| server.table().cache_dir(dir.path()).max_keys_queries(limit).open().unwrap();
    for row in 0..5 {
        assert_eq!(open(4).get(row).unwrap(), value(row, 8));
    }
    assert_eq!(received(&server), ["keys", "1", "1", "1", "1", "keys", "2"]);
    // Reserved uses that were not made are released at the end of a call, also of two at once.
    let used = || {
        let entry = Keyring::open(dir.path(), None).unwrap().read(&KeyringSlot::of("memory:", NAME)).unwrap();
        entry.unwrap().used
    };
    let (mut one, mut other) = (open(100), open(100));
    (0..10).for_each(|row| drop(one.get(row).unwrap()));
    (0..7).for_each(|row| drop(other.get(row).unwrap()));
    drop((one, other));
    assert_eq!(used(), 1 + 10 + 7);
    // Uses of earlier keys do not count for the current ones.
    let mut late = open(100);
    late.get(1).unwrap();
    open(4).get(1).unwrap();
    late.get(1).unwrap();
    drop(late);
    assert_eq!(used(), 1);
}

/// Processes that share a cache never exceed the limit of one set of keys, however they end.
#[test]
fn no_more_is_asked_under_one_key_than_is_reserved_on_disk() {
    let (server, dir) = (keyed(), tempfile::tempdir().unwrap());
    let open = || server.table().cache_dir(dir.path()).max_keys_queries(32).open().unwrap();
    let mut all: Vec<_> = (0..4).map(|_| open()).collect();
    for round in 0..20 {
        for table in &mut all {
            assert_eq!(table.get(round).unwrap(), value(round, 8));
        }
        if round == 10 {
            // One process is killed: the uses that it reserved are lost.
            std::mem::forget(all.pop());
        }
    }
    let asked = asked(&server);
    let most = |key: &String| asked.iter().filter(|other| *other == key).count();
    assert_eq!(asked.len(), 4 * 11 + 3 * 9);
    assert!(asked.iter().map(most).all(|uses| uses <= 32), "{asked:?}");
    // They use each other's keys, instead of each making its own.
    assert!(asked.iter().collect::<std::collections::BTreeSet<_>>().len() <= 4, "{asked:?}");
}

#[test]
fn a_table_without_keys_changes_none() {
    let server = server_of("clear/1", 300, 8);
    let mut table = TableBuilder::max_keys_queries(server.table(), 1).open().unwrap();
    (0..5).for_each(|row| drop(table.get(row).unwrap()));
    assert!(received(&server).iter().all(|request| request != "keys"));
}
