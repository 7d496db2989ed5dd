//! Use cases in files, and a client of one, with a user's name.

use crate::harness::{self, Response, http};
use bytes::Bytes;
use sotto_apple::client::{Client, config_request};
use sotto_apple::image::{KeywordRows, UseCaseOptions, encode};
use sotto_apple::sets::WeakParams;
use sotto_db::progress::silent;
use sotto_db::{TableDir, WriteLock};
use sotto_guest_server::apple::UseCaseEpoch;
use sotto_guest_server::{AppleConfig, GuestConfig, UseCaseSource};
use sotto_server::{RunningServer, ServerConfig, SourceError, StartError};
use sotto_testkit::rng::seeded;
use std::net::SocketAddr;
use std::path::Path;

pub(crate) const AGENT: &str = "com.apple.ciphermld/1.0 iOS/18.2";

/// Writes the next epoch of a use case: a hundred rows, whose values name the epoch.
pub(crate) fn write(dir: &Path, name: &str, buckets: usize, epoch: u8) {
    let mut rows = KeywordRows::default();
    (0..100).for_each(|i| rows.push(key(i).as_bytes(), &value(i, epoch)).unwrap());
    write_rows(rows, name, buckets, &TableDir::create(dir).unwrap().lock().unwrap());
}

/// Writes rows as the next epoch of a use case.
pub(crate) fn write_rows(rows: KeywordRows, name: &str, buckets: usize, lock: &WriteLock) {
    let (bucket_bytes, buckets) = (512, Some(buckets));
    let how = UseCaseOptions { bucket_bytes, buckets, ..UseCaseOptions::new(name) };
    encode(rows, &how, lock, &silent).unwrap();
}

pub(crate) fn key(i: usize) -> String {
    format!("+1555{i:07}")
}

pub(crate) fn value(i: usize, epoch: u8) -> Vec<u8> {
    vec![epoch, i as u8]
}

/// A table that is open already.
pub(crate) struct FixedUseCase(pub(crate) UseCaseEpoch);

impl UseCaseSource for FixedUseCase {
    fn name(&self) -> String {
        "opened".into()
    }

    fn open_newest(&self, _: usize, _: &[UseCaseEpoch]) -> Result<Vec<UseCaseEpoch>, SourceError> {
        Ok(vec![self.0.clone()])
    }
}

/// The configuration of a server and of its guests.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) server: ServerConfig,
    pub(crate) guests: GuestConfig,
}

/// A configuration that serves these folders, with a state directory.
pub(crate) fn config(root: &Path, use_cases: &[&str]) -> Config {
    let use_cases = use_cases.iter().map(|name| root.join(name)).collect();
    let apple = AppleConfig { use_cases, ..AppleConfig::default() };
    let server = ServerConfig { state: Some(root.join("state")), ..harness::config() };
    Config { server, guests: GuestConfig { apple, ohttp: None } }
}

pub(crate) fn start(config: &Config) -> RunningServer {
    config.guests.start(&config.server, None, |_| ()).unwrap()
}

pub(crate) fn start_error(config: &Config) -> StartError {
    config.guests.start(&config.server, None, |_| ()).err().unwrap()
}

/// A user of a use case.
pub(crate) struct User {
    pub(crate) name: &'static str,
    pub(crate) client: Client,
}

pub(crate) fn post(at: SocketAddr, path: &str, user: &str, body: &[u8]) -> Response {
    let length = body.len().to_string();
    let headers = [("user-identifier", user), ("user-agent", AGENT), ("content-length", &length)];
    http::request(at, "POST", path, &headers, body)
}

impl User {
    /// A user that has fetched the configuration of a use case, and has sent its keys.
    pub(crate) fn new(at: SocketAddr, name: &'static str, use_case: &str) -> Self {
        let response = post(at, "/config", name, &config_request(use_case));
        assert_eq!(response.status, 200, "{}", response.text());
        let rng = &mut seeded(name);
        let client = Client::learn(use_case, response.body.into(), WeakParams::Reject, 7, rng).unwrap();
        let user = User { name, client };
        assert_eq!(user.send_keys(at), 200);
        user
    }

    pub(crate) fn send_keys(&self, at: SocketAddr) -> u16 {
        post(at, "/key", self.name, &self.client.key_request(&mut seeded("keys"))).status
    }

    /// The body of a request for some keys, one of which the table lacks, and the state that opens
    /// the answer.
    pub(crate) fn query(&self, at: SocketAddr, rows: &[usize]) -> Result<Vec<Option<Vec<u8>>>, u16> {
        let keys: Vec<String> = rows.iter().map(|i| key(*i)).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
        let (body, pending) = self.client.query(&keys, &mut seeded("asking")).unwrap();
        let answer = post(at, "/queries", self.name, &body);
        if answer.status != 200 {
            return Err(answer.status);
        }
        Ok(self.client.open(pending, Bytes::from(answer.body)).unwrap())
    }

    /// Reads rows of an epoch and one missing row, and checks them.
    #[track_caller]
    pub(crate) fn reads(&self, at: SocketAddr, epoch: u8) {
        let read = self.query(at, &[3, 99, 1000]).unwrap();
        assert_eq!(read, [Some(value(3, epoch)), Some(value(99, epoch)), None], "{}", self.name);
    }
}

/// A metric's value; 0 before it is first counted.
pub(crate) fn metric(running: &RunningServer, line_start: &str) -> f64 {
    let text = harness::get(running.admin, "/metrics").text();
    let line = text.lines().find(|line| line.starts_with(line_start));
    line.map_or(0.0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
}
