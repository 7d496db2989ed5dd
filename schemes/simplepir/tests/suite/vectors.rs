//! Known answers: these bytes are the format, and may never change under the id `simplepir/1`.

use crate::setup::{HINT, Table, frodo, literal, words};
use serde_json::{Value, json};
use sotto_core::{Artifact, Image, Params as _, ParamsDigest, RecordChange, Section, UpdateImage};
use sotto_silent::lwe::dense::FRODO;
use sotto_silent::lwe::ring::PUBLIC_SEED;
use sotto_silent::{MatrixScheme, Params};
use sotto_simplepir::literal::{ParamsLiteral, SET};
use sotto_simplepir::{ENTRY, SimplePir};
use sotto_testkit::memory::MemorySink;

fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn first(bytes: &[u8]) -> String {
    bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Record bytes that any language can make: byte i is the top byte of i times 2654435761 modulo 2^32.
fn records(params: &Params<SimplePir>) -> Vec<u8> {
    (0..(params.record_bytes * params.records) as u32)
        .map(|i| (i.wrapping_mul(2654435761) >> 24) as u8)
        .collect()
}

/// Everything this crate computes for one vector's inputs.
fn computed(vector: &Value) -> Value {
    let number = |field: &str| vector[field].as_u64().unwrap();
    let bits = |field: &str| number(field) as u8;
    let set = vector.get("set").and_then(Value::as_str).unwrap_or(SET);
    let literal = ParamsLiteral {
        set: set.into(),
        ..literal(number("record_bytes"), number("records"), bits("query_bits"), bits("answer_bits"))
    };
    let params = Params::<SimplePir>::check(literal.clone()).unwrap();
    let table = Table::new(literal.clone(), records(&params));
    let label = vector["rng_label"].as_str().unwrap();
    let (query, answer, record) = table.lookup(&mut table.client(), number("index"), label);
    assert_eq!(record, table.row(number("index")));
    let sink = MemorySink::holding(table.image.clone());
    let change = RecordChange { record: number("index"), offset: 0, bytes: vec![!record[0]] };
    MatrixScheme::<SimplePir>::update_image(&params, &[change], &sink).unwrap();
    let revised = sink.into_image();
    let part = |bytes: &[u8]| json!({ "bytes": bytes.len(), "first": first(bytes), "blake3": digest(bytes) });
    json!({
        "params_digest": ParamsDigest::of(ENTRY.id, &serde_json::to_vec(&literal).unwrap()).to_string(),
        "matrix": part(table.image.section(Section::Resident).unwrap()),
        "hint": part(table.image.section(HINT).unwrap()),
        "query": part(&query),
        "answer": part(&answer),
        "delta": part(revised.section(Section::Public(Artifact::HintDelta)).unwrap()),
        "hint_after_delta": part(revised.section(HINT).unwrap()),
    })
}

#[test]
fn known_answers() {
    let file: Value = serde_json::from_str(include_str!("../../vectors/simplepir-1.json")).unwrap();
    assert_eq!(file["scheme"], ENTRY.id.0);
    let vectors = file["vectors"].as_array().unwrap();
    assert!(!vectors.is_empty());
    for vector in vectors {
        let now = computed(vector);
        assert!(vector["expect"] == now, "computed {now}");
    }
}

/// The hint of a dense matrix, from its definition: column j of rows k 1024 to k 1024 + 1023 is a stream of its own.
#[test]
fn a_dense_hint_is_the_product_too() {
    let (l, m) = (2, 1030);
    let table = Table::new(frodo(l, m), records(&Params::<SimplePir>::check(frodo(l, m)).unwrap()));
    let mut h = vec![vec![0u32; FRODO.n]; l as usize];
    for (k, first) in (0..m).step_by(1024).enumerate() {
        for j in 0..FRODO.n {
            let mut stream = PUBLIC_SEED.stream("n1774-q32-t matrix", (k * FRODO.n + j) as u64);
            for column in first..m.min(first + 1024) {
                let mut word = [0; 4];
                stream.fill(&mut word);
                for (h, byte) in h.iter_mut().zip(table.row(column)) {
                    let product = u32::from_le_bytes(word).wrapping_mul(*byte as i8 as u32);
                    h[j] = h[j].wrapping_add(product);
                }
            }
        }
    }
    assert!(words(table.hint(), 32) == h.concat());
}
