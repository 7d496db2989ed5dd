use super::*;
use crate::{ServerConfig, TableConfig, epoch_files};
use sotto_db::table::RawFile;
use sotto_db::{EncodeOptions, TableDir, encode_table, progress::silent};
use sotto_testkit::rng::seeded;
use std::fs::{self, File};
use std::path::Path;

fn encode(dir: &Path) {
    let raw = dir.join("rows.raw");
    fs::write(&raw, [7; 1600]).unwrap();
    let table = RawFile::new(File::open(&raw).unwrap(), &raw, 100, 16).unwrap();
    let dir = TableDir::open(dir).unwrap();
    let key = dir.signing_key(None, &mut seeded("publisher")).unwrap();
    let options = EncodeOptions {
        lookups_per_client: 1000,
        threads: Some(1),
        ..EncodeOptions::new("t".parse().unwrap(), &key)
    };
    let scheme = sotto_registry::find("dpf/1").unwrap();
    encode_table(scheme, &table, &dir.lock().unwrap(), &options, &silent).unwrap();
}

fn slot(dir: &Path) -> Arc<ServedTable> {
    let config = ServerConfig { tables: vec![TableConfig::dir(dir)], ..ServerConfig::default() };
    ServedTable::new(
        epoch_files::sources(&config, &epoch_files::copy_budget(&config)).unwrap().pop().unwrap(),
    )
}

fn newest(slot: &ServedTable) -> Option<u64> {
    slot.live_now().map(|live| live.newest().pin().epoch.0)
}

#[test]
fn what_takes_long_is_read_in_the_background() {
    let dir = tempfile::tempdir().unwrap();
    encode(dir.path());
    let slot = slot(dir.path());
    let (looked, error) = slot.first_reload(&mut 100, &sotto_db::progress::silent);
    assert!(looked.begun && error.is_none() && slot.is_reading() && newest(&slot).is_none());
    let refused = slot.live().err().unwrap();
    assert!(refused.told().0 == Code::NotReady && refused.told().1.contains("being verified"), "{refused:?}");
    assert!(matches!(slot.status(), TableStatus::Reading(table, 0) if table.catalog().table.as_str() == "t"));
    let again = slot.reload(&mut { u64::MAX });
    assert!(again.reading && !again.begun, "nobody waits for it, and nobody reads it twice");
    assert!(slot.finish_reading().changed && newest(&slot) == Some(1) && !slot.is_reading());

    // The next epoch is served once it is verified, and the old one until then.
    encode(dir.path());
    assert!(slot.reload(&mut 100).begun && newest(&slot) == Some(1) && slot.live().is_ok());
    assert!(slot.finish_reading().changed && newest(&slot) == Some(2));

    // A damaged epoch is read once, and not with every check.
    encode(dir.path());
    let image = dir.path().join("epoch-00000003.sotto");
    let mut bytes = fs::read(&image).unwrap();
    bytes[5000] ^= 1;
    fs::write(&image, bytes).unwrap();
    assert!(slot.reload(&mut 100).begun);
    assert!(slot.finish_reading().refused.is_some_and(|why| why.contains("does not match its digest")));
    let again = slot.reload(&mut 100);
    assert!(!again.begun && again.refused.is_some() && newest(&slot) == Some(2));
}

#[test]
fn both_epochs_are_read_one_after_the_other_and_none_after_the_end() {
    let dir = tempfile::tempdir().unwrap();
    encode(dir.path());
    encode(dir.path());
    // The bytes of the file, and those of its rows once more.
    let bytes = fs::metadata(dir.path().join("epoch-00000002.sotto")).unwrap().len() + 1600;
    let slot_ = slot(dir.path());
    let mut patience = bytes + 10;
    assert!(slot_.first_reload(&mut patience, &sotto_db::progress::silent).0.begun && patience == 10);
    assert!(newest(&slot_) == Some(2) && slot_.live_now().unwrap().previous().is_none());
    assert!(slot_.finish_reading().changed && slot_.live_now().unwrap().previous().is_some());
    let ended = slot(dir.path());
    ended.first_reload(&mut 0, &sotto_db::progress::silent);
    ended.stop();
    assert!(!ended.finish_reading().changed && newest(&ended).is_none());
}
