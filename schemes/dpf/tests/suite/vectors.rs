//! Known answers: these bytes are the format, and may never change under the id `dpf/1`.

use crate::setup::{Table, answer_bytes, bytes};
use ::aes::Aes128;
use ::aes::cipher::{BlockCipherEncrypt, KeyInit};
use serde_json::{Value, json};
use sotto_core::{
    Client as _, Image as _, ParamsDigest, RecordIndex, Scheme, Section, Server as _, TwoServers,
};
use sotto_core::{Params as _, Wire};
use sotto_dpf::{Dpf, ENTRY};
use sotto_testkit::rng::seeded;

fn part(bytes: &[u8]) -> Value {
    let first: String = bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    json!({ "bytes": bytes.len(), "first": first, "blake3": blake3::hash(bytes).to_hex().to_string() })
}

/// Everything this crate computes for one vector's inputs.
fn computed(vector: &Value) -> Value {
    let number = |field: &str| vector[field].as_u64().unwrap();
    let table = Table::new(number("records"), number("record_bytes"));
    let mut client = table.client();
    let rng = &mut seeded(vector["rng_label"].as_str().unwrap());
    let (TwoServers(a, b), pending) = client.query(RecordIndex(number("index")), rng).unwrap();
    let keys = [&a, &b].map(|query| bytes(&table.params, query));
    let [first, second] = [a, b].map(|query| table.server.answer(&(), query).unwrap());
    let answers = [&first, &second].map(|answer| answer_bytes(&table.params, answer));
    assert_eq!(
        client.recover(pending, TwoServers(first, second)).unwrap().bytes(),
        table.record(number("index"))
    );
    let literal = serde_json::to_vec(table.params.literal()).unwrap();
    json!({
        "params_digest": ParamsDigest::of(<Dpf>::ID, &literal).to_string(),
        "table": part(table.image.section(Section::Resident).unwrap()),
        "keys": keys.iter().map(|key| part(key)).collect::<Vec<_>>(),
        "answers": answers.iter().map(|answer| part(answer)).collect::<Vec<_>>(),
    })
}

#[test]
fn known_answers() {
    let file: Value = serde_json::from_str(include_str!("../../vectors/dpf-1.json")).unwrap();
    assert_eq!(file["scheme"], ENTRY.id.0);
    let vectors = file["vectors"].as_array().unwrap();
    assert!(!vectors.is_empty());
    for vector in vectors {
        let now = computed(vector);
        assert!(vector["expect"] == now, "computed {now:#}");
    }
}

/// The bit of one record, straight from the definition in the specification: from root to leaf, byte by byte, with
/// another implementation of AES.
fn bit(key: &[u8], depth: usize, record: usize) -> u8 {
    let mut keys = [[0; 16]; 4];
    let mut hasher = blake3::Hasher::new_derive_key("sotto 2026 dpf/1 tree keys v1");
    hasher.update(&key[..16]);
    hasher.finalize_xof().fill(keys.as_flattened_mut());
    let mmo = |which: usize, x: [u8; 16]| -> [u8; 16] {
        let mut block = x.into();
        Aes128::new(&keys[which].into()).encrypt_block(&mut block);
        std::array::from_fn(|i| block[i] ^ x[i])
    };
    let bits = &key[32 + 16 * depth + 64..];
    let control = |i: usize| bits[i / 8] >> (i % 8) & 1;
    let (mut s, mut t): ([u8; 16], u8) = (key[16..32].try_into().unwrap(), control(0));
    for level in 0..depth {
        let right = record >> (9 + depth - 1 - level) & 1;
        let (child, own) = (mmo(right, s), mmo(2, s)[0] >> right & 1);
        let word = &key[32 + 16 * level..];
        s = std::array::from_fn(|i| child[i] ^ (word[i] * t));
        t = own ^ t & control(1 + 2 * level + right);
    }
    let (byte, within) = (record % 512 / 8, record % 8);
    let mut seed = s;
    seed[0] ^= (byte / 16) as u8;
    let leaf = mmo(3, seed)[byte % 16] ^ (key[32 + 16 * depth + byte] * t);
    leaf >> within & 1
}

#[test]
fn answers_are_what_the_definition_selects() {
    for (records, width) in [(9, 8), (513, 16), (5000, 24)] {
        let table = Table::new(records, width);
        let index = records - 2;
        let keys = crate::setup::keys(&table.params, index, "definition");
        let depth = table.params.depth();
        for record in 0..records as usize {
            let differ = bit(&keys[0], depth, record) ^ bit(&keys[1], depth, record);
            assert_eq!(differ, u8::from(record as u64 == index), "record {record} of {records}");
        }
        for key in keys {
            let mut sum = vec![0; width as usize];
            for record in 0..records {
                let mask = 0u8.wrapping_sub(bit(&key, depth, record as usize));
                sum.iter_mut().zip(table.record(record)).for_each(|(sum, byte)| *sum ^= byte & mask);
            }
            let query = sotto_dpf::message::Query::take(&table.params, &key).unwrap();
            assert_eq!(
                answer_bytes(&table.params, &table.server.answer(&(), query).unwrap()),
                sum,
                "{records}"
            );
        }
    }
}
