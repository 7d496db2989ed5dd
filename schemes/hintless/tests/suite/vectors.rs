//! Known answers: these bytes are the format, and may never change under the id `hintless/1`.

use crate::setup::{Table, bytes, literal};
use hintless::{ENTRY, Hintless};
use serde_json::{Value, json};
use sotto_core::{Image as _, ParamsDigest, Scheme, Section, Wire};

/// Everything this crate computes for one vector's inputs.
fn computed(vector: &Value) -> Value {
    let number = |field: &str| vector[field].as_u64().unwrap();
    let literal = literal(number("record_bytes"), number("records"), number("block_rows"));
    let records = bytes((literal.record_bytes * literal.records) as usize);
    let table = Table::new(literal.clone(), records);
    let label = vector["rng_label"].as_str().unwrap();
    let (query, answer, record) = table.lookup(&mut table.client(), number("index"), label);
    assert_eq!(record, table.record(number("index")));
    let mut sent = Vec::new();
    answer.put(&table.params, &mut sent);
    let part = |bytes: &[u8]| {
        let first: String = bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        json!({ "bytes": bytes.len(), "first": first, "blake3": blake3::hash(bytes).to_hex().to_string() })
    };
    json!({
        "params_digest": ParamsDigest::of(Hintless::ID, &serde_json::to_vec(&literal).unwrap()).to_string(),
        "resident": part(table.image.section(Section::Resident).unwrap()),
        "query": part(&query),
        "answer": part(&sent),
    })
}

#[test]
fn known_answers() {
    let file: Value = serde_json::from_str(include_str!("../../vectors/hintless-1.json")).unwrap();
    assert_eq!(file["scheme"], ENTRY.id.0);
    let vectors = file["vectors"].as_array().unwrap();
    assert!(!vectors.is_empty());
    for vector in vectors {
        let now = computed(vector);
        assert!(vector["expect"] == now, "computed {now}");
    }
}
