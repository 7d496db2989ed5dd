//! How long a server of Apple's lookups takes to start again with the keys of many users, and how much memory.
//!
//! ```text
//! cargo run -p sotto-cli --example restart -- fill FOLDER USERS small|usual
//! cargo run -p sotto-cli --example restart -- start FOLDER
//! ```
//!
//! `fill` encodes a table, starts a server over it, and has as many users send it keys over HTTP: those of one client under as
//! many names, which the server does not know. `usual` keys are those of a table of 100,000 rows; `small` ones are as small as
//! keys can be, for disks that do not hold so many others. It goes on where the folder has some. `start` starts the server again
//! in a new process, and looks a row up for one of the first users and for one of the last, whose keys come from the disk.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a measurement may stop")]

use bytes::Bytes;
use sotto_apple::client::{Client, config_request};
use sotto_apple::image::describe::KeyCompression;
use sotto_apple::image::{How, Rows, encode};
use sotto_apple::sets::{SETS, Weak};
use sotto_catalog::ValueKind;
use sotto_client::transport::http::{Http, Settings};
use sotto_client::transport::{Request, Transport};
use sotto_db::TableDir;
use sotto_db::progress::silent;
use sotto_layers::keyword::Form;
use sotto_server::{AppleConfig, AppleKeys, Config, Running, Server};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

const USE_CASE: &str = "restart";
/// How many send keys at the same time.
const THREADS: usize = 4;
/// Bytes of keys in memory, so that it is bounded whatever there is on the disk.
const IN_MEMORY: u64 = 256 << 20;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["fill", folder, users, kind] => fill(Path::new(folder), users.parse().unwrap(), kind == "usual"),
        ["start", folder] => start(Path::new(folder)),
        _ => panic!("fill FOLDER USERS small|usual, or start FOLDER"),
    }
}

fn config(folder: &Path) -> Config {
    let keys = AppleKeys { max_bytes: IN_MEMORY, max_stored_bytes: u64::MAX, ..AppleKeys::default() };
    let apple = AppleConfig { use_cases: vec![folder.join("table")], keys, ..AppleConfig::default() };
    Config { state: Some(folder.join("state")), apple, reload_seconds: 0, ..Config::on_free_ports() }
}

/// The line of one user.
fn line(running: &Running, user: &str) -> Http {
    let headers = vec![("user-identifier", user.to_owned()), ("user-agent", "x iOS/18.2".to_owned())];
    Http::new(&format!("http://{}", running.public), &Settings::default()).unwrap().speaking(headers)
}

fn post(http: &mut Http, path: &str, body: Vec<u8>) -> Vec<u8> {
    let answer = http.call(&Request::post(path.to_owned(), body, 64 << 20)).unwrap();
    assert!(answer.is_success(), "{path}: {} {}", answer.status, String::from_utf8_lossy(&answer.body));
    answer.body
}

/// The client whose keys all users have, kept in the folder.
fn client(folder: &Path, running: &Running) -> Client {
    let told = post(&mut line(running, "nobody"), "/config", config_request(USE_CASE));
    let (file, rng) = (folder.join("client"), &mut sotto_prg::system_rng().unwrap());
    let kept = fs::read(&file).ok();
    let client = Client::again(USE_CASE, told.into(), Weak::Refused, kept.as_deref(), 1, rng).unwrap();
    fs::write(file, &client.kept()[..]).unwrap();
    client
}

fn user(i: usize) -> String {
    format!("user {i} of many")
}

fn fill(folder: &Path, users: usize, is_usual: bool) {
    if !folder.join("table").exists() {
        let mut rows = Rows::default();
        let count = if is_usual { 100_000 } else { 2 };
        (0..count).for_each(|i| rows.push(format!("key {i}").as_bytes(), b"v").unwrap());
        let how = How {
            name: USE_CASE.into(),
            set: SETS[1],
            weak: Weak::Refused,
            compression: if is_usual { KeyCompression::None } else { KeyCompression::Most },
            value: ValueKind::Bytes,
            value_bytes: 0,
            form: Form::Text,
            shards: 1,
            bucket_bytes: 1024,
            buckets: None,
            room: 0,
        };
        let lock = TableDir::create(&folder.join("table")).unwrap().lock().unwrap();
        encode(rows, &how, &lock, &silent).unwrap();
    }
    let running = Server::start(&config(folder)).unwrap();
    let keys = client(folder, &running).key_request(&mut sotto_prg::system_rng().unwrap());
    let before = fs::read_to_string(folder.join("users")).map_or(0, |text| text.parse().unwrap());
    let (next, began) = (AtomicUsize::new(before), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= users {
                        break;
                    }
                    post(&mut line(&running, &user(i)), "/key", keys.clone());
                    if i % 5000 == 0 {
                        println!("{i} users after {:.0} s", began.elapsed().as_secs_f64());
                    }
                }
            });
        }
    });
    fs::write(folder.join("users"), users.to_string()).unwrap();
    let each = began.elapsed().as_secs_f64() * 1e3 / users.saturating_sub(before).max(1) as f64;
    println!("{users} users, each {} bytes of keys; {each:.1} ms for one; {}", keys.len(), memory());
    running.shutdown();
}

fn start(folder: &Path) {
    let users: usize = fs::read_to_string(folder.join("users")).unwrap().parse().unwrap();
    let file = fs::metadata(folder.join("state/apple-keys.redb")).unwrap().len();
    println!("{users} users, {:.2} GB of keys", file as f64 / 1e9);
    let began = Instant::now();
    let running = Server::start(&config(folder)).unwrap();
    println!("started after {:.0} ms; {}", began.elapsed().as_secs_f64() * 1e3, memory());
    let client = client(folder, &running);
    for i in [0, users - 1, users / 2] {
        let (body, pending) = client.ask(&[b"key 1"], &mut sotto_prg::system_rng().unwrap()).unwrap();
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

/// What this process has of memory, and the most that it ever had.
fn memory() -> String {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.split_whitespace().next().and_then(|kib| kib.parse::<f64>().ok()).unwrap_or_default() / 1024.0
    };
    format!("{:.0} MiB in memory, {:.0} at most", of("VmRSS:"), of("VmHWM:"))
}
