use crate::recorded::*;
use prost::Message;
use sotto_apple::keyword::bucket::read as rows_of;
use sotto_apple::keyword::place::{Options, Row};
use sotto_apple::keyword::table::{Shard, asked, found};
use sotto_apple::keyword::{buckets, hash, shard};
use sotto_apple::proto::*;

#[derive(Clone, PartialEq, Message)]
struct KeywordRow {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct KeywordRows {
    #[prost(message, repeated, tag = "1")]
    rows: Vec<KeywordRow>,
}

#[test]
fn keyword_lookups() {
    for (case, shards, options) in [
        ("c/c1_one_shard", 1, Options { bucket_bytes: 1024, buckets: None }),
        ("c/c2_three_shards_fixed", 3, Options { bucket_bytes: 1024, buckets: Some(32) }),
    ] {
        let rows = KeywordRows::decode(&*read(&format!("{case}/rows.pb"))).unwrap().rows;
        assert_eq!(rows.len(), 1000);
        let config = PirConfig::decode(&*read(&format!("{case}/pir_config.pb"))).unwrap();
        let secret = secret(&format!("{case}/secret_key.coeff.i8"));
        let keys = SerializedEvaluationKey::decode(&*read(&format!("{case}/evaluation_key.pb"))).unwrap();
        let elements: Vec<usize> = EvaluationKeyConfig::decode(&*read(&format!("{case}/evaluation_key_config.pb"))).unwrap().galois_elements.iter().map(|x| *x as usize).collect();
        let keys = CODEC.take_keys(&keys, &elements).unwrap();
        let lookups: serde_json::Value = serde_json::from_slice(&read(&format!("{case}/lookups.json"))).unwrap();
        let mut seen = 0;
        for s in 0..shards {
            let config = &config.shard_configs[s];
            let entries = lists(&format!("{case}/shard{s}.buckets.bin"));
            let (count, size) = (config.num_entries as usize, config.entry_size as usize);
            assert_eq!(entries.len(), 2 * count);
            let theirs = Shard::of_entries(&CODEC, count, size, |table, bucket, out| {
                let entry = &entries[table * count + bucket];
                out[..entry.len()].copy_from_slice(entry);
            }).unwrap();
            assert_eq!(theirs.shape().dimensions().map(|x| x as u64).to_vec(), config.dimensions);
            for (i, entry) in entries.iter().enumerate() {
                for (hash_of_row, value) in rows_of(entry).unwrap() {
                    let row = rows.iter().find(|row| hash(&row.key) == hash_of_row).unwrap();
                    assert_eq!(row.value, value);
                    assert_eq!(buckets(hash_of_row, count)[i / count], i % count);
                    assert_eq!(shard(hash_of_row, shards), s);
                    seen += 1;
                }
            }
            let of_shard: Vec<Row<'_>> = rows.iter().filter(|row| shard(hash(&row.key), shards) == s).map(|row| Row { key: &row.key, value: &row.value }).collect();
            let ours = Shard::build(&CODEC, &of_shard, options).unwrap().unwrap();
            for lookup in lookups["lookups"].as_array().unwrap().iter().filter(|lookup| lookup["shard"] == s) {
                let key = lookup["keyword"].as_str().unwrap();
                let i = lookup["lookup"].as_u64().unwrap();
                let places = asked(theirs.shape(), hash(key.as_bytes()));
                assert_eq!(serde_json::to_value(places).unwrap(), lookup["bucket_index_per_table"]);
                let query = EncryptedIndices::decode(&*read(&format!("{case}/query_{i}.pb"))).unwrap();
                let start = std::time::Instant::now();
                let response = CODEC.answer(&keys, &query, &theirs.tables()).unwrap();
                println!("{case} {i} {:?} {:?} ours {:?}", start.elapsed(), theirs.shape().dimensions(), ours.shape());
                assert!(response.encode_to_vec() == read(&format!("{case}/response_{i}.pb")), "{case} {i}");
                let opened = CODEC.open(&secret, theirs.shape(), &places, &response).unwrap();
                let value = found(hash(key.as_bytes()), &opened).unwrap();
                let expected = rows.iter().find(|row| row.key == key.as_bytes()).map(|row| row.value.clone());
                assert_eq!(lookup["found"], expected.is_some());
                assert_eq!(value, expected, "{case} {i}");
            }
        }
        assert_eq!(seen, rows.len());
    }
}
