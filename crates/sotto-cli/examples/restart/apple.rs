//! Users of Apple's lookups: keys of one client under many names, which the server cannot tell.

use super::{IN_MEMORY, memory, register, registered};
use bytes::Bytes;
use sotto_apple::client::{Client, ConfigPolicy, KeySeed, ShardHistory, config_request};
use sotto_apple::image::description::KeyCompression;
use sotto_apple::image::{KeywordRows, UseCaseOptions, encode};
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_client::transport::{Request, Transport};
use sotto_db::TableDir;
use sotto_db::progress::silent;
use sotto_guest_server::{AppleConfig, AppleKeys, GuestConfig};
use sotto_server::{RunningServer, ServerConfig};
use std::fs;
use std::path::Path;
use std::time::Instant;
use zeroize::Zeroizing;

const USE_CASE: &str = "restart";
fn serve(folder: &Path) -> RunningServer {
    let keys = AppleKeys { max_bytes: IN_MEMORY, max_stored_bytes: u64::MAX, ..AppleKeys::default() };
    let apple = AppleConfig { use_cases: vec![folder.join("table")], keys, ..AppleConfig::default() };
    let config = ServerConfig {
        state: Some(folder.join("state")),
        reload_seconds: 0,
        ..ServerConfig::on_free_ports()
    };
    GuestConfig { apple, ohttp: None }.start(&config, None, |_| ()).unwrap()
}

/// A connection of one user.
fn line(running: &RunningServer, user: &str) -> HttpTransport {
    let headers = vec![("user-identifier", user.to_owned()), ("user-agent", "x iOS/18.2".to_owned())];
    HttpTransport::new(&format!("http://{}", running.public), &HttpSettings::default())
        .unwrap()
        .with_headers(headers)
}

fn post(http: &mut HttpTransport, path: &str, body: Vec<u8>) -> Vec<u8> {
    let answer = http.call(&Request::post(path.to_owned(), body, 64 << 20)).unwrap();
    assert!(answer.is_success(), "{path}: {} {}", answer.status, String::from_utf8_lossy(&answer.body));
    answer.body
}

/// The client whose keys all users have, stored in the folder.
fn client(folder: &Path, running: &RunningServer) -> Client {
    let response = post(&mut line(running, "nobody"), "/config", config_request(USE_CASE));
    let (file, rng) = (folder.join("client"), &mut sotto_prg::system_rng().unwrap());
    let kept = fs::read(&file).ok().map(|seed| KeySeed::new(Zeroizing::new(seed.try_into().unwrap()), 1));
    let keys = kept.unwrap_or_else(|| KeySeed::draw(1, rng));
    fs::write(file, keys.bytes()).unwrap();
    let (mut policy, mut history) = (ConfigPolicy::default(), ShardHistory::default());
    Client::of_config(USE_CASE, response.into(), &mut policy, &mut history, &keys).unwrap()
}

fn user(i: usize) -> String {
    format!("user {i} of many")
}

pub(super) fn fill(folder: &Path, users: usize, is_usual: bool) {
    if !folder.join("table").exists() {
        let mut rows = KeywordRows::default();
        let count = if is_usual { 100_000 } else { 2 };
        (0..count).for_each(|i| rows.push(format!("key {i}").as_bytes(), b"v").unwrap());
        let how = UseCaseOptions {
            compression: if is_usual { KeyCompression::None } else { KeyCompression::Most },
            ..UseCaseOptions::new(USE_CASE)
        };
        let lock = TableDir::create(&folder.join("table")).unwrap().lock().unwrap();
        encode(rows, &how, &lock, &silent).unwrap();
    }
    let running = serve(folder);
    let keys = client(folder, &running).key_request(&mut sotto_prg::system_rng().unwrap());
    let keys_bytes = keys.len();
    register(folder, users, keys_bytes, |i| {
        post(&mut line(&running, &user(i)), "/key", keys.clone());
    });
    running.shutdown();
}

pub(super) fn start(folder: &Path) {
    let users = registered(folder, "apple-keys.redb");
    let began = Instant::now();
    let running = serve(folder);
    println!("started after {:.0} ms; {}", began.elapsed().as_secs_f64() * 1e3, memory());
    let client = client(folder, &running);
    for i in [0, users - 1, users / 2] {
        let (body, pending) = client.query(&[b"key 1"], &mut sotto_prg::system_rng().unwrap()).unwrap();
        let asked = Instant::now();
        let answer = post(&mut line(&running, &user(i)), "/queries", body);
        let took = asked.elapsed().as_secs_f64() * 1e3;
        let read = client.open(pending, Bytes::from(answer)).unwrap();
        assert_eq!(read, [Some(b"v".to_vec())]);
        println!(
            "answer to user {i} after {took:.1} ms, {:.0} ms after the start began; {}",
            began.elapsed().as_secs_f64() * 1e3,
            memory()
        );
    }
    running.shutdown();
}
