//! `spec/bfv.md`, tried out: a client written from the page alone, with the real server.
//!
//! Nothing here shares arithmetic, encodings or messages with the crates it tests: what the two sides understand of each other is
//! what the page says.

mod client;
mod places;
mod ring;

use client::Client;
use serde_json::{Value, json};
use sotto_core::{SchemeEntry, Shape};
use sotto_testkit::memory::{MemoryRows, MemorySink};
use std::sync::Arc;

/// Asks for records of a table of so many rows, and for a record of each bucket.
fn asks(entry: &'static SchemeEntry, shape: &Shape) -> Value {
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

/// Without buckets and with them; records of several parts.
fn slots(entry: &'static SchemeEntry) {
    asks(entry, &Shape::new(9000, 6, 1000));
    let params = asks(entry, &Shape { buckets: 3, ..Shape::new(3 * 300, 30, 1000) });
    assert!(params["split"].as_u64() > Some(1), "{params}");
}

#[test]
fn fastpir() {
    slots(&fastpir::ENTRY);
}

#[test]
fn vbpir() {
    slots(&vbpir::ENTRY);
}

#[test]
fn pirana() {
    slots(&pirana::ENTRY);
}

/// Both second dimensions, and none; one bucket and three.
#[test]
fn sealpir() {
    for (set, rows) in [("seal", 4), ("seal-12", 9), ("mul", 9)] {
        for buckets in [1, 3] {
            let shape = Shape { set: Some(set.into()), buckets, ..Shape::new(buckets * rows, 5000, 1000) };
            asks(&sealpir::ENTRY, &shape);
        }
    }
    for (ring, answer_bits) in [("n4096-t2^12-q50", [15, 22]), ("n4096-t2^10-q70", [13, 21])] {
        let params = json!({
            "ring": ring, "records": 14, "buckets": 2, "record_words": 4100, "split": 1, "rows": 3, "merged": 1,
            "primes": if ring.ends_with("70") { 2 } else { 1 }, "queries": 2, "answer_bits": answer_bits,
            "written": 0, "mask": "5c".repeat(32),
        });
        asks_of(&sealpir::ENTRY, params);
    }
}
