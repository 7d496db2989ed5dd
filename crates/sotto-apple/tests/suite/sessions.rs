use crate::recorded::*;
use bytes::Bytes;
use prost::Message;
use sotto_apple::config::Id;
use sotto_apple::keyword::table::Shard;
use sotto_apple::proto::*;
use sotto_apple::service::{Asked, KeyStore, Service, Stored, UseCase};
use sotto_apple::sets::{SETS, Weak, find};
use sotto_bfv::mulpir::Compression;
use std::collections::HashMap;
use std::sync::Mutex;

#[derive(Default)]
struct Memory(Mutex<HashMap<(String, Id), Stored>>);

impl KeyStore for Memory {
    fn get(&self, user: &str, id: &Id) -> Option<Stored> {
        self.0.lock().unwrap().get(&(user.into(), *id)).cloned()
    }

    fn put(&self, user: &str, id: Id, keys: Stored) {
        self.0.lock().unwrap().insert((user.into(), id), keys);
    }
}

fn shards(case: &str, count: usize) -> Vec<Shard> {
    let config = PirConfig::decode(&*read(&format!("{case}/pir_config.pb"))).unwrap();
    let shard = |s: usize| {
        let entries = lists(&format!("{case}/shard{s}.buckets.bin"));
        let count = entries.len() / 2;
        Shard::of_entries(&CODEC, count, config.shard_configs[s].entry_size as usize, |table, bucket, out| {
            let entry = &entries[table * count + bucket];
            out[..entry.len()].copy_from_slice(entry);
        }).unwrap()
    };
    (0..count).map(shard).collect()
}

#[test]
fn sessions() {
    let set = find("n_4096_logq_27_28_28_logt_5").unwrap();
    let codec = UseCase::codec(&set, Weak::Refused).unwrap();
    let mut service = Service::new();
    service.serve("sotto.c1_one_shard", UseCase::new(set, codec.clone(), shards("c/c1_one_shard", 1), Compression::None), 0);
    service.serve("sotto.c2_three_shards_fixed", UseCase::new(set, codec, shards("c/c2_three_shards_fixed", 3), Compression::Hybrid), 0);
    let _ = SETS;
    let store = Memory::default();
    for session in ["c1_ios18.2", "c2_ios18.2"] {
        for step in ["01_config", "02_key", "03_queries"] {
            let headers = String::from_utf8(read(&format!("e/{session}/{step}.request.headers.txt"))).unwrap();
            let header = |name: &str| headers.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            let path = headers.split_whitespace().nth(1).unwrap();
            let body = Bytes::from(read(&format!("e/{session}/{step}.request.pb")));
            let asked = Asked { path, user: header("User-Identifier"), agent: header("User-Agent"), body };
            let answer = service.answer(&asked, &store).unwrap();
            assert!(answer == read(&format!("e/{session}/{step}.response.pb")), "{session} {step}");
        }
    }
}
