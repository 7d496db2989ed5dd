//! Nodes that several records share: kept once, read back and looked up as if each record had them.

use crate::setup::bytes;
use sotto_core::{
    Client as _, Image as _, Params as _, Prepare as _, RecordChange, RecordIndex, Section, Server as _,
    TwoServers, UpdateImage, Wire,
};
use sotto_dpf::Dpf;
use sotto_dpf::client::Client;
use sotto_dpf::literal::{MAX_PATH, ParamsLiteral};
use sotto_dpf::params::Params;
use sotto_dpf::server::Server;
use sotto_testkit::memory::{MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::sync::Arc;

type Proven = Dpf<true>;

fn byte(i: u64) -> u8 {
    (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8
}

/// Node `level` of a record.
fn node(level: u32, record: u64) -> [u8; 32] {
    std::array::from_fn(|i| byte((u64::from(level) << 40) + ((record >> level) << 8) + i as u64))
}

fn record(row_bytes: u64, path: u32, index: u64) -> Vec<u8> {
    let row = (0..row_bytes).map(|i| byte(index * row_bytes + i + 77));
    row.chain((0..path).flat_map(|level| node(level, index))).collect()
}

#[test]
fn records_with_paths_come_back_one_by_one_and_together() {
    for (records, row_bytes, path) in
        [(1, 8, 1), (5, 8, 3), (600, 40, 11), (1025, 16, 2), (70_001, 8, MAX_PATH), (4096, 8, MAX_PATH)]
    {
        let record_bytes = row_bytes + 32 * u64::from(path);
        let params = Params::check(ParamsLiteral { records, record_bytes, path }).unwrap();
        let all: Vec<u8> = (0..records).flat_map(|index| record(row_bytes, path, index)).collect();
        let rows = MemoryRows::new(record_bytes as usize, all.clone());
        let sink = MemorySink::new();
        <Server<true> as sotto_core::Server<Proven>>::encode(&params, &rows, &sink).unwrap();
        let image = sink.into_image();
        let drawn = drawn(&all, record_bytes as usize, path);
        assert!(image.section(Section::Resident) == Some(drawn.as_slice()), "{records} records");
        let sink = MemorySink::holding(image);
        // A record that is changed, its nodes too, is changed for all that share them.
        let changed = records / 2;
        let new: Vec<u8> = (0..record_bytes).map(|i| byte(i + 999)).collect();
        let half = record_bytes as usize / 2;
        let change = |offset: usize, bytes: &[u8]| RecordChange {
            record: changed,
            offset: offset as u64,
            bytes: bytes.to_vec(),
        };
        Proven::update_image(&params, &[change(0, &new[..half]), change(half, &new[half..])], &sink).unwrap();
        let expected = |index: u64| {
            let mut expected = record(row_bytes, path, index);
            let shared = (0..path).filter(|level| index >> level == changed >> level);
            for at in shared.map(|level| row_bytes as usize + 32 * level as usize) {
                expected[at..at + 32].copy_from_slice(&new[at..at + 32]);
            }
            if index == changed { new.clone() } else { expected }
        };
        let image = sink.into_image();
        let read =
            <Server<true> as sotto_core::Server<Proven>>::records(&params, Arc::new(image.clone())).unwrap();
        let server: Server<true> = Server::open(&params, Arc::new(image)).unwrap();
        let mut client: Client<true> =
            Client::begin(&params, &mut seeded("paths")).unwrap().finish().unwrap();
        let rng = &mut seeded("queries");
        let indices: Vec<u64> = (0..60).map(|i| i * 7919 % records).chain([changed, records - 1]).collect();
        let (pairs, pendings): (Vec<_>, Vec<_>) =
            indices.iter().map(|index| client.query(RecordIndex(*index), rng).unwrap()).unzip();
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let together = |of: fn(&TwoServers<_>) -> &sotto_dpf::message::Query| {
                let pairs = pairs.iter().map(|pair| (&(), of(pair).clone())).collect();
                pool.install(|| server.answer_many(pairs))
            };
            let (first, second) = (together(|pair| &pair.0), together(|pair| &pair.1));
            for ((index, a), b) in indices.iter().zip(first).zip(second) {
                let (a, b) = (of_bytes(&params, &a.unwrap()), of_bytes(&params, &b.unwrap()));
                let sum: Vec<u8> = a.iter().zip(&b).map(|(a, b)| a ^ b).collect();
                assert!(sum == expected(*index), "record {index} of {records}, {threads} threads");
                let mut back = vec![0; record_bytes as usize];
                read.read(*index, &mut back).unwrap();
                assert!(back == sum, "record {index} of {records}, read back");
            }
        }
        assert!(pendings.len() == pairs.len() && bytes(&params, &pairs[0].0).len() == params.key_bytes());
        // Kept once: less than two nodes for each record, whatever the path.
        assert!(
            params.table_bytes() <= records.next_multiple_of(8) * (row_bytes + 64) + 256 * u64::from(path)
        );
    }
}

/// The section as `spec/dpf.md` draws it.
fn drawn(records: &[u8], record_bytes: usize, path: u32) -> Vec<u8> {
    let shared = path.saturating_sub(1) as usize;
    let first = record_bytes - 32 * shared;
    let levels = (0..=shared).map(|level| match level {
        0 => (1, 0..first),
        level => (1 << level, first + 32 * (level - 1)..first + 32 * level),
    });
    let mut section = Vec::new();
    for (step, part) in levels {
        let items = records.chunks(record_bytes).step_by(step).map(|record| &record[part.clone()]);
        for block in items.collect::<Vec<&[u8]>>().chunks(8) {
            for t in 0..8 * part.len() {
                let bit = |item: &[u8]| item[t / 8] >> (t % 8) & 1;
                section.push(block.iter().rev().fold(0, |byte, item| byte << 1 | bit(item)));
            }
        }
    }
    section
}

fn of_bytes(params: &Params, answer: &sotto_dpf::message::Answer) -> Vec<u8> {
    let mut bytes = Vec::new();
    answer.put(params, &mut bytes);
    bytes
}
