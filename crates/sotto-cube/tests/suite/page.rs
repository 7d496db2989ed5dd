//! Tests of `spec/cube.md`: a client and a reader of images written from the specification alone,
//! with the real server.
//!
//! Nothing here shares arithmetic, layouts or messages with the tested crates: the two sides have
//! only the specification in common. The parameters are those of the known answers of all three
//! schemes.

mod client;
mod image;
mod ring;

use client::{Client, Numbers};
use serde_json::Value;
use sotto_core::{Image, SchemeEntry, Section};
use sotto_testkit::memory::{MemoryRows, MemorySink};
use std::sync::Arc;

fn each_vector(entry: &SchemeEntry, file: &str) {
    let file: Value = serde_json::from_str(file).unwrap();
    for vector in file["vectors"].as_array().unwrap() {
        let (params, index) = (&vector["params"], vector["index"].as_u64().unwrap());
        let label = vector["rng_label"].as_str().unwrap();
        let numbers = Numbers(params.clone());
        let record_bytes = numbers.of("record_bytes") as usize;
        let len = numbers.of("records") * numbers.of("record_bytes");
        let records: Vec<u8> = (0..len as u32).map(|i| (i.wrapping_mul(2654435761) >> 24) as u8).collect();
        let record = &records[index as usize * record_bytes..][..record_bytes];

        let literal = params.to_string().into_bytes();
        let sink = MemorySink::new();
        (entry.server.encode)(&literal, &MemoryRows::new(record_bytes, records.clone()), &sink).unwrap();
        let table = sink.into_image();
        assert!(
            image::record(&numbers, table.section(Section::Resident).unwrap(), index) == record,
            "{label}"
        );

        let server = (entry.server.open)(&literal, Arc::new(table)).unwrap();
        let mut client = Client::new(params, label);
        let session = server.admit(&client.keys()).unwrap();
        let query = client.query(index);
        let answer = server.answer_many(&[(&session, query.as_slice())]).remove(0).unwrap();
        assert!(client.read(index, &answer) == record, "{label}");
    }
}

#[test]
fn fspiral() {
    each_vector(&fspiral::ENTRY, include_str!("../../../../schemes/fspiral/vectors/fspiral-1.json"));
}

#[test]
fn onionpir() {
    each_vector(&onionpir::ENTRY, include_str!("../../../../schemes/onionpir/vectors/onionpir-1.json"));
}

#[test]
fn spiral() {
    each_vector(&spiral::ENTRY, include_str!("../../../../schemes/spiral/vectors/spiral-1.json"));
}
