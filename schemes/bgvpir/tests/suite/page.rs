//! `spec/bgvpir.md`, tried out: a client written from the page alone, with the real server.
//!
//! Nothing here shares arithmetic, encodings or messages with the crates it tests: what the two sides understand of
//! each other is what the page says. The parameters are those of the known answers.

mod client;
mod slots;

use client::Client;
use serde_json::Value;
use sotto_testkit::memory::{MemoryRows, MemorySink};
use std::sync::Arc;

fn each_vector(ring: &str) {
    let file: Value = serde_json::from_str(include_str!("../../vectors/bgvpir-1.json")).unwrap();
    let vectors = file["vectors"].as_array().unwrap().iter();
    // What the image holds of rows changes no byte of a client.
    let vectors = vectors.filter(|vector| vector["params"]["form"].is_null());
    for vector in vectors.filter(|vector| vector["params"]["ring"] == ring) {
        let (params, index) = (&vector["params"], vector["index"].as_u64().unwrap());
        let mut client = Client::new(params, vector["rng_label"].as_str().unwrap());
        let bytes = client.record_bytes();
        let len = params["records"].as_u64().unwrap() as usize * bytes;
        let records: Vec<u8> = (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();

        let (literal, sink) = (params.to_string().into_bytes(), MemorySink::new());
        let rows = MemoryRows::new(bytes, records.clone());
        (sotto_bgvpir::ENTRY.server.encode)(&literal, &rows, &sink).unwrap();
        let server = (sotto_bgvpir::ENTRY.server.open)(&literal, Arc::new(sink.into_image())).unwrap();
        let session = server.admit(&client.keys()).unwrap();
        let query = client.query(index);
        let answer = server.answer_many(&[(&session, query.as_slice())]).remove(0).unwrap();
        let record = &records[index as usize * bytes..][..bytes];
        assert!(client.read(index, &answer) == record, "{params}");
    }
}

#[test]
fn pow2() {
    each_vector("pow2");
}

#[test]
fn m8191() {
    each_vector("m8191");
}
