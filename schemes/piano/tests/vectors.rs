//! Known answers: these bytes are the format, and may never change under the id `piano/1`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed check fails its test")]

use piano::ENTRY;
use serde_json::{Value, json};
use sotto_core::{Artifact, Change, RecordIndex};
use sotto_testkit::memory::{MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::sync::Arc;

fn part(bytes: &[u8]) -> Value {
    let first: String = bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    json!({ "bytes": bytes.len(), "first": first, "blake3": blake3::hash(bytes).to_hex().to_string() })
}

/// Everything this crate computes for one vector: two queries for each index, of which the first is answered and the
/// second, which repeats it, is not.
///
/// Byte i of the rows is the top byte of i times 2654435761 modulo 2^32; the generator gives the client's key first.
fn computed(vector: &Value) -> Value {
    let params = vector["params"].to_string().into_bytes();
    let report = (ENTRY.report)(&params).unwrap();
    let width = report.record_bytes as usize;
    let byte = |i: u32| (i.wrapping_mul(2654435761) >> 24) as u8;
    let rows: Vec<u8> = (0..(report.records * report.record_bytes) as u32).map(byte).collect();
    let sink = MemorySink::new();
    (ENTRY.server.encode)(&params, &MemoryRows::new(width, rows.clone()), &sink).unwrap();
    let image = sink.into_image();
    let server = (ENTRY.server.open)(&params, Arc::new(image.clone())).unwrap();
    let session = server.admit(&[]).unwrap();

    let rng = &mut seeded(vector["rng_label"].as_str().unwrap());
    let mut prepare = (ENTRY.prepare)(&params, rng).unwrap();
    prepare.absorb(Artifact::Rows, image.artifact(Artifact::Rows).unwrap()).unwrap();
    let mut client = prepare.finish().unwrap();
    let (mut requests, mut answers) = (Vec::new(), Vec::new());
    for index in vector["indices"].as_array().unwrap() {
        let index = index.as_u64().unwrap();
        let (query, ticket) = client.query(RecordIndex(index), rng).unwrap();
        let answer = server.answer_many(&[(&session, query[0].as_slice())]).remove(0).unwrap();
        let row = client.recover(ticket, std::slice::from_ref(&answer)).unwrap();
        assert!(row.bytes() == &rows[index as usize * width..][..width]);
        let (open, _) = client.query(RecordIndex(index), rng).unwrap();
        requests.extend([query[0].as_slice(), open[0].as_slice()].concat());
        answers.extend(answer);
    }
    let state = client.state().unwrap();
    let journal = state.journal();
    let mut whole = Vec::new();
    state.save(&mut whole).unwrap();
    let change = Change { record: report.records - 1, offset: 0, bytes: vec![0xA5] };
    let sink = MemorySink::holding(image);
    ENTRY.server.revise.unwrap()(&params, &[change], &sink).unwrap();
    json!({
        "params_digest": report.digest.to_string(),
        "requests": part(&requests),
        "answers": part(&answers),
        "journal": part(&journal),
        "state": part(&whole),
        "delta": part(sink.into_image().artifact(Artifact::RowsDelta).unwrap()),
    })
}

#[test]
fn known_answers() {
    let file: Value = serde_json::from_str(include_str!("../vectors/piano-1.json")).unwrap();
    assert_eq!(file["scheme"], ENTRY.id.0);
    let vectors = file["vectors"].as_array().unwrap();
    assert!(!vectors.is_empty());
    let differing: Vec<String> = vectors
        .iter()
        .filter_map(|vector| {
            let now = computed(vector);
            (vector["expect"] != now).then(|| format!("{}: {now}", vector["rng_label"]))
        })
        .collect();
    assert!(differing.is_empty(), "computed otherwise:\n{}", differing.join("\n"));
}
