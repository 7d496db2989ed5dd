//! Graceful shutdown, ports in use.

use crate::harness::http::{connect, head};
use crate::harness::*;
use sotto_server::{Server, ServerConfig, ShutdownReport, StartError};
use sotto_wire::{Code, routes};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc;
use std::time::Duration;

#[test]
fn asks_in_flight_are_answered_before_the_end() {
    let world = world(&config());
    world.probe.hold();
    let mut waiting = vec![world.query_later(&[0])];
    world.until("sotto_passes_total", 1.0);
    waiting.extend([world.query_later(&[1]), world.query_later(&[2])]);
    world.until("sotto_queue_depth", 2.0);
    let World { running, probe, pin, at, .. } = world;
    let (ended, wait) = mpsc::channel();
    std::thread::spawn(move || ended.send(running.shutdown()));
    assert!(wait.recv_timeout(Duration::from_millis(100)).is_err(), "it waits for the asks");
    probe.release();
    for (i, query) in waiting.into_iter().enumerate() {
        assert_answers(&query.join().unwrap(), &pin, &[i as u64]);
    }
    assert_eq!(wait.recv_timeout(Duration::from_secs(20)).unwrap(), ShutdownReport { unfinished: 0 });
    assert!(TcpStream::connect(at).is_err(), "the port is closed");
}

#[test]
fn a_body_on_its_way_is_read_to_its_end() {
    let world = world(&config());
    let frame = world.frame(&[1]);
    let length = frame.len().to_string();
    let mut slow = connect(world.at);
    let headers = [("content-length", length.as_str()), ("expect", "100-continue")];
    slow.write_all(head("POST", &routes::query("t"), &headers).as_bytes()).unwrap();
    // The server sends this when it begins to read the body: the query is admitted.
    let mut go_on = [0; "HTTP/1.1 100 Continue\r\n\r\n".len()];
    slow.read_exact(&mut go_on).unwrap();
    assert!(go_on.starts_with(b"HTTP/1.1 100"));
    let World { running, pin, at, .. } = world;
    let ending = std::thread::spawn(move || running.shutdown());
    while TcpStream::connect(at).is_ok() {
        std::thread::sleep(Duration::from_millis(2));
    }
    slow.write_all(&frame).unwrap();
    assert_answers(&Response::read(&mut slow), &pin, &[1]);
    assert_eq!(ending.join().unwrap(), ShutdownReport { unfinished: 0 });
}

#[test]
fn a_drained_server_is_sent_nothing_and_answers_what_comes() {
    let world = world(&config());
    let admin = world.running.admin;
    assert_eq!(get(admin, "/readyz").status, 200);
    assert_eq!(operate(admin, "/drain").status, 200);
    assert_refused(&get(admin, "/readyz"), Code::ShuttingDown);
    assert_answers(&world.query(&[1]), &world.pin, &[1]);
    assert_eq!(get(admin, "/drain").status, 405, "by POST alone");
    assert_eq!(operate(admin, "/undrain").status, 200);
    assert_eq!(get(admin, "/readyz").status, 200);
}

#[test]
fn an_end_does_not_wait_for_ever() {
    let world = world(&ServerConfig { drain_seconds: 0, ..config() });
    let mut slow = connect(world.at);
    slow.write_all(head("POST", &routes::query("t"), &[("content-length", "72")]).as_bytes()).unwrap();
    world.until("sotto_connections", 1.0);
    let ShutdownReport { unfinished: cut_off } = world.running.shutdown();
    // The connection that fetched the metrics may not be closed yet.
    assert!(cut_off == 1 || cut_off == 2, "{cut_off}");
    let mut rest = Vec::new();
    let _ = slow.read_to_end(&mut rest);
    assert!(rest.is_empty());
}

#[test]
fn a_port_in_use_is_named_with_the_fix() {
    let world = world(&config());
    let source = TestSource::with(EncodedTable::clear(1, &Probe::new()));
    let both = [
        ServerConfig { listen: world.at, ..config() },
        ServerConfig { admin_listen: world.running.admin, ..config() },
    ];
    for (config, key) in both.iter().zip(["listen", "admin_listen"]) {
        let error = Server::start_with(config, vec![Box::new(source.clone())]).err().unwrap();
        assert!(matches!(error, StartError::InUse { .. }), "{error}");
        let text = error.to_string();
        let flag = format!("--{}", key.replace('_', "-"));
        assert!(
            text.contains("127.0.0.1:") && text.contains(&format!("`{key}`")) && text.contains(&flag),
            "{text}"
        );
    }
    assert_answers(&world.query(&[1]), &world.pin, &[1]);
}

#[test]
fn a_server_that_is_dropped_gives_its_port_back() {
    let world = world(&config());
    let at = world.at;
    drop(world.running);
    let again = start(&ServerConfig { listen: at, ..config() }, &world.source);
    assert_eq!(again.public, at);
}

/// Waits until the server has read what was sent: a connection of which it has read nothing when it
/// ends is closed, and not answered. Where the system does not list its sockets, nothing is waited
/// for.
fn until_read(stream: &TcpStream) {
    let [own, server] = [stream.local_addr(), stream.peer_addr()].map(|address| address.unwrap().port());
    let queued = || {
        let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
        let waits = |line: &str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let port = |at: usize| u16::from_str_radix(fields.get(at)?.split_once(':')?.1, 16).ok();
            let (sent, received) = fields.get(4)?.split_once(':')?;
            let queue = match (port(1)?, port(2)?) {
                ports if ports == (own, server) => sent,
                ports if ports == (server, own) => received,
                _ => return None,
            };
            u64::from_str_radix(queue, 16).ok()
        };
        sockets.lines().filter_map(waits).sum::<u64>()
    };
    eventually("the server has read all that was sent", || queued() == 0);
}

#[test]
fn requests_that_come_while_ending_are_refused() {
    let world = world(&config());
    world.probe.hold();
    let query = world.query_later(&[1]);
    world.until("sotto_passes_total", 1.0);
    // Connections of which half a request has arrived when the end begins.
    let mut ready = connect(world.running.admin);
    ready.write_all(b"GET /readyz HTTP/1.1\r\nhost: 127.0.0.1\r\n").unwrap();
    let mut late = connect(world.at);
    late.write_all(b"POST /v1/tables/t/ask HTTP/1.1\r\nhost: t\r\n").unwrap();
    world.until("sotto_connections", 2.0);
    until_read(&ready);
    until_read(&late);
    let World { running, probe, pin, at, .. } = world;
    let ending = std::thread::spawn(move || running.shutdown());
    // The port is closed after the server has stopped taking work.
    while TcpStream::connect(at).is_ok() {
        std::thread::sleep(Duration::from_millis(2));
    }
    ready.write_all(b"\r\n").unwrap();
    late.write_all(b"content-length: 72\r\n\r\n").unwrap();
    for mut stream in [ready, late] {
        assert_refused(&Response::read(&mut stream), Code::ShuttingDown);
    }
    probe.release();
    assert_answers(&query.join().unwrap(), &pin, &[1]);
    assert_eq!(ending.join().unwrap(), ShutdownReport { unfinished: 0 });
}
