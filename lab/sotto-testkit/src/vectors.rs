//! Known answers: digests of every byte of a lookup, compared with a file.
//!
//! A file fixes the format of a scheme's id, and the messages between client and server may never
//! change under it. (A table is read by its server alone, which recognizes an older one by its
//! length.) Any different computation (another kernel backend, another order of drawing randomness,
//! another layout) shows here, where a lookup that only agrees with itself would not.

use crate::memory::{MemoryImage, MemoryRows, MemorySink};
use crate::rng::seeded;
use serde_json::{Value, json};
use sotto_core::{
    AnyPrepare, Artifact, Image, ParamsReport, RecordChange, RecordIndex, SchemeEntry, Section,
};
use std::sync::Arc;

/// Test bytes that any language can make: byte i is the top byte of i times 2654435761 modulo 2^32.
pub fn bytes(count: usize) -> Vec<u8> {
    (0..count as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// Compares a scheme's computations with a file of vectors.
///
/// A vector has the scheme's literal (`params`), the `index` of a record and an `rng_label`. The
/// records are [`bytes`]; [`seeded`] with the label gives first the randomness of the client's
/// preparation and keys and then that of the query. The table is what the server answers from. The
/// hint, if there is one, is compared too.
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

/// Compares the computations of a scheme whose clients hold hints with a file of vectors.
///
/// A vector has the `indices` of records. For each there are two queries, the first answered and
/// the second not, and before them come all hint requests that are due. The delta is that of the
/// last record with its first byte set to 0xA5.
pub fn known_hints(entry: &SchemeEntry, file: &str) {
    let file: Value = serde_json::from_str(file).expect("a file of vectors is JSON");
    assert_eq!(file["scheme"], entry.id.0);
    let vectors = file["vectors"].as_array().expect("a file of vectors has some");
    assert!(!vectors.is_empty());
    for vector in vectors {
        let (digest, computed) = computed_hints(entry, vector);
        let expect = vector["expect"].as_object().expect("what is expected");
        assert_eq!(expect["params_digest"], digest);
        for (name, expected) in expect.iter().filter(|(name, _)| *name != "params_digest") {
            let (_, bytes) = computed.iter().find(|(of, _)| of == name).expect("a name that vectors have");
            let (got, first) = (part(bytes), expected["first"].as_str().expect("the first bytes"));
            let same = expected["bytes"] == got["bytes"] && expected["blake3"] == got["blake3"];
            assert!(same && hex(bytes).starts_with(first), "{}: {name}: {got}", vector["rng_label"]);
        }
    }
}

/// The digest of the parameters, and all messages and states for one vector's inputs.
fn computed_hints(entry: &SchemeEntry, vector: &Value) -> (String, Vec<(&'static str, Vec<u8>)>) {
    let params = vector["params"].to_string().into_bytes();
    let report = (entry.report)(&params).expect("parameters of a vector are good ones");
    let (records, image) = table(entry, &params, &report);
    let width = report.record_bytes as usize;
    let server = (entry.server.open)(&params, Arc::new(image.clone())).expect("a fresh image opens");
    let session = server.admit(&[]).expect("there are no keys");

    let rng = &mut seeded(vector["rng_label"].as_str().expect("a label"));
    let mut prepare = (entry.prepare)(&params, rng).expect("checked parameters");
    take_in(prepare.as_mut(), &image);
    let mut client = prepare.finish().expect("all that is needed came");
    let [mut orders, mut supplies, mut requests, mut answers] = [const { Vec::new() }; 4];
    for index in vector["indices"].as_array().expect("the indices of records") {
        while let Some(order) =
            client.hint_client().and_then(|hint_client| hint_client.next_hint_request().expect("an order"))
        {
            let supply = server
                .hint_server()
                .and_then(|hint_server| hint_server.answer_hint_request(&order).ok())
                .expect("a supply");
            client
                .hint_client()
                .expect("a client that orders")
                .apply_hint_response(&supply)
                .expect("the supply to its order");
            orders.extend(order);
            supplies.extend(supply);
        }
        let index = index.as_u64().expect("the index of a record");
        let (queries, pending) = client.query(RecordIndex(index), rng).expect("a query within bounds");
        let ask = |query: &Vec<u8>| server.answer_many(&[(&session, query.as_slice())]).remove(0);
        let answered: Vec<Vec<u8>> = queries.iter().map(|query| ask(query).expect("an answer")).collect();
        let record = client.recover(pending, &answered).expect("an honest answer is read");
        assert!(record.bytes() == &records[index as usize * width..][..width]);
        let (open, _) = client.query(RecordIndex(index), rng).expect("a query within bounds");
        requests.extend([queries, open].concat().concat());
        answers.extend(answered.concat());
    }
    let state = client.state().expect("a client of such a scheme has a state");
    let (journal, mut whole) = (state.journal().to_vec(), Vec::new());
    state.save(&mut whole).expect("saving in memory");
    let change = RecordChange { record: report.records - 1, offset: 0, bytes: vec![0xA5] };
    let sink = MemorySink::holding(image);
    entry.server.update_image.expect("such a scheme revises")(&params, &[change], &sink).expect("in memory");
    let delta = sink.into_image().artifact(Artifact::RowsDelta).expect("a delta").to_vec();
    let names = ["orders", "supplies", "requests", "answers", "journal", "state", "delta"];
    let parts = [orders, supplies, requests, answers, journal, whole, delta];
    (report.digest.to_string(), names.into_iter().zip(parts).collect())
}

/// The records of all vectors, and their image.
fn table(entry: &SchemeEntry, params: &[u8], report: &ParamsReport) -> (Vec<u8>, MemoryImage) {
    let records = bytes((report.records * report.record_bytes) as usize);
    let sink = MemorySink::new();
    let rows = MemoryRows::new(report.record_bytes as usize, records.clone());
    (entry.server.encode)(params, &rows, &sink).expect("encoding in memory");
    (records, sink.into_image())
}

/// Passes a client the artifacts that it needs.
fn take_in(prepare: &mut dyn AnyPrepare, image: &MemoryImage) {
    for need in prepare.needs() {
        let bytes = image.artifact(need.artifact).expect("an image has what is needed");
        prepare.absorb(need.artifact, bytes).expect("an artifact of this image");
    }
}

/// Everything a scheme computes for one vector's inputs.
fn computed(entry: &SchemeEntry, vector: &Value) -> Value {
    let params = vector["params"].to_string().into_bytes();
    let index = vector["index"].as_u64().expect("the index of a record");
    let report = (entry.report)(&params).expect("parameters of a vector are good ones");
    let record_bytes = report.record_bytes as usize;
    let (records, image) = table(entry, &params, &report);
    let rows = image.section(Section::Public(Artifact::Rows));
    let table = part(image.section(Section::Resident).or(rows).expect("an image has a table"));
    let server = (entry.server.open)(&params, Arc::new(image.clone())).expect("a fresh image opens");

    let rng = &mut seeded(vector["rng_label"].as_str().expect("a label"));
    let mut prepare = (entry.prepare)(&params, rng).expect("checked parameters");
    take_in(prepare.as_mut(), &image);
    let mut client = prepare.finish().expect("nothing is needed");
    let keys = client.keys();
    let session = server.admit(&keys).expect("a client's own keys are admitted");
    let (queries, pending) = client.query(RecordIndex(index), rng).expect("a query within bounds");
    let [query] = queries.as_slice() else { panic!("one server, one query") };
    let answer = server.answer_many(&[(&session, query.as_slice())]).remove(0).expect("an answer");
    let mut expect = json!({
        "params_digest": report.digest.to_string(),
        "table": table,
        "keys": part(&keys),
        "query": part(query),
        "answer": part(&answer),
    });
    if let Some(hint) = image.artifact(Artifact::Hint) {
        expect["hint"] = part(hint);
    }
    let record = client.recover(pending, &[answer]).expect("an honest answer is read");
    assert!(record.bytes() == &records[index as usize * record_bytes..][..record_bytes]);
    expect
}

fn part(bytes: &[u8]) -> Value {
    let first = hex(bytes.get(..16).unwrap_or(bytes));
    json!({ "bytes": bytes.len(), "first": first, "blake3": blake3::hash(bytes).to_hex().to_string() })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
