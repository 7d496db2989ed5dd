//! A whole session of Apple's own client, over a socket, to the last byte. The recordings are those of `sotto-apple`; where
//! `SOTTO_APPLE_RECORDED` names the folder of all of them, the other session is replayed too.

use crate::harness::{self, http};
use prost::Message;
use sotto_apple::codec::Codec;
use sotto_apple::keyword::table::Shard;
use sotto_apple::proto::PirConfig;
use sotto_apple::service::UseCase;
use sotto_apple::sets::{WeakParams, find};
use sotto_bfv::mulpir::Compression;
use sotto_guest_server::apple::{AppleConfig, AppleSetup, UseCaseEpoch, UseCaseSource};
use sotto_server::{RunningServer, Server, ServerConfig, SourceError};
use std::path::PathBuf;
use std::sync::Arc;

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

struct Recorded(UseCaseEpoch);

impl UseCaseSource for Recorded {
    fn name(&self) -> String {
        "recorded".into()
    }

    fn open_newest(&self, _: usize, _: &[UseCaseEpoch]) -> Result<Vec<UseCaseEpoch>, SourceError> {
        Ok(vec![self.0.clone()])
    }
}

fn found(name: &str, case: &str, compression: Compression) -> UseCaseEpoch {
    let set = find(SET).unwrap();
    let codec = UseCase::codec(&set, WeakParams::Reject).unwrap();
    let config = PirConfig::decode(&*read(&format!("{case}/pir_config.pb"))).unwrap();
    let shards = (0..config.shard_configs.len()).map(|s| shard(&codec, case, &config, s)).collect();
    let use_case = UseCase::new(set, codec, shards, compression).unwrap();
    UseCaseEpoch { name: name.into(), digest: [1; 32], use_case: Arc::new(use_case) }
}

fn start(config: &ServerConfig, found: &UseCaseEpoch) -> RunningServer {
    let apple = AppleSetup::with_sources(AppleConfig::default(), vec![Box::new(Recorded(found.clone()))]);
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
    let running = start(&config, found);
    step(&running, session, "01_config");
    step(&running, session, "02_key");
    step(&running, session, "03_queries");
    running.shutdown();
    let running = start(&config, found);
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
