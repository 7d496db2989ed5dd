//! Operation: the admin port, which is open to programs and not to web pages; answers while tables are
//! opened; graceful shutdown; ports in use; and the files of `deploy/`: settings are parsed, and
//! metrics exist.

use crate::harness::http::{connect, head};
use crate::harness::*;
use sotto_core::Diagnose;
use sotto_server::{EpochSource, Server, ServerConfig, ShutdownReport, SourceError, StartError, TableEpoch};
use sotto_wire::{ProblemCode, routes};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// Requests a path, and names this host.
fn query_as(world: &World, request: &str, host: &str, more: &str) -> Response {
    let mut stream = connect(world.running.admin);
    let host = if host.is_empty() { String::new() } else { format!("host: {host}\r\n") };
    let text = format!("{request} HTTP/1.1\r\n{host}{more}connection: close\r\ncontent-length: 0\r\n\r\n");
    stream.write_all(text.as_bytes()).unwrap();
    Response::read(&mut stream)
}

#[test]
fn no_web_page_is_obeyed() {
    let world = world(&ServerConfig { admin_hosts: vec!["sotto.internal".into()], ..config() });
    let (own, mark) = (world.running.admin.to_string(), "sotto-admin: 1\r\n");
    let page = "origin: https://evil.example\r\n";
    for path in ["/drain", "/undrain", "/backup", "/reload"] {
        let post = format!("POST {path}");
        // Requests that a page sends without a preflight, and those it cannot send.
        for more in ["", page, "sec-fetch-site: cross-site\r\n", "sec-fetch-site: same-site\r\n"] {
            assert_eq!(query_as(&world, &post, &own, more).status, 403, "{path} {more:?}");
        }
        let refused = query_as(&world, &post, &own, &format!("{mark}{page}"));
        assert!(refused.status == 403 && refused.text().contains("web page"), "{}", refused.text());
        assert_eq!(query_as(&world, &format!("OPTIONS {path}"), &own, page).status, 403);
    }
    // A host name that was made to resolve to this address reads nothing either.
    for path in ["/metrics", "/readyz", "/healthz"] {
        let get = format!("GET {path}");
        let refused = query_as(&world, &get, "evil.example:8081", "");
        assert!(refused.status == 403 && refused.text().contains("admin_hosts"), "{}", refused.text());
        for host in [&own, "localhost:8081", "[::1]:8081", "10.1.2.3", "sotto.internal:8081"] {
            assert_eq!(query_as(&world, &get, host, "").status, 200, "{path} {host}");
        }
    }
    assert_eq!(query_as(&world, "GET /readyz", &own, "sec-fetch-site: none\r\n").status, 200);
    assert_eq!(get(world.running.admin, "/readyz").status, 200, "nothing was done");
    assert_eq!(query_as(&world, "POST /drain", &own, mark).status, 200);
    assert_eq!(get(world.running.admin, "/readyz").status, 503);
}

/// A source that opens when a test allows it, and reports when that begins.
struct Slow {
    source: TestSource,
    begins: mpsc::Sender<()>,
    go_on: std::sync::Mutex<mpsc::Receiver<()>>,
}

impl EpochSource for Slow {
    fn name(&self) -> String {
        "tables/slow".into()
    }
    fn epochs(&self) -> Result<Vec<sotto_core::Epoch>, SourceError> {
        self.source.epochs()
    }
    fn open(&self, epoch: sotto_core::Epoch) -> Result<TableEpoch, SourceError> {
        self.begins.send(()).unwrap();
        self.go_on.lock().unwrap().recv().unwrap();
        self.source.open(epoch)
    }
}

#[test]
fn a_server_that_opens_its_tables_answers_that_it_is_not_ready() {
    // Two ports that are free now; the system does not assign them again at once.
    let free = || std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = ServerConfig { listen: free(), admin_listen: free(), ..config() };
    let source = TestSource::with(EncodedTable::clear(1, &Probe::new()));
    let ((begins, begun), (go_on, wait)) = (mpsc::channel(), mpsc::channel());
    let slow = Slow { source, begins, go_on: std::sync::Mutex::new(wait) };
    let settings = config.clone();
    let starting = std::thread::spawn(move || Server::start_with(&settings, vec![Box::new(slow)]).unwrap());
    begun.recv().unwrap();
    assert_eq!(get(config.admin_listen, "/healthz").status, 200);
    let ready = get(config.admin_listen, "/readyz");
    assert_refused(&ready, ProblemCode::NotReady);
    assert!(ready.text().contains("opening tables/slow (1 of 1)"), "{}", ready.text());
    assert_refused(&get(config.listen, routes::TABLES), ProblemCode::NotReady);
    // A connection that was open before is answered by the new routes.
    let mut early = connect(config.admin_listen);
    early.write_all(head("GET", "/readyz", &[]).as_bytes().split_last_chunk::<2>().unwrap().0).unwrap();
    go_on.send(()).unwrap();
    let running = starting.join().unwrap();
    early.write_all(b"\r\n").unwrap();
    assert_eq!(Response::read(&mut early).status, 200);
    assert_eq!(get(running.public, routes::TABLES).status, 200);
}

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
    assert_refused(&get(admin, "/readyz"), ProblemCode::ShuttingDown);
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
        let text = format!("{error}: {}", error.diagnosis().fix);
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
        assert_refused(&Response::read(&mut stream), ProblemCode::ShuttingDown);
    }
    probe.release();
    assert_answers(&query.join().unwrap(), &pin, &[1]);
    assert_eq!(ending.join().unwrap(), ShutdownReport { unfinished: 0 });
}

const DASHBOARD: &str = include_str!("../../../../deploy/grafana/sotto.json");
const ALERTS: &str = include_str!("../../../../deploy/prometheus/alerts.yaml");
const RUNBOOK: &str = include_str!("../../../../deploy/runbook.md");
const UNIT: &str = include_str!("../../../../deploy/systemd/sotto.service");

/// Every name that begins with `sotto_` in a text.
fn names(text: &str) -> BTreeSet<&str> {
    let letter = |c: char| c.is_ascii_lowercase() || c == '_';
    let starts = text.match_indices("sotto_").map(|(at, _)| &text[at..]);
    starts.map(|rest| &rest[..rest.find(|c| !letter(c)).unwrap_or(rest.len())]).collect()
}

#[test]
fn every_metric_of_the_dashboard_and_of_the_alerts_is_one_that_a_server_gives() {
    let sample = sotto_server::metrics_sample(|_| ());
    let described = sample.lines().filter_map(|line| line.strip_prefix("# HELP ")?.split(' ').next());
    let described: BTreeSet<&str> = described.collect();
    let used: BTreeSet<&str> = names(DASHBOARD).into_iter().chain(names(ALERTS)).collect();
    assert!(used.len() > 15 && described.len() > 20);
    for name in used {
        let base = ["_total", "_bucket"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        assert!(described.contains(base), "no server gives {name}");
    }
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
    assert!(dashboard["panels"].as_array().unwrap().len() > 12);
}

#[test]
fn every_alert_says_what_to_do() {
    let titles = RUNBOOK.lines().filter_map(|line| line.strip_prefix("## "));
    let anchors: BTreeSet<String> =
        titles.map(|title| title.to_lowercase().replace(' ', "-").replace(['.', ',', '\''], "")).collect();
    assert_eq!(anchors.len(), 10);
    let named: Vec<&str> =
        ALERTS.split("runbook.md#").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(named.len(), ALERTS.matches("- alert:").count());
    for anchor in named {
        assert!(anchors.contains(anchor), "no entry {anchor} among {anchors:?}");
    }
}

#[test]
fn the_settings_are_settings_and_the_unit_gives_time_to_end() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/sotto.toml");
    let config = ServerConfig::read(&path).unwrap();
    assert!(config.tls.is_some() && config.admin_listen.ip().is_loopback() && config.state.is_some());
    let value = |key: &str| UNIT.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    assert!(value("TimeoutStopSec=").parse::<u64>().unwrap() > config.drain_seconds);
    assert!(value("ExecReload=").contains(&format!("{}/reload", config.admin_listen)));
    assert_eq!(config.state.unwrap(), Path::new("/var/lib").join(value("StateDirectory=")));
}

#[test]
fn behind_a_proxy_nothing_is_counted_by_address() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/behind-proxy.toml");
    let config = ServerConfig::read(&path).unwrap();
    assert!(
        config.tls.is_none() && config.listen.ip().is_loopback() && config.admin_listen.ip().is_loopback()
    );
    let counts = [config.connections_per_client, config.streams_per_client, config.hint_requests_per_client];
    assert_eq!(counts, [0; 3]);
    assert_eq!((config.hint_seconds_per_client, config.evaluations_per_client), (0, 0));
    assert_eq!((config.sessions.sessions_per_client, config.sessions.registrations_per_minute), (0, 0));
    assert!(config.scan_budget.percent_per_client == 0 && config.scan_budget.percent > 0);
    for proxy in ["nginx/sotto.conf", "caddy/Caddyfile"] {
        let text = std::fs::read_to_string(path.with_file_name(proxy)).unwrap();
        assert!(text.contains(&format!("{}", config.listen)), "{proxy}");
        assert!(!text.contains(&format!(":{}", config.admin_listen.port())), "{proxy}");
    }
}
