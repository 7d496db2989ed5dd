//! Agreement of two servers: catalogs that differ, and epochs that one server has before the other.
use crate::common::{NAME, Server, open, pair, query_bodies, value};
use sotto_catalog::{SignedCatalog, SigningKey, Succession};
use sotto_client::Fault;
use sotto_client::transport::{Response, TransportError};
use sotto_core::Epoch;
use sotto_testkit::rng;
use sotto_wire::{Problem, ProblemCode, query};

/// Moves a server to the next epoch, with the same rows.
fn move_on(server: &Server, keep: bool) {
    server.with(|world| {
        let old = (world.catalog.epoch, world.signed());
        world.earlier = if keep { vec![old] } else { Vec::new() };
        world.update(&[]);
    });
}

#[test]
fn catalogs_that_differ_are_refused_before_anything_else() {
    let refused = |change: fn(&mut crate::common::World)| {
        let servers = pair(10, 2);
        servers[1].with(change);
        let error = open(&servers).map(drop).unwrap_err();
        let asked = servers.each_ref().map(|server| server.received().len());
        assert_eq!(asked, [1, 1], "a catalog from each");
        (error.code(), error.to_string())
    };
    let (code, said) = refused(|world| world.catalog.created += 1);
    assert_eq!(code, "catalogs-differ");
    assert!(said.contains("servers 0 and 1") && said.contains("epoch 1"), "{said}");
    let (code, said) = refused(|world| world.key = SigningKey::generate(&mut rng::seeded("another")));
    assert_eq!(code, "wrong-key");
    assert!(said.starts_with("server 1: "), "{said}");
    let (code, _) = refused(|world| world.catalog.table = "cubes".parse().unwrap());
    assert_eq!(code, "wrong-table");
}

#[test]
fn the_newest_epoch_that_both_have_is_used() {
    for ahead in [0, 1] {
        let servers = pair(300, 2);
        move_on(&servers[ahead], true);
        let table = open(&servers).unwrap();
        assert_eq!(table.catalog().epoch.0, 1, "server {ahead} is ahead");
        let asked = servers.each_ref().map(|server| server.received().len());
        assert_eq!(asked[ahead], 2, "its newest, and the one both have");
        assert_eq!(asked[1 - ahead], 1);
    }
}

/// One server has the epoch of a new key before the other has.
#[test]
fn a_key_that_changed_is_not_taken_for_a_wrong_one() {
    let keys = ["publisher", "next"].map(|label| SigningKey::generate(&mut rng::seeded(label)));
    let table = NAME.parse().unwrap();
    let change = Succession::sign(&table, &keys[0], &keys[1], Epoch(2), 1, u64::MAX).unwrap();
    let move_on = |server: &Server| {
        move_on(server, true);
        server.with(|world| world.key = SigningKey::generate(&mut rng::seeded("next")));
        let change = change.clone();
        server.tamper(move |request, mut response| {
            if request.path.ends_with(NAME) {
                let mut signed = SignedCatalog::parse(&response.body).unwrap();
                signed.successions.push(change.clone());
                response.body = signed.to_bytes();
            }
            Ok(response)
        });
    };
    for ahead in [0, 1] {
        let servers = pair(300, 2);
        move_on(&servers[ahead]);
        match (ahead, open(&servers)) {
            // The second server is one epoch behind, so another attempt may succeed.
            (0, Err(error)) => assert_eq!((error.code(), error.fault()), ("no-common-epoch", Fault::Network)),
            (1, Ok(table)) => assert_eq!(table.catalog().epoch.0, 1),
            (_, opened) => panic!("{opened:?}"),
        }
        move_on(&servers[1 - ahead]);
        assert_eq!(open(&servers).unwrap().catalog().epoch.0, 2);
        // A thief of the old key signs another epoch with it: no server may show that one beside the
        // new key's.
        servers[1].with(|world| world.key = SigningKey::generate(&mut rng::seeded("publisher")));
        let error = open(&servers).map(drop).unwrap_err();
        assert_eq!(error.code(), "retired-key", "{error:?}");
    }
}

#[test]
fn servers_without_a_common_epoch_are_named() {
    for ahead in [0, 1] {
        let servers = pair(300, 2);
        move_on(&servers[ahead], false);
        let error = open(&servers).map(drop).unwrap_err();
        assert_eq!((error.code(), error.fault()), ("no-common-epoch", Fault::Network));
        assert!(error.to_string().contains(&format!("server {ahead} does not serve epoch 1")), "{error}");
    }
    // A server that shows another epoch than the requested one has no common epoch.
    let servers = pair(300, 2);
    move_on(&servers[0], true);
    servers[0].tamper(|request, response| match request.path.contains('?') {
        true => Err(TransportError::Lost(String::new())),
        false => Ok(response),
    });
    assert_eq!(open(&servers).map(drop).unwrap_err().code(), "connection-lost");
    let newest = servers[0].with(|world| world.signed());
    servers[0].tamper(move |request, response| match request.path.contains('?') {
        true => Ok(Response::new(200, newest.clone())),
        false => Ok(response),
    });
    assert_eq!(open(&servers).map(drop).unwrap_err().code(), "no-common-epoch");
}

#[test]
fn an_epoch_that_is_over_at_one_server_is_asked_anew_of_both() {
    for first in [0, 1] {
        let servers = pair(300, 2);
        let mut table = open(&servers).unwrap();
        query_bodies(&servers);
        move_on(&servers[first], false);
        move_on(&servers[1 - first], true);
        assert_eq!(table.get(77).unwrap(), value(77, 2));
        assert_eq!(table.catalog().epoch.0, 2);
        for bodies in query_bodies(&servers) {
            let [before, after] = bodies.as_slice() else { panic!("{} asks", bodies.len()) };
            assert_ne!(before[query::HEAD_BYTES..], after[query::HEAD_BYTES..], "a query of its own");
        }
    }
}

#[test]
fn a_row_that_an_epoch_has_lost_is_not_told_by_silence() {
    let heard_of = |row: u64| {
        let servers = pair(300, 2);
        let mut table = open(&servers).unwrap();
        query_bodies(&servers);
        for server in &servers {
            move_on(server, false);
            server.with(|world| world.catalog.rows = 200);
        }
        let outcome = table.get(row).map_err(|error| error.code());
        (outcome, query_bodies(&servers).map(|bodies| bodies.iter().map(Vec::len).collect::<Vec<_>>()))
    };
    let (there, usual) = heard_of(7);
    assert_eq!(there, Ok(value(7, 2)));
    let (gone, received) = heard_of(250);
    assert_eq!(gone, Err("misuse"));
    assert_eq!(received, usual);
}

#[test]
fn a_second_server_that_lies_about_epochs_stops_nothing_but_itself() {
    let servers = pair(300, 2);
    let mut table = open(&servers).unwrap();
    query_bodies(&servers);
    let stale = Problem::new(ProblemCode::StaleEpoch, "over").to_bytes();
    servers[1].tamper(move |request, response| match request.path.ends_with("/ask") {
        true => Ok(Response::new(409, stale.clone())),
        false => Ok(response),
    });
    assert_eq!(table.get(9).unwrap_err().code(), "epoch-changed");
    assert_eq!(
        query_bodies(&servers).map(|bodies| bodies.len()),
        [2, 2],
        "asked anew once, and then given up"
    );
}

#[test]
fn a_table_of_two_servers_is_refreshed_when_both_have_moved_on() {
    let servers = pair(300, 2);
    let mut table = open(&servers).unwrap();
    assert!(!table.refresh().unwrap());
    move_on(&servers[0], true);
    assert!(!table.refresh().unwrap(), "the other one is not there yet");
    move_on(&servers[1], true);
    assert!(table.refresh().unwrap());
    assert_eq!(table.catalog().epoch.0, 2);
    // One server that goes back to an earlier epoch is enough to be refused.
    let old = servers[1].with(|world| world.earlier[0].1.clone());
    servers[1].tamper(move |request, response| match request.path.ends_with(NAME) {
        true => Ok(Response::new(200, old.clone())),
        false => Ok(response),
    });
    assert_eq!(table.refresh().unwrap_err().code(), "rollback");
}
