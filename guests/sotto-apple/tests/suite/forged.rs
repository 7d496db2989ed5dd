//! Files with valid digests and invalid descriptions.

use crate::files::{how, rows, write};
use serde_json::{Value, json};
use sotto_apple::image::{ImageError, PreviousEpoch, UseCaseDescription, open};
use sotto_apple::sets::WeakParams;
use sotto_db::TableDir;
use std::path::Path;

/// A file with another description and valid digests.
fn forge(whole: &[u8], text: &[u8]) -> Vec<u8> {
    // The third entry of the section table at offset 64.
    let entry = 64 + 2 * 64;
    let number = |at: usize| u64::from_le_bytes(whole[at..at + 8].try_into().unwrap()) as usize;
    let (at, end) = (number(entry + 8), number(entry + 8) + number(entry + 16));
    assert_eq!((whole[entry], end), (9, whole.len()), "the description comes last");
    let mut forged = [&whole[..at], text].concat();
    let file_bytes = (forged.len() as u64).to_le_bytes();
    forged[16..24].copy_from_slice(&file_bytes);
    forged[entry + 16..entry + 24].copy_from_slice(&(text.len() as u64).to_le_bytes());
    forged[entry + 32..entry + 64].copy_from_slice(blake3::hash(text).as_bytes());
    let digest = blake3::Hasher::new().update(&forged[..32]).update(&forged[64..4096]).finalize();
    forged[32..64].copy_from_slice(digest.as_bytes());
    forged
}

fn described(path: &Path) -> (Vec<u8>, Value) {
    let described = open(path, WeakParams::Reject).unwrap().description;
    (std::fs::read(path).unwrap(), serde_json::to_value(described).unwrap())
}

#[test]
fn descriptions_that_do_not_fit_their_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), rows(200), &how(2)).unwrap().path;
    let (whole, described) = described(&path);
    let forged = |change: &dyn Fn(&mut Value)| {
        let mut changed = described.clone();
        change(&mut changed);
        std::fs::write(&path, forge(&whole, changed.to_string().as_bytes())).unwrap();
        open(&path, WeakParams::Reject)
    };
    assert!(forged(&|_| ()).is_ok());
    // Opened by its folder, the epoch must match the file's name.
    assert!(
        forged(&|told| told["epoch"] = json!(2)).is_ok() && open(dir.path(), WeakParams::Reject).is_err()
    );
    let shard =
        |field: &'static str, to: Value| move |told: &mut Value| told["shards"][1][field] = to.clone();
    let changes: Vec<Box<dyn Fn(&mut Value)>> = vec![
        Box::new(|told| told["format"] = json!("sotto-apple/2")),
        Box::new(|told| told["name"] = json!("")),
        Box::new(|told| told["name"] = json!("a".repeat(257))),
        Box::new(|told| told["set"] = json!("n_1")),
        Box::new(|told| told["set"] = json!("n_4096_logq_27_28_28_logt_4")),
        Box::new(|told| told["kind"] = json!("index")),
        Box::new(|told| told["kind"] = json!("range")),
        Box::new(|told| told["compression"] = json!("all")),
        Box::new(|told| told["more"] = json!(1)),
        Box::new(|told| told["tables"] = json!("00".repeat(32))),
        Box::new(|told| told["shards"] = json!([])),
        Box::new(|told| told["shards"] = Value::Array(vec![told["shards"][0].clone(); 70_000])),
        Box::new(|told| drop(told["shards"].as_array_mut().unwrap().pop())),
        Box::new(shard("entries", json!(0))),
        Box::new(shard("entries", json!(1))),
        Box::new(shard("entries", json!(u64::MAX))),
        Box::new(shard("entry_bytes", json!(0))),
        Box::new(shard("entry_bytes", json!(u64::MAX))),
        Box::new(shard("dimensions", json!([0, 0]))),
        Box::new(shard("dimensions", json!([1u64 << 40, 1u64 << 40]))),
        Box::new(shard("dimensions", json!([1u64 << 25, 1]))),
        Box::new(shard("dimensions", json!([1, 2, 3]))),
    ];
    for (i, change) in changes.iter().enumerate() {
        assert!(forged(change).is_err(), "{i}");
        let lock = TableDir::open(dir.path()).unwrap().lock().unwrap();
        assert!(PreviousEpoch::open(&lock, WeakParams::Reject).is_err(), "{i}");
    }
    std::fs::write(&path, forge(&whole, b"no JSON")).unwrap();
    assert!(matches!(open(&path, WeakParams::Reject), Err(ImageError::Description { .. })));
}

/// Any text gives a description or an error.
#[test]
fn any_text_is_read_to_an_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), rows(20), &how(1)).unwrap().path;
    let text = described(&path).1.to_string().into_bytes();
    assert!(UseCaseDescription::parse(&text).is_ok());
    for at in 0..text.len() {
        for byte in [0, b'"', b'9', b'}', b'-', 0xFF] {
            let mut changed = text.clone();
            changed[at] = byte;
            if let Ok(described) = UseCaseDescription::parse(&changed) {
                let _ = described.places(&crate::recorded::CODEC);
            }
        }
        assert!(UseCaseDescription::parse(&text[..at]).is_err());
    }
}
