//! The admin port: open to programs and not to web pages; and its answers while tables are opened.

use crate::harness::http::{connect, head};
use crate::harness::*;
use sotto_server::{EpochSource, Server, ServerConfig, SourceError, TableEpoch};
use sotto_wire::{Code, routes};
use std::io::Write;
use std::sync::mpsc;

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
    assert_refused(&ready, Code::NotReady);
    assert!(ready.text().contains("opening tables/slow (1 of 1)"), "{}", ready.text());
    assert_refused(&get(config.listen, routes::TABLES), Code::NotReady);
    // A connection that was open before is answered by the new routes.
    let mut early = connect(config.admin_listen);
    early.write_all(head("GET", "/readyz", &[]).as_bytes().split_last_chunk::<2>().unwrap().0).unwrap();
    go_on.send(()).unwrap();
    let running = starting.join().unwrap();
    early.write_all(b"\r\n").unwrap();
    assert_eq!(Response::read(&mut early).status, 200);
    assert_eq!(get(running.public, routes::TABLES).status, 200);
}
