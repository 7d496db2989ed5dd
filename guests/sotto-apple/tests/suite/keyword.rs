//! Keyword lookups: buckets, shards, queries and responses.

use crate::index::same_file;
use crate::recorded::{CODEC, json, lists, read, secret, shard};
use prost::Message;
use sotto_apple::keyword::bucket::read as rows_of;
use sotto_apple::keyword::cuckoo::{CuckooOptions, KeywordRow};
use sotto_apple::keyword::table::{Shard, found, requested_buckets};
use sotto_apple::keyword::{buckets, hash, shard as shard_of};
use sotto_apple::proto::{EncryptedIndices, EvaluationKeyConfig, PirConfig, SerializedEvaluationKey};

#[derive(Clone, PartialEq, Message)]
struct RecordedRow {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct RecordedRows {
    #[prost(message, repeated, tag = "1")]
    rows: Vec<RecordedRow>,
}

const ONE: &str = "c/c1_one_shard";
const THREE: &str = "c/c2_three_shards_fixed";

fn rows(case: &str) -> Vec<RecordedRow> {
    let rows = RecordedRows::decode(&*read(&format!("{case}/rows.pb"))).unwrap().rows;
    assert_eq!(rows.len(), 1000);
    rows
}

fn config(case: &str) -> PirConfig {
    PirConfig::decode(&*read(&format!("{case}/pir_config.pb"))).unwrap()
}

/// Every row is in a bucket that its key's hash allows.
fn check_buckets(case: &str) {
    let (rows, config) = (rows(case), config(case));
    let shards = config.shard_configs.len();
    let mut seen = 0;
    for (s, of_shard) in config.shard_configs.iter().enumerate() {
        let entries = lists(&format!("{case}/shard{s}.buckets.bin"));
        let count = of_shard.num_entries as usize;
        for (i, entry) in entries.iter().enumerate() {
            for (of_row, value) in rows_of(entry).unwrap() {
                let row = rows.iter().find(|row| hash(&row.key) == of_row).unwrap();
                assert_eq!((row.value.as_slice(), shard_of(of_row, shards)), (value, s));
                assert_eq!(buckets(of_row, count)[i / count], i % count);
                seen += 1;
            }
        }
    }
    assert_eq!(seen, rows.len());
}

#[test]
fn recorded_buckets_of_three_shards() {
    check_buckets(THREE);
}

#[test]
#[ignore = "needs every recording"]
fn recorded_buckets_of_one_shard() {
    check_buckets(ONE);
}

/// The recorded rows in buckets of ours: all are stored, in no more bytes than the recorded tables
/// have.
#[test]
fn rows_in_our_buckets() {
    let rows = rows(THREE);
    for s in 0..3 {
        let of_shard = rows.iter().filter(|row| shard_of(hash(&row.key), 3) == s);
        let of_shard: Vec<KeywordRow<'_>> =
            of_shard.map(|row| KeywordRow { key: &row.key, value: &row.value }).collect();
        let options = CuckooOptions { bucket_bytes: 1024, buckets: None };
        let ours = Shard::build(&CODEC, &of_shard, options).unwrap();
        let theirs = shard(THREE, &config(THREE), s);
        assert!(
            ours.shape().entries() * ours.shape().entry_bytes()
                <= theirs.shape().entries() * theirs.shape().entry_bytes()
        );
    }
}

#[test]
#[ignore = "needs every recording"]
fn lookups_of_one_shard() {
    lookups(ONE);
}

#[test]
#[ignore = "needs every recording"]
fn lookups_of_three_shards() {
    lookups(THREE);
}

fn lookups(case: &str) {
    let (rows, config) = (rows(case), config(case));
    let secret = secret(&format!("{case}/secret_key.coeff.i8"));
    let key_config =
        EvaluationKeyConfig::decode(&*read(&format!("{case}/evaluation_key_config.pb"))).unwrap();
    let elements: Vec<usize> = key_config.galois_elements.iter().map(|x| *x as usize).collect();
    let keys = SerializedEvaluationKey::decode(&*read(&format!("{case}/evaluation_key.pb"))).unwrap();
    let keys = CODEC.take_keys(&keys, &elements).unwrap();
    let shards: Vec<Shard> = (0..config.shard_configs.len()).map(|s| shard(case, &config, s)).collect();
    let lookups = json(&format!("{case}/lookups.json"));
    let lookups = lookups["lookups"].as_array().unwrap();
    assert_eq!(lookups.len(), 7);
    for lookup in lookups {
        let (key, i) = (lookup["keyword"].as_str().unwrap().as_bytes(), &lookup["lookup"]);
        let s = shard_of(hash(key), shards.len());
        assert_eq!(lookup["shard"], s);
        let shape = shards[s].shape();
        assert_eq!(shape.dimensions().map(|x| x as u64)[..], config.shard_configs[s].dimensions);
        let places = requested_buckets(shape, hash(key));
        assert_eq!(lookup["bucket_index_per_table"], serde_json::json!(places));
        let query = EncryptedIndices::decode(&*read(&format!("{case}/query_{i}.pb"))).unwrap();
        let response = CODEC.answer(&keys, &query, &shards[s].tables()).unwrap();
        assert!(response.encode_to_vec() == read(&format!("{case}/response_{i}.pb")), "{case} {i}");
        let opened = CODEC.open(&secret, shape, &places, &response).unwrap();
        let expected = rows.iter().find(|row| row.key == key).map(|row| row.value.clone());
        assert_eq!(lookup["found"], expected.is_some());
        assert_eq!(found(hash(key), &opened).unwrap(), expected, "{case} {i}");
    }
    same_file(
        &shards[0].tables(),
        shards[0].shape(),
        &read(&format!("{case}/shard0.processed_database.bin")),
    );
}
