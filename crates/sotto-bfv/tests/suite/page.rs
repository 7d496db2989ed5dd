//! Tests of `spec/bfv.md`: a client written from the specification alone, with the real server.
//!
//! Nothing here shares arithmetic, encodings or messages with the tested crates: the two sides have
//! only the specification in common.

mod client;
mod places;

use client::Client;
use serde_json::{Value, json};
use sotto_core::{SchemeEntry, TableShape};
use sotto_testkit::memory::{MemoryRows, MemorySink};
use std::sync::Arc;

/// Queries records of a table of this shape, and a record of each bucket.
fn asks(entry: &'static SchemeEntry, shape: &TableShape) -> Value {
    let mut params: Value = serde_json::from_slice(&(entry.select)(shape).unwrap()).unwrap();
    params["mask"] = json!("07".repeat(32));
    asks_of(entry, params)
}

fn asks_of(entry: &'static SchemeEntry, params: Value) -> Value {
    let literal = params.to_string().into_bytes();
    let mut client = Client::new(entry.id.0.split('/').next().unwrap(), &params);
    let (bytes, each) = (client.places.record_bytes(), client.places.each);
    let len = params["records"].as_u64().unwrap() as usize * bytes;
    let records: Vec<u8> = (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let sink = MemorySink::new();
    (entry.server.encode)(&literal, &MemoryRows::new(bytes, records.clone()), &sink).unwrap();
    let server = (entry.server.open)(&literal, Arc::new(sink.into_image())).unwrap();
    let session = server.admit(&client.keys()).unwrap();
    let buckets = client.places.buckets as u64;
    for places in [
        vec![0; buckets as usize],
        vec![each - 1; buckets as usize],
        (0..buckets).map(|bucket| (bucket * 11 + 5) % each).collect(),
    ] {
        let query = client.query(&places);
        let answer = server.answer_many(&[(&session, query.as_slice())]).remove(0).unwrap();
        for (bucket, found) in client.read(&places, &answer).iter().enumerate() {
            let index = bucket * each as usize + places[bucket] as usize;
            assert!(*found == records[index * bytes..][..bytes], "{params}, bucket {bucket}");
        }
    }
    params
}

/// The parameters of a scheme's known answers.
fn vectors(entry: &'static SchemeEntry, file: &str) {
    let file: Value = serde_json::from_str(file).unwrap();
    for vector in file["vectors"].as_array().unwrap() {
        asks_of(entry, vector["params"].clone());
    }
}

/// Selected parameters, without buckets and with them, for records of several parts; and those of
/// the known answers.
fn slots(entry: &'static SchemeEntry, file: &str) {
    asks(entry, &TableShape::new(9000, 6, 1000));
    let params = asks(entry, &TableShape { buckets: 3, ..TableShape::new(3 * 300, 30, 1000) });
    assert!(params["split"].as_u64() > Some(1), "{params}");
    vectors(entry, file);
}

#[test]
fn fastpir() {
    slots(&fastpir::ENTRY, include_str!("../../../../schemes/fastpir/vectors/fastpir-1.json"));
}

#[test]
fn vbpir() {
    slots(&vbpir::ENTRY, include_str!("../../../../schemes/vbpir/vectors/vbpir-1.json"));
}

#[test]
fn pirana() {
    slots(&pirana::ENTRY, include_str!("../../../../schemes/pirana/vectors/pirana-1.json"));
}

/// Every set; both second dimensions are in the known answers.
#[test]
fn sealpir() {
    for set in ["seal", "seal-12", "mul"] {
        let shape = TableShape { set: Some(set.into()), buckets: 3, ..TableShape::new(3 * 9, 5000, 1000) };
        asks(&sealpir::ENTRY, &shape);
    }
    vectors(&sealpir::ENTRY, include_str!("../../../../schemes/sealpir/vectors/sealpir-1.json"));
}
