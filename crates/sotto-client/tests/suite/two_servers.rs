//! Tables of two servers: each receives its own query, and neither is trusted alone.
use crate::common::{NAME, boxed, open, pair, query_bodies, resolve, server, table_of, value};
use sotto_client::transport::InProcessTransport;
use sotto_client::transport::retry::{RetryPolicy, RetryTransport};
use sotto_client::transport::{Request, Response, TransportError};
use sotto_client::{Fault, Table};
use sotto_wire::{Problem, ProblemCode, query};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

#[test]
fn every_row_is_read_from_two_halves() {
    // Several rows per record, one, and rows over several records.
    for row_bytes in [2, 32, 4096] {
        let servers = pair(70, row_bytes);
        let mut table = open(&servers).unwrap();
        for row in 0..70 {
            assert_eq!(table.get(row).unwrap(), value(row, row_bytes as usize));
        }
        let some = [3, 69, 3, 0];
        let values = some.map(|row| value(row, row_bytes as usize));
        assert_eq!(table.get_many(&some[..table.session().max_rows().min(4)]).unwrap(), values);
    }
}

#[test]
fn each_server_sees_one_frame_of_one_shape_with_its_own_number() {
    let servers = pair(300, 2);
    let mut table = open(&servers).unwrap();
    let mut shapes = Vec::new();
    for row in [0, 7, 7, 299] {
        query_bodies(&servers);
        table.get(row).unwrap();
        let received = query_bodies(&servers);
        for (server, bodies) in (0..).zip(&received) {
            let [body] = bodies.as_slice() else { panic!("{} requests", bodies.len()) };
            let head = query::QueryHead::parse(body).unwrap();
            assert_eq!((head.pin.server, head.count), (server, 1));
        }
        assert_ne!(
            received[0][0][query::HEAD_BYTES..],
            received[1][0][query::HEAD_BYTES..],
            "the halves differ"
        );
        shapes.push(received.map(|bodies| (bodies[0][..query::HEAD_BYTES].to_vec(), bodies[0].len())));
    }
    assert!(shapes.iter().all(|one| *one == shapes[0]));
}

#[test]
fn both_are_asked_at_once() {
    let servers = pair(300, 2);
    let (sender, received) = mpsc::channel();
    let received = Mutex::new(received);
    // The first server answers only once the second has received its request.
    servers[0].tamper(move |request, response| {
        if request.path.ends_with("/ask") {
            let other = received.lock().unwrap().recv_timeout(Duration::from_secs(20));
            other.map_err(|_| TransportError::Lost("the other server was not asked".to_owned()))?;
        }
        Ok(response)
    });
    servers[1].tamper(move |request, response| {
        if request.path.ends_with("/ask") {
            sender.send(()).unwrap();
        }
        Ok(response)
    });
    assert_eq!(open(&servers).unwrap().get(5).unwrap(), value(5, 2));
}

#[test]
fn a_table_has_as_many_servers_as_its_scheme_asks() {
    let [first, second] = pair(10, 2);
    let error = table_of(&[&first]).open().map(drop).unwrap_err();
    assert_eq!((error.code(), error.fault()), ("server-count", Fault::Caller));
    assert!(error.to_string().contains("expected 2 server address(es)"), "{error}");
    let error = table_of(&[&first, &second, &second]).open().map(drop).unwrap_err();
    assert_eq!(error.code(), "server-count");
    let (one, other) = (server(10, 2), server(10, 2));
    one.received();
    let error = table_of(&[&one, &other]).open().map(drop).unwrap_err();
    assert_eq!(error.code(), "server-count");
    assert_eq!((one.received().len(), other.received().len()), (1, 0), "one catalog says it all");
    let error = table_of(&[]).open().map(drop).unwrap_err();
    assert_eq!(error.code(), "bad-address");
}

#[test]
fn servers_in_the_wrong_order_are_named() {
    let [first, second] = pair(10, 2);
    let error = table_of(&[&second, &first]).open().unwrap().get(1).unwrap_err();
    assert_eq!(error.code(), "wrong-server");
    assert!(error.fix().contains("order of the servers' roles"), "{}", error.fix());
}

#[test]
fn one_server_that_is_down_is_named_and_the_other_is_not_believed() {
    let servers = pair(300, 2);
    let mut table = open(&servers).unwrap();
    query_bodies(&servers);
    for (down, server) in servers.iter().enumerate() {
        server.tamper(|_, _| Err(TransportError::Lost("gone".to_owned())));
        let error = table.get(9).unwrap_err();
        assert_eq!((error.code(), error.fault()), ("connection-lost", Fault::Network));
        assert!(error.to_string().starts_with(&format!("server {down}: ")), "{error}");
        assert_eq!(query_bodies(&servers).map(|bodies| bodies.len()), [1, 1], "both are asked all the same");
        server.with(|world| world.tamper = None);
        assert_eq!(table.get(9).unwrap(), value(9, 2));
        query_bodies(&servers);
    }
    let refuse =
        |_: &Request, _| Ok(Response::new(500, Problem::new(ProblemCode::Internal, "no").to_bytes()));
    servers[1].tamper(refuse);
    let error = table.get(9).unwrap_err();
    assert_eq!((error.code(), error.root().to_string()), ("internal", "the server refused: no".to_owned()));
}

#[test]
fn what_is_lost_is_sent_again_bit_for_bit_and_to_that_server_alone() {
    let servers = pair(300, 2);
    let mut losses = 3;
    servers[1].tamper(move |request, response| {
        if request.path.ends_with("/ask") && losses > 0 {
            losses -= 1;
            return Err(TransportError::Lost(String::new()));
        }
        Ok(response)
    });
    let pause = Duration::from_millis(1);
    let policy = RetryPolicy { attempts: 5, first_pause: pause, longest_pause: pause, max_wait: pause * 15 };
    let transports = servers.each_ref().map(|server| boxed(RetryTransport::new(server.transport(), policy)));
    let mut table = Table::over_all(transports.into(), NAME).resolve(resolve).open().unwrap();
    query_bodies(&servers);
    assert_eq!(table.get(9).unwrap(), value(9, 2));
    let [first, second] = query_bodies(&servers);
    assert_eq!((first.len(), second.len(), table.stats().retries), (1, 4, 3));
    assert!(second.iter().all(|body| *body == second[0]));
}

#[test]
fn answers_of_the_wrong_server_are_refused() {
    let servers = pair(300, 2);
    let mut table = open(&servers).unwrap();
    for (at, server) in servers.iter().enumerate() {
        // The number of the server is the sixth byte of a frame.
        server.tamper_asks(|body| body[5] ^= 1);
        let error = table.get(9).unwrap_err();
        assert_eq!(error.code(), "bad-answer");
        assert!(error.to_string().starts_with(&format!("server {at}: ")), "{error}");
        server.tamper_asks(|body| body.truncate(body.len() - 1));
        assert_eq!(table.get(9).unwrap_err().code(), "bad-answer");
        server.with(|world| world.tamper = None);
    }
    // A well-formed wrong answer cannot be detected in a table without row proofs.
    servers[1].tamper_asks(|body| *body.last_mut().unwrap() ^= 1);
    assert!(table.get(15).is_ok());
}

#[test]
fn statistics_count_both_servers() {
    let servers = pair(300, 2);
    let mut table = open(&servers).unwrap();
    query_bodies(&servers);
    table.get(299).unwrap();
    let last = table.last_lookup().unwrap().clone();
    let sent = query_bodies(&servers).map(|bodies| bodies[0].len() as u64);
    assert_eq!((last.up, last.servers.len()), (sent[0] + sent[1], 2));
    assert_eq!(last.down, last.servers.iter().map(|share| share.down).sum::<u64>());
    let stats = table.stats();
    assert_eq!(
        (stats.query_requests.requests, stats.query_requests.up, stats.query_requests.down),
        (2, last.up, last.down)
    );
    assert_eq!((stats.catalog.requests, stats.rows), (2, 1));
}

#[test]
fn rows_of_two_servers_are_not_streamed() {
    let mut table = open(&pair(10, 32)).unwrap();
    assert_eq!(table.stream(1, &mut Vec::new()).unwrap_err().code(), "cannot-stream");
}

#[test]
fn one_endpoint_is_not_two_servers() {
    let refused = |urls: &[&str]| {
        let error = Table::connect_all(urls, NAME).open().map(drop).unwrap_err();
        (error.code(), error.fault(), error.to_string())
    };
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = port.local_addr().unwrap().port();
    let address = format!("http://127.0.0.1:{port}");
    for same in [format!("{address}/"), format!("{address}/b"), format!("http://LOCALHOST:{port}")] {
        let (code, fault, said) = refused(&[&address, &same]);
        assert_eq!((code, fault), ("same-endpoint", Fault::Caller), "{same}");
        assert!(said.contains("learn the row"), "{said}");
    }
    let (code, ..) = refused(&["http://[::1]:1", "http://127.0.0.1:1", "http://[::1]:1"]);
    assert_eq!(code, "same-endpoint", "any two of them");
    let (code, ..) = refused(&[&address, &format!("https://127.0.0.1:{port}0000")]);
    assert_eq!(code, "bad-address");
    assert_eq!(refused(&[]).0, "bad-address");
}

#[test]
fn a_second_server_that_cannot_be_reached_is_named() {
    let asked = Arc::new(Mutex::new(0));
    let count = asked.clone();
    let lost = InProcessTransport::new(move |_: &Request| {
        *count.lock().unwrap() += 1;
        Err(TransportError::Lost(String::new()))
    });
    let [first, _] = pair(10, 2);
    let transports = vec![boxed(first.transport()), boxed(lost)];
    let error = Table::over_all(transports, NAME).resolve(resolve).open().map(drop).unwrap_err();
    assert!(error.to_string().starts_with("server 1: "), "{error}");
    assert_eq!(*asked.lock().unwrap(), 1);
}
