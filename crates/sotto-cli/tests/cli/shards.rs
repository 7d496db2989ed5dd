//! What a server of Apple's lookups may learn of a key by naming shards: its configuration is unsigned, and a lookup names the
//! shard that the key's hash falls into.

use crate::harness::{Folder, Outcome, sotto};
use prost::Message;
use sotto_apple::config::id;
use sotto_apple::keyword::hash;
use sotto_apple::proto::{
    Config, ConfigForm, ConfigResponse, DoubleMod, EvaluationKeyConfig, KeyStatus, KeywordPirParameters,
    PirConfig, PirShardConfig, PirShardConfigs, RepeatedShardConfig, Requests, Sharding, ShardingFunction,
};
use sotto_apple::sets::SETS;
use sotto_testkit::fake_http::{path, response, serve};
use std::sync::{Arc, Mutex};

const KEY: &str = "+15550001234";

/// A server that tells each configuration once, and the last one from then on. It answers no lookup, and says that the
/// configuration is gone.
struct Hostile {
    url: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    configs: Mutex<Vec<Vec<u8>>>,
    /// The shard of each lookup.
    asked: Mutex<Vec<u64>>,
}

impl Hostile {
    fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let behind = Arc::clone(&shared);
        Hostile { url: serve(move |head, body| answer(&behind, path(head), body)), shared }
    }

    /// Answers with these numbers of shards, one request after the other, and clears the recorded requests.
    fn tells(&self, counts: &[u64]) {
        self.set_configs(counts.iter().map(|count| config(*count, None)).collect());
    }

    fn set_configs(&self, mut configs: Vec<Vec<u8>>) {
        configs.reverse();
        *self.shared.configs.lock().unwrap() = configs;
        self.shared.asked.lock().unwrap().clear();
    }

    fn asked(&self) -> Vec<u64> {
        self.shared.asked.lock().unwrap().clone()
    }

    fn get(&self, folder: &Folder, more: &[&str]) -> Outcome {
        let state = folder.text("mine");
        let usual = ["get", "--apple", &self.url, "--use-case", "callers", "--key", KEY, "--state", &state];
        sotto(&[&usual[..], &["--cache", &folder.text("cache")], more].concat())
    }
}

/// Answers one request.
fn answer(shared: &Shared, path: &str, body: &[u8]) -> Vec<u8> {
    match path {
        "/config" => {
            let mut configs = shared.configs.lock().unwrap();
            let body = if configs.len() > 1 { configs.pop() } else { configs.last().cloned() };
            body.map(|body| response(200, "", &body)).unwrap_or_default()
        }
        "/queries" => {
            let requests = Requests::decode(body).unwrap().requests;
            let asked = requests.iter().map(|it| u64::from(it.pir_request.as_ref().unwrap().shard_index));
            shared.asked.lock().unwrap().extend(asked);
            response(410, "", b"")
        }
        _ => response(200, "", b""),
    }
}

/// A table of so many equal shards, which follow from those of another use case if there is one.
fn config(shard_count: u64, other: Option<u32>) -> Vec<u8> {
    let set = SETS[1].message();
    let keys = EvaluationKeyConfig {
        encryption_parameters: Some(set.clone()),
        galois_elements: vec![3, 5],
        has_relin_key: true,
    };
    let shard = PirShardConfig { num_entries: 2, entry_size: 100, dimensions: vec![1, 1], shard_id: None };
    let function = match other {
        Some(other_shard_count) => Sharding::DoubleMod(DoubleMod { other_shard_count }),
        None => Sharding::Sha256(Default::default()),
    };
    let pir = PirConfig {
        encryption_parameters: Some(set),
        keyword_pir_params: Some(KeywordPirParameters {
            num_hash_functions: 2,
            sharding_function: Some(ShardingFunction { function: Some(function) }),
            ..Default::default()
        }),
        algorithm: 1,
        batch_size: 2,
        evaluation_key_config_hash: id(&keys).to_vec().into(),
        pir_shard_configs: Some(PirShardConfigs {
            repeated_shard_config: Some(RepeatedShardConfig { shard_config: Some(shard), shard_count }),
        }),
        ..Default::default()
    };
    let config_id = id(&pir).to_vec().into();
    let config = Config { config: Some(ConfigForm::PirConfig(pir)), config_id };
    let key_info = vec![KeyStatus { timestamp: 0, key_config: Some(keys) }];
    ConfigResponse { configs: [("callers".to_owned(), config)].into(), key_info }.encode_to_vec()
}

/// 65,536 shards, then 410, then 65,535: by the Chinese remainder theorem the server has 32 bits of the key's hash, which is one
/// phone number.
#[test]
fn a_server_does_not_choose_how_much_of_a_key_goes_out_in_the_clear() {
    let (folder, server) = (Folder::new(), Hostile::start());
    let bits = hash(KEY.as_bytes());
    server.tells(&[65_536, 65_535]);
    server.get(&folder, &[]).fails(5, &["sha256:65536", "65536 parts", "--max-shards 65536"]);
    assert_eq!(server.asked(), [0; 0], "nothing was asked");
    // Accepting a number of shards reveals that much, and repeated lookups reveal no more: in this call or in later ones.
    let most = ["--max-shards", "65536"];
    server.tells(&[65_536, 65_535]);
    server.get(&folder, &most).fails(5, &["sha256:65535", "sha256:65536", "--accept-shards sha256:65535"]);
    assert_eq!(server.asked(), [bits % 65_536]);
    for more in [&[][..], &["--fresh-keys"], &["--user", "somebody"]] {
        server.tells(&[65_535]);
        server.get(&folder, &[&most, more].concat()).fails(5, &["--accept-shards"]);
        assert_eq!(server.asked(), [0; 0], "{more:?}");
    }
    // A person accepts another function by its name, and what both tell together by its number; in one call no second one.
    let accept = ["--accept-shards", "sha256:65535"];
    server.tells(&[65_535]);
    server.get(&folder, &[most, accept].concat()).fails(5, &["4294901760", "earlier lookups"]);
    assert_eq!(server.asked(), [0; 0]);
    server.tells(&[65_535, 65_536]);
    server.get(&folder, &[&accept[..], &["--max-shards", "4294901760"]].concat()).fails(5, &["sha256:65536"]);
    assert_eq!(server.asked(), [bits % 65_535]);
    // From now on the shards of one key reveal nothing about another.
    server.tells(&[3]);
    server.get(&folder, &["--max-shards", "3", "--accept-shards", "sha256:3"]).fails(5, &["earlier lookups"]);
    assert_eq!(server.asked(), [0; 0]);
    // A table in one shard is queried in any case.
    server.tells(&[1]);
    server.get(&folder, &["--accept-shards", "sha256:1"]).fails(6, &["410"]);
    assert_eq!(server.asked(), [0, 0]);
}

/// Shards that follow another use case's tell what the smallest of them tells.
#[test]
fn what_is_remembered_of_a_server_is_not_lost() {
    let (folder, server) = (Folder::new(), Hostile::start());
    server.set_configs(vec![config(10, Some(57))]);
    server.get(&folder, &["--max-shards", "11"]).fails(5, &["double-mod:57:10", "--max-shards 12"]);
    server.get(&folder, &["--max-shards", "12"]).fails(6, &["410"]);
    let shard = hash(KEY.as_bytes()) % 57 % 10;
    assert_eq!(server.asked(), [shard, shard]);
    // What cannot be read does not pass for a first visit.
    let files = folder.files("mine/apple");
    let file = files.iter().find(|file| file.extension().is_some_and(|it| it == "shards")).unwrap();
    let kept = std::fs::read_to_string(file).unwrap();
    for damaged in
        [&kept[..kept.len() / 2], "", &kept.replace("shards/1", "shards/2"), &kept.replace("57", "-7")]
    {
        std::fs::write(file, damaged).unwrap();
        server.set_configs(vec![config(10, Some(57))]);
        server.get(&folder, &["--max-shards", "99"]).fails(8, &["unreadable", "restore a copy"]);
        assert_eq!(server.asked(), [0; 0]);
    }
}
