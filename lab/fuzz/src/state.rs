//! What a client reads back of its own state: it was written by this program, and then lay on a disk.

use sotto_client::session::RegisteredKeys;
use sotto_client::session::logged_request::LoggedRequest;
use sotto_client::state::metadata::StateMetadata;
use sotto_client::state::preparation_file;
use sotto_client::state::snapshot::SnapshotHeader;
use sotto_core::Epoch;
use std::path::Path;

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

/// The head of a client that is half prepared.
pub(crate) fn state_pass(data: &[u8]) -> bool {
    let Some(head) = preparation_file::PreparationHeader::decode(data) else { return false };
    assert!(head.encode() == data);
    true
}

pub(crate) fn passes() -> Vec<Vec<u8>> {
    let (params, rows) = ([9; 32].into(), [8; 32].into());
    vec![
        preparation_file::PreparationHeader { id: [b'5'; 32], clients: 2, epoch: Epoch(7), params, rows }
            .encode(),
    ]
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
            r#"{{"format":"sotto-state/1","id":"5e","table":"t","origin":"http://a","scheme":"s3pir/1","public_key":"sotto-pk:00","params":"{digest}","literal":"{{}}","clients":1,"anchored":true,"snapshot":{snapshot},"home":{{"device":1,"inode":2,"born":3,"machine":"4"}}}}"#
        )
    };
    let snapshot = format!(r#"{{"generation":1,"epoch":2,"rows":"{digest}","bytes":3,"digest":"{digest}"}}"#);
    vec![about("null").into_bytes(), about(&snapshot).into_bytes()]
}
