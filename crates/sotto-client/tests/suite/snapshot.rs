//! A client that requires one snapshot accepts that one, and no other.

use crate::common::{Server, pair, query_bodies, server, server_of, table_of, value};
use sotto_catalog::Hex32;
use sotto_client::{ClientError, Fault, Table};
use sotto_core::Epoch;

fn digest(server: &Server) -> Hex32 {
    server.with(|world| world.catalog.digest().unwrap())
}

/// Moves to the next epoch; the previous catalog stays available.
fn moves_on(server: &Server) {
    server.with(|world| {
        world.earlier.push((world.catalog.epoch, world.signed()));
        world.update(&[1]);
    });
}

/// Checks that opening was refused, and that the server received nothing after its catalog; returns
/// the error.
fn refused(server: &Server, outcome: Result<Table, ClientError>) -> ClientError {
    let error = outcome.map(drop).unwrap_err();
    let received = server.received();
    assert!(received.iter().all(|request| request.path == "/v1/tables/squares"), "{received:?}");
    error
}

#[test]
fn the_snapshot_that_was_named_is_opened_and_no_other() {
    let server = server(3000, 32);
    let right = digest(&server);
    let mut table = server.table().snapshot(right).open().unwrap();
    assert_eq!(table.get(7).unwrap(), value(7, 32));
    server.received();

    let wrong = Hex32::from([7; 32]);
    let error = refused(&server, server.table().snapshot(wrong).open());
    assert_eq!((error.code(), error.fault()), ("other-snapshot", Fault::Server));
    let said = error.to_string();
    assert!(said.contains(&right.to_string()) && said.contains(&wrong.to_string()), "{said}");
    assert!(error.fix().contains("ask the operator"), "{}", error.fix());
    // The same rows, signed again a second later, are another snapshot.
    server.with(|world| world.catalog.created += 1);
    assert_eq!(refused(&server, server.table().snapshot(right).open()).code(), "other-snapshot");
}

#[test]
fn a_table_that_moves_on_is_left_where_it_is() {
    let server = server(3000, 32);
    let first = digest(&server);
    let mut table = server.table().snapshot(first).open().unwrap();
    moves_on(&server);
    assert_eq!(table.refresh().unwrap_err().code(), "other-snapshot");
    server.received();
    for _ in 0..2 {
        let error = table.get(1).unwrap_err();
        assert!(matches!(error, ClientError::OtherSnapshot { epoch: Epoch(2), .. }), "{error:?}");
        // One query of the epoch that has ended, and none of the next epoch.
        let received = server.received();
        assert_eq!(received.iter().filter(|request| request.path.ends_with("/ask")).count(), 1);
        assert_eq!(table.catalog().digest().unwrap(), first);
    }
    assert_eq!(refused(&server, server.table().snapshot(first).open()).code(), "other-snapshot");
    // A client without a snapshot follows; one that requires the next snapshot gets it.
    assert_eq!(server.table().open().unwrap().get(1).unwrap(), vec![0xEE; 32]);
    assert_eq!(server.table().snapshot(digest(&server)).open().unwrap().get(1).unwrap(), vec![0xEE; 32]);
}

#[test]
fn an_older_snapshot_that_was_named_is_no_rollback_and_is_not_remembered_as_the_newest() {
    let (server, dir) = (server(3000, 32), tempfile::tempdir().unwrap());
    let open = || server.table().cache_dir(dir.path());
    let (old, first) = (server.with(|world| world.catalog.clone()), digest(&server));
    moves_on(&server);
    open().open().unwrap();
    server.with(|world| world.catalog = old);
    assert_eq!(open().open().map(drop).unwrap_err().code(), "rollback");
    assert_eq!(open().snapshot(first).open().unwrap().catalog().epoch, Epoch(1));
    assert_eq!(open().open().map(drop).unwrap_err().code(), "rollback", "epoch 2 is still the newest seen");
}

#[test]
fn hints_of_a_state_are_spent_at_one_snapshot_only() {
    let (server, dir) = (server_of("clear-rows/1", 300, 32), tempfile::tempdir().unwrap());
    let open = |snapshot| {
        let builder =
            server.table().state_dir(dir.path().join("state")).rollback_dir(dir.path().join("rollback"));
        match snapshot {
            Some(digest) => builder.snapshot(digest).open(),
            None => builder.open(),
        }
    };
    let first = digest(&server);
    let mut table = open(Some(first)).unwrap();
    assert_eq!(table.get(4).unwrap(), value(4, 32));
    moves_on(&server);
    server.received();
    assert_eq!(table.get(5).unwrap_err().code(), "other-snapshot");
    let spent = table.budget();
    // The refused query was logged and is sent again, so no further hint is spent.
    assert_eq!(table.get(6).unwrap_err().code(), "other-snapshot");
    assert_eq!(table.budget(), spent);
    let received: Vec<_> =
        server.received().into_iter().filter(|request| request.path.ends_with("/ask")).collect();
    assert!(received.windows(2).all(|two| two[0].body == two[1].body), "another query was sent");
    drop(table);
    // A refused client does not change the state; another one advances it.
    assert_eq!(refused(&server, open(Some(first))).code(), "other-snapshot");
    let mut table = open(Some(digest(&server))).unwrap();
    assert_eq!((table.catalog().epoch, table.get(1).unwrap()), (Epoch(2), vec![0xEE; 32]));
    let mut table = {
        drop(table);
        open(None).unwrap()
    };
    assert_eq!(table.get(4).unwrap(), value(4, 32));
}

#[test]
fn two_servers_are_asked_about_one_snapshot() {
    let servers = pair(300, 2);
    let both = [&servers[0], &servers[1]];
    let first = digest(&servers[0]);
    let mut table = table_of(&both).snapshot(first).open().unwrap();
    assert_eq!(table.get(9).unwrap(), value(9, 2));
    // One server is ahead, and both still have the required epoch.
    moves_on(&servers[1]);
    assert_eq!(table_of(&both).snapshot(first).open().unwrap().catalog().epoch, Epoch(1));
    moves_on(&servers[0]);
    query_bodies(&servers);
    assert_eq!(table_of(&both).snapshot(first).open().map(drop).unwrap_err().code(), "other-snapshot");
    assert_eq!(query_bodies(&servers).map(|bodies| bodies.len()), [0, 0]);
    assert_eq!(table.get(9).unwrap_err().code(), "other-snapshot");
    assert_eq!(query_bodies(&servers).map(|bodies| bodies.len()), [1, 1], "of the epoch that is over");
}

#[test]
fn a_table_or_the_epoch_before_has_the_anchor_or_nothing_is_asked() {
    let server = server(3000, 32);
    let anchored = |anchor: &str| server.table().anchor(anchor.parse().unwrap());
    let error = refused(&server, anchored("block-1").open());
    assert_eq!((error.code(), error.fault()), ("other-anchor", Fault::Server));
    assert!(error.to_string().contains("got none (epoch 1)"), "{error}");

    server.with(|world| world.catalog.anchor = "block-1".parse().ok());
    let mut table = anchored("block-1").open().unwrap();
    assert_eq!(table.get(7).unwrap(), value(7, 32));
    moves_on(&server);
    server.with(|world| world.catalog.anchor = "block-2".parse().ok());
    assert_eq!(anchored("block-2").open().unwrap().catalog().epoch, Epoch(2));
    assert_eq!(anchored("block-1").open().unwrap().catalog().epoch, Epoch(1));
    server.received();
    let error = anchored("block-3").open().map(drop).unwrap_err();
    assert!(error.to_string().contains("got block-2 (epoch 2)"), "{error}");
    let paths = ["/v1/tables/squares", "/v1/tables/squares?epoch=1"];
    assert!(server.received().iter().map(|request| request.path.as_str()).eq(paths));

    // Epoch 1 is over once there is an epoch 3, and a table that was opened at its anchor stays there.
    moves_on(&server);
    server.with(|world| {
        world.catalog.anchor = "block-3".parse().ok();
        world.earlier.remove(0);
    });
    assert_eq!(table.get(1).unwrap_err().code(), "other-anchor");
    assert_eq!(table.catalog().epoch, Epoch(1));
    let error = anchored("block-1").open().map(drop).unwrap_err();
    assert!(error.to_string().contains("got block-3 (epoch 3)"), "{error}");
}
