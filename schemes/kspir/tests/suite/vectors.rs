//! Known answers: these bytes are the format, and may never change under the id `kspir/1`.

use crate::setup::{Table, literal};
use kspir::{ENTRY, KsPir};
use serde_json::{Value, json};
use sotto_core::{Client as _, Image as _, ParamsDigest, Scheme, Section, Wire};

/// Everything this crate computes for one vector's inputs.
fn computed(vector: &Value) -> Value {
    let number = |field: &str| vector[field].as_u64().unwrap();
    let grid = [0, 1, 2, 3].map(|i| vector["pages_columns_blocks_babies"][i].as_u64().unwrap() as u32);
    let literal = literal(number("records"), grid);
    let table = Table::new(literal.clone());
    let label = vector["rng_label"].as_str().unwrap();
    let mut client = table.client("prepare");
    let (query, answer, record) = table.lookup(&mut client, number("index"), label);
    assert!(record == table.record(number("index")));
    let [mut keys, mut sent] = [Vec::new(), Vec::new()];
    client.keys().put(&table.params, &mut keys);
    answer.put(&table.params, &mut sent);
    let part = |bytes: &[u8]| {
        let first: String = bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        json!({ "bytes": bytes.len(), "first": first, "blake3": blake3::hash(bytes).to_hex().to_string() })
    };
    json!({
        "params_digest": ParamsDigest::of(KsPir::ID, &serde_json::to_vec(&literal).unwrap()).to_string(),
        "resident": part(table.image.section(Section::Resident).unwrap()),
        "keys": part(&keys),
        "query": part(&query),
        "answer": part(&sent),
    })
}

#[test]
fn known_answers() {
    let file: Value = serde_json::from_str(include_str!("../../vectors/kspir-1.json")).unwrap();
    assert_eq!(file["scheme"], ENTRY.id.0);
    let vectors = file["vectors"].as_array().unwrap();
    assert!(!vectors.is_empty());
    for vector in vectors {
        let now = computed(vector);
        assert!(vector["expect"] == now, "computed {now}");
    }
}
