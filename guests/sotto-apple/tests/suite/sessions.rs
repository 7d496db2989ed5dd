//! Whole sessions between Apple's example client and its example server, answered by our server.

use crate::recorded::{CODEC, Memory, SET, proofs, read, shard};
use bytes::Bytes;
use prost::Message;
use sotto_apple::proto::PirConfig;
use sotto_apple::service::{HttpRequest, Service, UseCase};
use sotto_apple::sets::{WeakParams, find};
use sotto_bfv::mulpir::Compression;

/// A service with the recorded tables of one case.
pub(crate) fn service(name: &str, case: &str, compression: Compression) -> Service {
    let set = find(SET).unwrap();
    let config = PirConfig::decode(&*read(&format!("{case}/pir_config.pb"))).unwrap();
    let shards = (0..config.shard_configs.len()).map(|s| shard(case, &config, s)).collect();
    let mut service = Service::new();
    let codec = UseCase::codec(&set, WeakParams::Reject).unwrap();
    service.serve(name, UseCase::new(set, codec, shards, compression).unwrap(), 0);
    assert_eq!(CODEC.kit().degree(), set.degree);
    service
}

/// A recorded request: its headers, and its body.
pub(crate) struct Recorded {
    pub(crate) headers: String,
    pub(crate) body: Bytes,
}

impl Recorded {
    pub(crate) fn new(session: &str, step: &str) -> Self {
        let headers = String::from_utf8(read(&format!("e/{session}/{step}.request.headers.txt"))).unwrap();
        Recorded { headers, body: read(&format!("e/{session}/{step}.request.pb")).into() }
    }

    pub(crate) fn asked(&self) -> HttpRequest<'_> {
        let header =
            |name: &str| self.headers.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        HttpRequest {
            path: self.headers.split_whitespace().nth(1).unwrap(),
            user: header("User-Identifier"),
            agent: header("User-Agent"),
            body: self.body.clone(),
        }
    }
}

fn replay(session: &str, service: &Service) {
    let store = Memory::default();
    for step in ["01_config", "02_key", "03_queries"] {
        let answer = service.answer(&Recorded::new(session, step).asked(), &store, &mut proofs()).unwrap();
        assert!(answer == read(&format!("e/{session}/{step}.response.pb")), "{session} {step}");
    }
}

#[test]
fn three_shards() {
    replay(
        "c2_ios18.2",
        &service("sotto.c2_three_shards_fixed", "c/c2_three_shards_fixed", Compression::Hybrid),
    );
}

#[test]
#[ignore = "needs every recording"]
fn one_shard() {
    replay("c1_ios18.2", &service("sotto.c1_one_shard", "c/c1_one_shard", Compression::None));
}
