//! Recorded lookups by number and by key: tables, buckets, queries and responses.

use crate::common::{CODEC, json, kit, lists, read, secret, shard};
use prost::Message;
use sotto_apple::keyword::bucket::read as rows_of;
use sotto_apple::keyword::cuckoo::{CuckooOptions, KeywordRow};
use sotto_apple::keyword::table::{Shard, found, requested_buckets};
use sotto_apple::keyword::{buckets, hash, shard as shard_of};
use sotto_apple::processed;
use sotto_apple::proto::{
    EncryptedIndices, EvaluationKeyConfig, PirConfig, PirParameters, SerializedEvaluationKey,
};
use sotto_bfv::mulpir::{EntryShape, ValueTable};

#[test]
fn dimensions_alike_and_most_compression() {
    let (table, _) = lookups("b/b3_1000x64_even_maxcomp", &[777]);
    assert_eq!(table.shape().dimensions(), [6, 6]);
}

#[test]
#[ignore = "needs every recording"]
fn one_plaintext() {
    lookups_and_file("b/b1_100x1to16", &[0, 37, 99]);
}

#[test]
#[ignore = "needs every recording"]
fn a_short_second_dimension() {
    lookups_and_file("b/b2_1000x64", &[0, 501, 999]);
}

#[test]
#[ignore = "needs every recording"]
fn entries_of_two_chunks() {
    lookups_and_file("b/b4_10x3000_two_chunks", &[3, 9]);
}

fn lookups(case: &str, entries: &[usize]) -> (ValueTable, EntryShape) {
    let file = |name: &str| read(&format!("{case}/{name}"));
    let parameters = PirParameters::decode(&*file("pir_parameters.pb")).unwrap();
    let dimensions = [0, 1].map(|i| parameters.dimensions[i] as usize);
    let [count, bytes, batch] =
        [parameters.num_entries, parameters.entry_size, parameters.batch_size].map(|x| x as usize);
    let shape = EntryShape::new(count, bytes, kit().plaintext_bytes(), dimensions, batch).unwrap();
    let rows = lists(&format!("{case}/database.bin"));
    let entry = |i: usize, out: &mut [u8]| out[..rows[i].len()].copy_from_slice(&rows[i]);
    let table = ValueTable::encode(kit(), &shape, entry).unwrap();

    let key_config = parameters.evaluation_key_config.unwrap();
    let elements: Vec<usize> = key_config.galois_elements.iter().map(|x| *x as usize).collect();
    let keys = SerializedEvaluationKey::decode(&*file("evaluation_key.pb")).unwrap();
    let keys = CODEC.take_keys(&keys, &elements).unwrap();
    let secret = secret(&format!("{case}/secret_key.coeff.i8"));
    for i in entries {
        let query = EncryptedIndices::decode(&*file(&format!("query_{i}.pb"))).unwrap();
        let response = CODEC.answer(&keys, &query, &[&table]).unwrap();
        assert!(response.encode_to_vec() == file(&format!("response_{i}.pb")), "{case} {i}");
        let opened = CODEC.open(&secret, &shape, &[*i], &response).unwrap();
        assert_eq!(*opened[0], file(&format!("value_{i}.bin")), "{case} {i}");
    }

    (table, shape)
}

fn lookups_and_file(case: &str, entries: &[usize]) {
    let (table, shape) = lookups(case, entries);
    same_file(&[&table], &shape, &read(&format!("{case}/processed_database.bin")));
}

/// The tables equal the file, and are read from it.
pub(crate) fn same_file(tables: &[&ValueTable], shape: &EntryShape, file: &[u8]) {
    let mut written = Vec::new();
    processed::write(&CODEC, tables, &mut written).unwrap();
    assert!(written == file);
    let read = processed::read(&CODEC, shape, tables.len(), file).unwrap();
    let mut again = Vec::new();
    processed::write(&CODEC, &read.iter().collect::<Vec<_>>(), &mut again).unwrap();
    assert!(again == file);
    for damaged in [&file[..file.len() - 1], &file[..5], &[], &[file, &[0]].concat()] {
        assert!(processed::read(&CODEC, shape, tables.len(), damaged).is_err());
    }
    for (at, byte) in [(0, 2), (1, file[1] ^ 1), (5, 7)] {
        let mut damaged = file.to_vec();
        damaged[at] = byte;
        assert!(processed::read(&CODEC, shape, tables.len(), &damaged).is_err(), "{at}");
    }
}

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
    keyword_lookups(ONE);
}

#[test]
#[ignore = "needs every recording"]
fn lookups_of_three_shards() {
    keyword_lookups(THREE);
}

fn keyword_lookups(case: &str) {
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
