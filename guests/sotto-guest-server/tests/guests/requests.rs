//! Requests as phones send them: a whole session of Apple's own client, to the last byte; and what
//! newer systems send, many lookups in one message, keys with a lookup, reports, compressed responses.
//!
//! The recordings are those of `sotto-apple`; where `SOTTO_APPLE_RECORDED` names the folder of all of
//! them, the other session is replayed too.

use crate::harness::{self, get, http};
use crate::use_case::*;
use bytes::Bytes;
use prost::Message;
use sotto_apple::client::config_request;
use sotto_apple::codec::Codec;
use sotto_apple::keyword::table::Shard;
use sotto_apple::proto::{EvaluationKeys, PirConfig, Requests, UrlFilterReport};
use sotto_apple::service::UseCase;
use sotto_apple::sets::{WeakParams, find};
use sotto_bfv::mulpir::Compression;
use sotto_guest_server::apple::{AppleConfig, AppleSetup, UseCaseEpoch};
use sotto_server::{RunningServer, Server, ServerConfig};
use sotto_testkit::rng::seeded;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

fn open_requests(running: &RunningServer) -> f64 {
    metric(running, "sotto_request_memory_bytes")
}

#[test]
fn keys_in_a_request_and_more_lookups_than_64() {
    let root = tempfile::tempdir().unwrap();
    write(&root.path().join("a"), "a", 60, 1);
    let running = start(&config(root.path(), &["a"]));
    let at = running.public;
    let user = User::new(at, "user", "a");
    // No user of this name has sent keys.
    let key_of_row = key(3);
    let (body, pending) = user.client.query(&[key_of_row.as_bytes()], &mut seeded("one")).unwrap();
    assert_eq!(post(at, "/queries", "stranger", &body).status, 400);
    let sent = EvaluationKeys::decode(&*user.client.key_request(&mut seeded("keys"))).unwrap();
    let mut requests = Requests::decode(&*body).unwrap();
    requests.requests[0].pir_request.as_mut().unwrap().evaluation_key = Some(sent.keys[0].clone());
    let answer = post(at, "/queries", "stranger", &requests.encode_to_vec());
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(user.client.open(pending, Bytes::from(answer.body)).unwrap(), [Some(value(3, 1))]);
    assert_eq!(metric(&running, "sotto_apple_keys{use_case=\"a\"}"), 1.0, "they are not kept");
    // More lookups in one message than older systems send; the last rows do not exist.
    let rows: Vec<usize> = (0..66).map(|i| i + 35).collect();
    let read = user.query(at, &rows).unwrap();
    let expected: Vec<_> = rows.iter().map(|i| (*i < 100).then(|| value(*i, 1))).collect();
    assert_eq!(read, expected);
    assert_eq!(post(at, "/queries", "user", &[0x0A, 0].repeat(1025)).status, 400, "more than may be");
    assert_eq!(open_requests(&running), 0.0, "all memory is given back");
}

#[test]
fn configurations_are_compressed_for_whoever_takes_that() {
    let root = tempfile::tempdir().unwrap();
    write(&root.path().join("a"), "a", 60, 1);
    let running = start(&config(root.path(), &["a"]));
    let body = config_request("a");
    let length = body.len().to_string();
    let response = |accepted: &str| {
        let headers = [
            ("user-identifier", "user"),
            ("user-agent", AGENT),
            ("content-length", &*length),
            ("accept-encoding", accepted),
        ];
        http::request(running.public, "POST", "/config", &headers, &body)
    };
    let plain = response("identity");
    assert_eq!((plain.status, plain.header("content-encoding")), (200, None));
    for not in ["", "br", "gzip;q=0", "deflate, gzip; q=0.0", "xgzip"] {
        assert_eq!(response(not).body, plain.body, "{not}");
    }
    for taken in ["gzip", "br;q=1.0, GZIP;q=0.8, *;q=0.1"] {
        let answer = response(taken);
        assert_eq!(
            (answer.header("content-encoding"), answer.header("vary")),
            (Some("gzip"), Some("accept-encoding"))
        );
        let mut read = Vec::new();
        flate2::read::GzDecoder::new(&*answer.body).read_to_end(&mut read).unwrap();
        assert_eq!(read, plain.body, "{taken}");
    }
}

#[test]
fn reports_are_taken_and_kept_where_somebody_wants_them() {
    let root = tempfile::tempdir().unwrap();
    write(&root.path().join("a"), "a", 60, 1);
    let plain = config(root.path(), &["a"]);
    let message = UrlFilterReport { urls: vec!["bad.example/shop".into(), "worse.example".into()] };
    let message = message.encode_to_vec();
    let post = |running: &RunningServer, kind: &str, body: &[u8]| {
        let length = body.len().to_string();
        let headers = [("user-agent", AGENT), ("content-type", kind), ("content-length", &*length)];
        http::request(running.public, "POST", "/report", &headers, body).status
    };
    let send = |running: &RunningServer| {
        assert_eq!(post(running, "application/x-protobuf", &message), 200);
        assert_eq!(post(running, "application/json", b"[\"other.example\"]"), 200);
        assert_eq!(post(running, "application/json; charset=utf-8", b"[]"), 200);
        assert_eq!(post(running, "application/json", b"{invalid json"), 400);
        assert_eq!(post(running, "application/json", b"[1]"), 400);
        assert_eq!(post(running, "", &[0xFF, 0xFE, 0]), 400);
        assert_eq!(get(running.public, "/report").status, 405);
    };
    send(&start(&plain));
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 2, "dropped");

    let file = root.path().join("reports.jsonl");
    let mut config = plain;
    config.guests.apple.reports = Some(file.clone());
    config.guests.apple.max_report_bytes = 450;
    send(&start(&config));
    let kept = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<serde_json::Value> =
        kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let urls: Vec<_> = lines.iter().map(|line| line["urls"].clone()).collect();
    assert_eq!(
        urls,
        [
            serde_json::json!(["bad.example/shop", "worse.example"]),
            ["other.example"].into(),
            [""; 0].as_slice().into()
        ]
    );
    assert!(lines.iter().all(|line| line["user_agent"] == AGENT && line["received_at"].is_u64()), "{kept}");
    // The limit on the file's length holds after a restart too.
    send(&start(&config));
    assert!(std::fs::read_to_string(&file).unwrap().starts_with(&kept));
    assert!(std::fs::metadata(&file).unwrap().len() <= 450);
}

const SET: &str = "n_4096_logq_27_28_28_logt_5";

fn read(name: &str) -> Vec<u8> {
    let here = || concat!(env!("CARGO_MANIFEST_DIR"), "/../sotto-apple/tests/data").into();
    let folder = std::env::var_os("SOTTO_APPLE_RECORDED").map_or_else(here, PathBuf::from);
    std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A shard as its buckets were recorded: lists of bytes, each with its length before.
fn shard(codec: &Codec, case: &str, config: &PirConfig, s: usize) -> Shard {
    let bytes = read(&format!("{case}/shard{s}.buckets.bin"));
    let (mut rest, mut entries) = (bytes.as_slice(), Vec::new());
    while let Some((len, left)) = rest.split_first_chunk() {
        let (entry, left) = left.split_at(u32::from_le_bytes(*len) as usize);
        entries.push(entry);
        rest = left;
    }
    let config = &config.shard_configs[s];
    let count = config.num_entries as usize;
    let entry = |table: usize, bucket: usize, out: &mut [u8]| {
        let entry = entries[table * count + bucket];
        out[..entry.len()].copy_from_slice(entry);
    };
    let dimensions = [0, 1].map(|i| config.dimensions[i] as usize);
    Shard::of_entries(codec, count, config.entry_size as usize, dimensions, entry).unwrap()
}

fn found(name: &str, case: &str, compression: Compression) -> UseCaseEpoch {
    let set = find(SET).unwrap();
    let codec = UseCase::codec(&set, WeakParams::Reject).unwrap();
    let config = PirConfig::decode(&*read(&format!("{case}/pir_config.pb"))).unwrap();
    let shards = (0..config.shard_configs.len()).map(|s| shard(&codec, case, &config, s)).collect();
    let use_case = UseCase::new(set, codec, shards, compression).unwrap();
    UseCaseEpoch { name: name.into(), digest: [1; 32], use_case: Arc::new(use_case) }
}

fn start_recorded(config: &ServerConfig, found: &UseCaseEpoch) -> RunningServer {
    let apple = AppleSetup::with_sources(AppleConfig::default(), vec![Box::new(FixedUseCase(found.clone()))]);
    Server::start_with_all(config, Vec::new(), vec![Box::new(apple)], |_| ()).unwrap()
}

/// Sends a recorded request as it was sent, and compares the response.
fn step(running: &RunningServer, session: &str, step: &str) {
    let headers = String::from_utf8(read(&format!("e/{session}/{step}.request.headers.txt"))).unwrap();
    let body = read(&format!("e/{session}/{step}.request.pb"));
    let length = body.len().to_string();
    let mut lines = headers.lines();
    let path = lines.next().unwrap().split(' ').nth(1).unwrap();
    let mut all: Vec<_> =
        lines.filter_map(|line| line.split_once(": ")).filter(|(name, _)| *name != "Connection").collect();
    all.push(("content-length", &length));
    let response = http::request(running.public, "POST", path, &all, &body);
    assert_eq!(response.status, 200, "{session} {step}: {}", response.text());
    assert!(response.body == read(&format!("e/{session}/{step}.response.pb")), "{session} {step}");
}

/// Replays a session, with a restart and a reload before the last step.
fn replay(session: &str, found: &UseCaseEpoch) {
    let root = tempfile::tempdir().unwrap();
    let config = ServerConfig { state: Some(root.path().into()), ..harness::config() };
    let running = start_recorded(&config, found);
    step(&running, session, "01_config");
    step(&running, session, "02_key");
    step(&running, session, "03_queries");
    running.shutdown();
    let running = start_recorded(&config, found);
    assert!(!running.reload());
    step(&running, session, "03_queries");
}

#[test]
fn three_shards() {
    let case = "c/c2_three_shards_fixed";
    replay("c2_ios18.2", &found("sotto.c2_three_shards_fixed", case, Compression::Hybrid));
}

#[test]
#[ignore = "needs every recording: SOTTO_APPLE_RECORDED"]
fn one_shard() {
    replay("c1_ios18.2", &found("sotto.c1_one_shard", "c/c1_one_shard", Compression::None));
}
