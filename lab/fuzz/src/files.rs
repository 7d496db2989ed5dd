//! Files that people write (server configurations, bench definitions), recorded lookups, and what a
//! client reads back of its own state, which lay on a disk.

use sotto_binding::vector::{Vector, replay};
use sotto_client::session::RegisteredKeys;
use sotto_client::session::logged_request::LoggedRequest;
use sotto_client::state::metadata::StateMetadata;
use sotto_client::state::preparation_file::PreparationHeader;
use sotto_client::state::snapshot::SnapshotHeader;
use sotto_client::state::state_file::StateRecord;
use sotto_core::Epoch;
use std::path::Path;

/// A server configuration.
pub(crate) fn server_config(data: &[u8]) -> bool {
    std::str::from_utf8(data).is_ok_and(|text| sotto_guest_server::GuestConfig::parse(text).is_ok())
}

/// The configuration that shows every key, and the shortest.
pub(crate) fn server_configs() -> Vec<Vec<u8>> {
    vec![
        include_bytes!("../../../guests/sotto-guest-server/example.toml").to_vec(),
        b"tables = [{ dir = \"ip\" }]".to_vec(),
    ]
}

/// A bench definition.
pub(crate) fn bench_definition(data: &[u8]) -> bool {
    std::str::from_utf8(data).is_ok_and(|text| sotto_bench::Definition::parse("fuzz.toml", text).is_ok())
}

/// Bench definitions that ship with the toolkit.
pub(crate) fn bench_definitions() -> Vec<Vec<u8>> {
    sotto_bench::shipped().iter().map(|shipped| shipped.text.as_bytes().to_vec()).collect()
}

/// A recorded lookup: one that was changed is refused, or says the same.
pub(crate) fn vector(data: &[u8]) -> bool {
    let Ok(replayed) = replay(data) else { return false };
    // Nobody makes another row of recorded answers by changing bytes.
    let seeds = vectors();
    let (seed, _) = Vector::parse(&seeds[0]).unwrap();
    assert_eq!((replayed.row, replayed.value), (seed.row, seed.value.0));
    true
}

/// One of a scheme that answers quickly.
pub(crate) fn vectors() -> Vec<Vec<u8>> {
    let files: [&[u8]; 2] = [
        include_bytes!("../../../spec/vectors/dpf-1.json"),
        include_bytes!("../../../spec/vectors/dpf-1.bin"),
    ];
    vec![files.concat()]
}

/// A recorded request.
pub(crate) fn state_record(data: &[u8]) -> bool {
    let Some(record) = LoggedRequest::decode(data) else { return false };
    assert!(record.encode() == data);
    true
}

/// Requests to one server and to two, of one query and of several.
pub(crate) fn records() -> Vec<Vec<u8>> {
    let one = LoggedRequest { numbers: vec![7], queries: vec![vec![1; 40]] };
    let two = LoggedRequest { numbers: vec![8, 9, 12], queries: vec![vec![2; 24], vec![3; 27]] };
    vec![one.encode(), two.encode()]
}

/// The head of a snapshot.
pub(crate) fn state_head(data: &[u8]) -> bool {
    let Some(head) = SnapshotHeader::decode(data) else { return false };
    assert!(head.encode() == data);
    true
}

pub(crate) fn heads() -> Vec<Vec<u8>> {
    vec![SnapshotHeader { generation: 3, epoch: Epoch(7), params: [9; 32].into() }.encode()]
}

/// A transaction of a state.
pub(crate) fn state_transaction(data: &[u8]) -> bool {
    let Some(record) = StateRecord::decode(data) else { return false };
    assert!(record.encode().as_slice() == data);
    true
}

/// One of marks alone, and one with everything.
pub(crate) fn transactions() -> Vec<Vec<u8>> {
    let marks = [0; 48];
    let value = |bytes: &[u8]| [&(bytes.len() as u32).to_le_bytes()[..], bytes].concat();
    let number = 7u64.to_le_bytes();
    let whole = [&[0b11_1111][..], &marks, &value(b"{}"), &value(b"entry"), &number];
    vec![
        [&[0][..], &marks].concat(),
        [whole.concat(), value(b"request"), number.to_vec(), number.to_vec()].concat(),
    ]
}

/// The head of a client that is half prepared.
pub(crate) fn state_pass(data: &[u8]) -> bool {
    let Some(head) = PreparationHeader::decode(data) else { return false };
    assert!(head.encode() == data);
    true
}

pub(crate) fn passes() -> Vec<Vec<u8>> {
    let (params, rows) = ([9; 32].into(), [8; 32].into());
    vec![PreparationHeader { id: [b'5'; 32], clients: 2, epoch: Epoch(7), params, rows }.encode()]
}

/// Keys that servers know, as they lie in a keyring once they are decrypted.
pub(crate) fn registered_keys(data: &[u8]) -> bool {
    let Some(keys) = RegisteredKeys::parse(data) else { return false };
    assert!(keys.to_bytes().as_slice() == data);
    true
}

/// Keys at one server and at two.
pub(crate) fn keyrings() -> Vec<Vec<u8>> {
    vec![vec![7; 112], vec![8; 128]]
}

/// What a state is of.
pub(crate) fn state_about(data: &[u8]) -> bool {
    StateMetadata::parse(data, Path::new("fuzz")).is_ok()
}

/// A state before its first client, and one with a snapshot.
pub(crate) fn abouts() -> Vec<Vec<u8>> {
    let digest = "00".repeat(32);
    let about = |snapshot: &str| {
        format!(
            r#"{{"format":"sotto-state/4","id":"5e","table":"t","origin":"http://a","scheme":"s3pir/1","public_key":"sotto-pk:00","params":"{digest}","literal":"{{}}","clients":1,"has_counter":true,"snapshot":{snapshot},"home":{{"device":1,"inode":2,"born":3,"machine":"4"}}}}"#
        )
    };
    let snapshot = format!(r#"{{"generation":1,"epoch":2,"rows":"{digest}","bytes":3,"digest":"{digest}"}}"#);
    vec![about("null").into_bytes(), about(&snapshot).into_bytes()]
}
