//! Known answers: digests of every byte that a lookup makes, compared with a file of them.
//!
//! A file is the format of a scheme's id, and may never change under it. Whatever computes it differently (another
//! kernel backend, another order of drawing randomness, another layout) shows itself here, where a lookup
//! that fits only itself would not.

use crate::memory::{MemoryRows, MemorySink};
use crate::rng::seeded;
use serde_json::{Value, json};
use sotto_core::{Image, RecordIndex, SchemeEntry, Section};
use std::sync::Arc;

/// Compares what a scheme computes with a file of vectors.
///
/// A vector has the scheme's literal (`params`), the `index` of a record and an `rng_label`. Byte i of the records is
/// the top byte of i times 2654435761 modulo 2^32; [`seeded`] with the label gives first what the client's
/// keys take and then what the query takes.
pub fn known_answers(entry: &SchemeEntry, file: &str) {
    let file: Value = serde_json::from_str(file).expect("a file of vectors is JSON");
    assert_eq!(file["scheme"], entry.id.0);
    let vectors = file["vectors"].as_array().expect("a file of vectors has some");
    assert!(!vectors.is_empty());
    let differs = |vector: &Value| {
        let now = computed(entry, vector);
        (vector["expect"] != now).then(|| format!("{}: {now}", vector["rng_label"]))
    };
    let differing: Vec<String> = vectors.iter().filter_map(differs).collect();
    assert!(differing.is_empty(), "computed otherwise:\n{}", differing.join("\n"));
}

/// Everything a scheme computes for one vector's inputs.
fn computed(entry: &SchemeEntry, vector: &Value) -> Value {
    let params = vector["params"].to_string().into_bytes();
    let index = vector["index"].as_u64().expect("the index of a record");
    let report = (entry.report)(&params).expect("parameters of a vector are good ones");
    let record_bytes = report.record_bytes as usize;
    let byte = |i: u32| (i.wrapping_mul(2654435761) >> 24) as u8;
    let records: Vec<u8> = (0..(report.records * report.record_bytes) as u32).map(byte).collect();

    let sink = MemorySink::new();
    (entry.server.encode)(&params, &MemoryRows::new(record_bytes, records.clone()), &sink)
        .expect("encoding in memory");
    let image = sink.into_image();
    let table = part(image.section(Section::Resident).expect("an image has a table"));
    let server = (entry.server.open)(&params, Arc::new(image)).expect("a fresh image opens");

    let rng = &mut seeded(vector["rng_label"].as_str().expect("a label"));
    let prepare = (entry.prepare)(&params, rng).expect("checked parameters");
    assert!(prepare.needs().is_empty(), "vectors have no artifacts");
    let mut client = prepare.finish().expect("nothing is needed");
    let keys = client.keys();
    let session = server.admit(&keys).expect("a client's own keys are admitted");
    let (queries, ticket) = client.query(RecordIndex(index), rng).expect("a query within bounds");
    let [query] = queries.as_slice() else { panic!("one server, one query") };
    let answer = server.answer_many(&[(&session, query.as_slice())]).remove(0).expect("an answer");
    let expect = json!({
        "params_digest": report.digest.to_string(),
        "table": table,
        "keys": part(&keys),
        "query": part(query),
        "answer": part(&answer),
    });
    let record = client.recover(ticket, &[answer]).expect("an honest answer is read");
    assert!(record.bytes() == &records[index as usize * record_bytes..][..record_bytes]);
    expect
}

fn part(bytes: &[u8]) -> Value {
    let first: String = bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    json!({ "bytes": bytes.len(), "first": first, "blake3": blake3::hash(bytes).to_hex().to_string() })
}
