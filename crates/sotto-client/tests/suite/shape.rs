//! Requests and responses have one shape, whatever is looked up.
use crate::common::{as_addresses, server, server_of, value};
use sotto_client::transport::Request;
use sotto_wire::query;

/// All that a server sees of a request except the queries.
fn shape(request: &Request) -> impl PartialEq + std::fmt::Debug + use<> {
    let head = request.body.get(..query::HEAD_BYTES).map(<[u8]>::to_vec);
    (request.method, request.path.clone(), request.range.clone(), head, request.body.len())
}

#[test]
fn every_lookup_looks_the_same() {
    // Several rows per record, one, and rows over several records.
    for row_bytes in [2, 32, 4096] {
        let server = server(300, row_bytes);
        let mut table = server.table().open().unwrap();
        server.received();
        let mut shapes = Vec::new();
        for row in [0, 1, 17, 150, 298, 299, 0, 0] {
            assert_eq!(table.get(row).unwrap(), value(row, row_bytes as usize));
            let received = server.received();
            assert_eq!(received.len(), 1, "one lookup is one request");
            shapes.push(shape(&received[0]));
        }
        assert!(shapes.iter().all(|one| *one == shapes[0]), "{shapes:?}");
    }
}

#[test]
fn a_lookup_of_several_rows_shows_their_number_and_nothing_else() {
    let server = server(300, 2);
    let mut table = server.table().open().unwrap();
    let mut shapes = Vec::new();
    for rows in [[0, 1, 2], [7, 7, 7], [299, 150, 0]] {
        server.received();
        assert_eq!(table.get_many(&rows).unwrap(), rows.map(|row| value(row, 2)));
        let received = server.received();
        assert_eq!(received.len(), 1);
        shapes.push(shape(&received[0]));
    }
    assert!(shapes.iter().all(|one| *one == shapes[0]));
    table.get(5).unwrap();
    assert_ne!(shape(&server.received()[0]), shapes[0], "the number does show");
}

#[test]
fn keys_that_are_there_look_like_keys_that_are_not() {
    let server = server(300, 2);
    as_addresses(&server);
    let mut table = server.table().open().unwrap();
    let mut shapes = Vec::new();
    // Row 0 contains the empty value: no range covers its block.
    for (key, row) in [("10.0.0.1", 0), ("10.0.9.255", 9), ("10.1.43.0", 299)] {
        server.received();
        assert_eq!(table.get_key(key).unwrap(), value(row, 2));
        shapes.push(shape(&server.received()[0]));
    }
    assert!(shapes.iter().all(|one| *one == shapes[0]));
    let error = table.get_key("11.0.0.0").unwrap_err();
    assert_eq!(error.code(), "no-such-row");
    assert!(!error.to_string().contains("11.0.0.0"), "what is looked up is private");
    shapes.push(shape(&server.received()[0]));
    assert!(shapes.iter().all(|one| *one == shapes[0]), "what names no row is asked for like any other");
}

#[test]
fn every_opening_looks_the_same() {
    let server = server(300, 2);
    let openings: Vec<_> = (0..2)
        .map(|_| {
            server.table().open().unwrap();
            server.received()
        })
        .collect();
    assert_eq!(openings[0], openings[1]);
    assert!(openings[0].iter().all(|request| request.body.is_empty()));
}

#[test]
fn keys_have_one_size() {
    let server = server_of("clear-keyed/1", 300, 2);
    let openings: Vec<_> = (0..2)
        .map(|_| {
            let mut table = server.table().open().unwrap();
            assert_eq!(table.get(299).unwrap(), value(299, 2));
            let received = server.received();
            assert_eq!(received.iter().filter(|request| request.path.ends_with("/keys")).count(), 1);
            received.iter().map(|r| (r.method, r.path.clone(), r.body.len())).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(openings[0], openings[1]);
}

#[test]
fn an_unreadable_answer_is_not_asked_for_again() {
    let server = server(300, 2);
    let mut table = server.table().open().unwrap();
    server.received();
    // The record is not the one the hint speaks of.
    server.tamper_asks(|body| *body.last_mut().unwrap() ^= 1);
    let error = table.get(5).unwrap_err();
    assert_eq!(error.code(), "unreadable");
    assert_eq!(server.received().len(), 1, "a retry would tell the server");
    server.with(|world| world.tamper = None);
    assert_eq!(table.get(5).unwrap(), value(5, 2), "asking is the caller's decision");
}

#[test]
fn a_call_for_nothing_sends_nothing_and_one_for_much_sends_several() {
    let server = server(300, 2);
    let mut table = server.table().open().unwrap();
    server.received();
    assert_eq!(table.get_many(&[]).unwrap_err().code(), "too-many-rows");
    assert_eq!(server.received(), []);
    for (rows, requests) in [(64, 1), (65, 2), (200, 4)] {
        assert_eq!(table.get_many(&vec![0; rows]).unwrap().len(), rows);
        assert_eq!(server.received().len(), requests);
    }
}

#[test]
fn statistics_are_those_of_the_wire() {
    let server = server(300, 2);
    let mut table = server.table().open().unwrap();
    server.received();
    table.get(299).unwrap();
    let (last, received) = (table.last_lookup().unwrap().clone(), server.received());
    assert_eq!(last.up, received[0].body.len() as u64);
    assert_eq!(last.query_prefix, received[0].body[query::HEAD_BYTES..]);
    assert_eq!((last.rows, last.queries), (1, 1));
    let stats = table.stats();
    assert_eq!(
        (stats.query_requests.requests, stats.query_requests.up, stats.query_requests.down),
        (1, last.up, last.down)
    );
    assert_eq!(stats.artifacts.down, server.with(|world| world.hint().len()) as u64);
    assert_eq!((stats.rows, stats.retries), (1, 0));
}
