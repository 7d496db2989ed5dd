//! Requests that a relay passes on: the routes they reach, and refusals to the relay and inside.

use crate::harness::{Response, eventually, get, http};
use crate::use_case::{AGENT, Config, User, config, metric, post, start, write};
use bytes::Bytes;
use rand_core::CryptoRng;
use sotto_guest_server::OhttpConfig;
use sotto_ohttp::bhttp::{BhttpLimits, Request, Response as Inner};
use sotto_ohttp::client::{ResponseOpener, seal};
use sotto_ohttp::config::KeyConfig;
use sotto_ohttp::{KEY_PROBLEM, KEYS_TYPE, REQUEST_TYPE, RESPONSE_TYPE, WELL_KNOWN};
use sotto_server::RunningServer;
use sotto_testkit::rng::seeded;
use std::net::SocketAddr;
use std::path::Path;

struct Client {
    at: SocketAddr,
    key: KeyConfig,
    rng: Box<dyn CryptoRng>,
}

impl Client {
    fn new(at: SocketAddr) -> Self {
        let response = get(at, WELL_KNOWN);
        assert_eq!((response.status, response.header("content-type")), (200, Some(KEYS_TYPE)));
        let key = KeyConfig::read_all(&response.body).unwrap().remove(0);
        Client { at, key, rng: Box::new(seeded("oblivious")) }
    }

    fn seal(&mut self, plain: &[u8]) -> (Vec<u8>, ResponseOpener) {
        seal(&self.key, plain, &mut *self.rng).unwrap()
    }

    /// The decrypted response to these bytes inside a request.
    fn plain(&mut self, plain: &[u8]) -> Inner {
        let (sealed, pending) = self.seal(plain);
        inside(&relay(self.at, &sealed), pending)
    }

    fn query(&mut self, method: &str, path: &str, fields: &[(&str, &str)], body: &[u8]) -> Inner {
        self.plain(&request(method, path, fields, body).to_bytes())
    }

    /// A request as a phone sends it.
    fn post(&mut self, path: &str, user: &str, body: &[u8]) -> Inner {
        self.query("POST", path, &[("user-identifier", user), ("user-agent", AGENT)], body)
    }
}

fn request(method: &str, path: &str, fields: &[(&str, &str)], body: &[u8]) -> Request {
    let field = |(name, value): &(&str, &str)| ((*name).to_owned(), Bytes::from((*value).to_owned()));
    Request {
        method: method.into(),
        scheme: "https".into(),
        authority: "pir.example".into(),
        path: path.into(),
        fields: fields.iter().map(field).collect(),
        body: Bytes::copy_from_slice(body),
    }
}

/// Passes an encrypted request on, as a relay does.
fn relay(at: SocketAddr, sealed: &[u8]) -> Response {
    let length = sealed.len().to_string();
    http::request(
        at,
        "POST",
        WELL_KNOWN,
        &[("content-type", REQUEST_TYPE), ("content-length", &length)],
        sealed,
    )
}

fn inside(answer: &Response, pending: ResponseOpener) -> Inner {
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, Some(RESPONSE_TYPE)),
        "{}",
        answer.text()
    );
    let plain = pending.open(&answer.body).unwrap();
    Inner::read(plain.into(), BhttpLimits::default()).unwrap()
}

fn text(inner: &Inner) -> String {
    String::from_utf8_lossy(&inner.body).into_owned()
}

fn counted(running: &RunningServer, route: &str, outcome: &str) -> f64 {
    let name = format!("sotto_requests_total{{route=\"{route}\",outcome=\"{outcome}\"}}");
    metric(running, &name)
}

fn gateway(root: &Path, change: impl Fn(&mut OhttpConfig)) -> Config {
    write(&root.join("a"), "a", 60, 1);
    let mut set = OhttpConfig::default();
    change(&mut set);
    let mut config = config(root, &["a"]);
    config.guests.ohttp = Some(set);
    config
}

#[test]
fn a_phone_asks_by_a_relay_and_keys_outlive_a_restart() {
    let root = tempfile::tempdir().unwrap();
    let config = gateway(root.path(), |_| ());
    let running = start(&config);
    let mut by_relay = Client::new(running.public);
    // The user has sent its keys directly. The answer through the relay is the same to the last
    // byte.
    let user = User::new(running.public, "user", "a");
    let (body, _) = user.client.query(&[b"+15550000003", b"none"], &mut seeded("asking")).unwrap();
    let direct = post(running.public, "/queries", "user", &body);
    let relayed = by_relay.post("/queries", "user", &body);
    assert_eq!((direct.status, relayed.status), (200, 200));
    assert!(direct.body == relayed.body);
    let response = by_relay.post("/config", "user", &sotto_apple::client::config_request("a"));
    assert_eq!(response.status, 200);
    assert_eq!(by_relay.post("/key", "other", &user.client.key_request(&mut seeded("keys"))).status, 200);
    assert_eq!(by_relay.post("/queries", "other", &body).status, 200);
    // Our own routes are reached too, with their headers.
    let tables = by_relay.query("GET", "/v1/tables", &[], b"");
    assert_eq!(tables.status, 200, "{}", text(&tables));
    assert!(tables.fields.iter().any(|(name, value)| name == "content-type" && value == "application/json"));
    assert_eq!((counted(&running, "ohttp", "ok"), counted(&running, "apple-queries", "ok")), (5.0, 3.0));
    running.shutdown();

    let running = start(&config);
    by_relay.at = running.public;
    assert_eq!(by_relay.post("/queries", "user", &body).status, 200, "sealed for the key of the first run");
    assert_eq!(Client::new(running.public).key, by_relay.key);
}

#[test]
fn what_is_wrong_outside_is_told_to_the_relay() {
    let root = tempfile::tempdir().unwrap();
    let running = start(&gateway(root.path(), |set| set.max_request_mib = 1));
    let at = running.public;
    let mut client = Client::new(at);
    let (sealed, _) = client.seal(&request("GET", "/v1/tables", &[], b"").to_bytes());
    let refused = |sealed: &[u8]| {
        let answer = relay(at, sealed);
        (
            answer.status,
            answer.text().contains(KEY_PROBLEM),
            answer.header("content-type").unwrap().to_owned(),
        )
    };
    let problem = (400, true, "application/problem+json".to_owned());
    for at in [0, 2, 6, 7, 38, 39, sealed.len() - 1] {
        let mut changed = sealed.clone();
        changed[at] ^= 4;
        assert_eq!(refused(&changed), problem, "byte {at}");
    }
    for len in [0, 6, 38] {
        assert_eq!(relay(at, &sealed[..len]).status, 400, "{len} bytes");
    }
    let length = sealed.len().to_string();
    let typed = [("content-type", "application/octet-stream"), ("content-length", &*length)];
    assert_eq!(http::request(at, "POST", WELL_KNOWN, &typed, &sealed).status, 415);
    assert_eq!(http::request(at, "PUT", WELL_KNOWN, &[], b"").status, 405);
    // A body that is announced, and never sent.
    let length = (1_u64 << 21).to_string();
    let typed = [("content-type", REQUEST_TYPE), ("content-length", &*length)];
    assert_eq!(http::request(at, "POST", WELL_KNOWN, &typed, b"").status, 413);
    assert_eq!(
        (counted(&running, "ohttp", "unknown-key"), counted(&running, "ohttp", "unopened")),
        (3.0, 4.0)
    );
    assert_eq!(counted(&running, "tables", "ok"), 0.0, "nothing of it has reached a route");
    assert_eq!(relay(at, &sealed).status, 200, "and the request itself is still good");
}

#[test]
fn what_is_wrong_inside_stays_inside() {
    let root = tempfile::tempdir().unwrap();
    let page = root.path().join("page");
    std::fs::create_dir(&page).unwrap();
    std::fs::write(page.join("index.html"), "here").unwrap();
    std::fs::write(page.join("large.js"), vec![b' '; 3 << 19]).unwrap();
    let mut config = gateway(root.path(), |set| set.max_response_mib = 1);
    config.server.static_dir = Some(page);
    let running = start(&config);
    let mut client = Client::new(running.public);
    assert_eq!(client.query("GET", "/nothing", &[], b"").status, 404);
    assert_eq!(client.query("GET", "/config", &[], b"").status, 405);
    assert_eq!(
        client.query("POST", WELL_KNOWN, &[("content-type", REQUEST_TYPE)], b"").status,
        404,
        "no gateway within"
    );
    assert_eq!(client.post("/queries", "nobody", b"\xFF").status, 400);
    let large = client.query("GET", "/large.js", &[], b"");
    assert_eq!(large.status, 413, "{}", text(&large));
    for plain in [&b""[..], &[0], &[1, 0x40, 200], &[0xFF; 99], &vec![0; 70_000]] {
        assert_eq!(client.plain(plain).status, 400);
    }
    let many: Vec<_> = (0..101).map(|_| ("a", "b")).collect();
    assert_eq!(client.query("GET", "/v1/tables", &many, b"").status, 400);
    assert_eq!(client.query("GET", "/v1/tables", &many[..100], b"").status, 200);
    assert_eq!(client.query("GET", "v1/tables", &[], b"").status, 400);
    assert_eq!(client.query("CONNECT", "pir.example:443", &[], b"").status, 400);
    // Header fields of a connection are not those of a message, and a length is the true one.
    let odd = [("connection", "close"), ("transfer-encoding", "chunked"), ("content-length", "99999999999")];
    assert_eq!(client.query("GET", "/v1/tables", &odd, b"").status, 200);
    // A copy of a request is not passed on to a route.
    let (sealed, first) = client.seal(&request("GET", "/v1/tables", &[], b"").to_bytes());
    assert_eq!(inside(&relay(client.at, &sealed), first).status, 200);
    let before = counted(&running, "tables", "ok");
    assert_eq!(relay(client.at, &sealed).status, 200);
    assert_eq!(
        (counted(&running, "tables", "ok"), counted(&running, "ohttp-inside", "replayed")),
        (before, 1.0)
    );
    eventually("all memory is given back", || metric(&running, "sotto_request_memory_bytes") == 0.0);
}
