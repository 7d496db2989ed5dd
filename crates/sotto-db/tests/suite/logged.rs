//! Catalogs in their publisher's log: each is written exactly once, whatever was killed in between.

use crate::common::{Memory, encode, folder, key, options, write};
use sotto_catalog::SigningKey;
use sotto_db::progress::silent;
use sotto_db::{DbError, EncodeOptions, UpdateOptions, encode_table, publish_log, update_table};
use sotto_testkit::CLEAR;
use sotto_testkit::rng::seeded;
use sotto_tlog::appender::Appender;
use sotto_tlog::catalogs::EntryKind;
use sotto_tlog::publisher_log::PublisherLog;
use sotto_tlog::{LogEntry, LogError};

#[test]
fn what_is_published_and_not_in_the_log_is_written_by_the_next_run() {
    let (temp, dir) = folder();
    let (log, key) = (temp.path().join("log"), key());
    let entries = || PublisherLog::open(&log).unwrap().entries().to_vec();
    assert_eq!(publish_log::publish_to_log(dir.path(), None, &key).unwrap(), None, "no log was ever named");
    // Two epochs were published by runs that were killed before they wrote the log, and one that
    // had begun to.
    encode(&dir, &CLEAR, &Memory::numbered(10, 4)).unwrap();
    encode(&dir, &CLEAR, &Memory::numbered(11, 4)).unwrap();
    let first =
        LogEntry::catalog(dir.open_epoch(sotto_core::Epoch(1)).unwrap().catalog(), key.public()).unwrap();
    let mut killed = Appender::open(&log, &key).unwrap();
    killed.add(&first).unwrap();
    drop(killed);
    assert!(!log.join("checkpoint").exists());

    let done = publish_log::publish_to_log(dir.path(), Some(&log), &key).unwrap().unwrap();
    assert_eq!((done.added, done.entries, &done.folder), (2, 2, &log));
    let epochs: Vec<_> = entries().iter().map(|entry| (entry.kind, entry.epoch.0)).collect();
    assert_eq!(epochs, [(EntryKind::Catalog, 1), (EntryKind::Catalog, 2)]);
    assert_eq!(entries()[0], first);
    // The folder remembers its log, and nothing is written twice.
    encode(&dir, &CLEAR, &Memory::numbered(12, 4)).unwrap();
    assert_eq!(publish_log::log_folder(dir.path()).unwrap().as_ref(), Some(&log));
    for added in [1, 0] {
        assert_eq!(publish_log::publish_to_log(dir.path(), None, &key).unwrap().unwrap().added, added);
    }
    assert_eq!(entries().len(), 3);

    // Epochs that come too late for a log are left out, but the newest one is not.
    let third = LogEntry::catalog(dir.open_latest().unwrap().catalog(), key.public()).unwrap();
    let late = temp.path().join("late");
    let mut appender = Appender::open(&late, &key).unwrap();
    appender.add(&third).unwrap();
    appender.publish().unwrap();
    drop(appender);
    assert_eq!(publish_log::publish_to_log(dir.path(), Some(&late), &key).unwrap().unwrap().added, 0);
    publish_log::publish_to_log(dir.path(), Some(&log), &key).unwrap();
    // A folder that starts over has another catalog of an epoch that is in the log.
    let again = sotto_db::TableDir::create(&temp.path().join("again")).unwrap();
    encode(&again, &CLEAR, &Memory::numbered(13, 4)).unwrap();
    let Err(DbError::Log { source, .. }) = publish_log::publish_to_log(again.path(), Some(&log), &key) else {
        panic!("epoch 1 is in the log");
    };
    assert!(matches!(*source, LogError::Superseded { last: 3, .. }), "{source}");

    // Another publisher's log is not written to, and the folder does not remember it.
    let other = SigningKey::generate(&mut seeded("another publisher"));
    let theirs = temp.path().join("theirs");
    Appender::open(&theirs, &other).unwrap().publish().unwrap();
    let Err(DbError::Log { source, .. }) = publish_log::publish_to_log(dir.path(), Some(&theirs), &key)
    else {
        panic!("it is another publisher's");
    };
    assert!(matches!(*source, LogError::WrongOrigin { .. }));
    assert_eq!(publish_log::log_folder(dir.path()).unwrap(), Some(log));
}

#[test]
fn an_update_is_good_for_as_long_as_the_epoch_before() {
    let (temp, dir) = folder();
    let key = key();
    let lifetime =
        |catalog: &sotto_catalog::Catalog| catalog.expires.map(|expires| expires - catalog.created);
    let options = EncodeOptions { lifetime: Some(3600), ..options(&key) };
    encode_table(&CLEAR, &Memory::numbered(10, 4), &dir.lock().unwrap(), &options, &silent).unwrap();
    assert_eq!(lifetime(dir.open_latest().unwrap().catalog()), Some(3600));
    let changes = write(temp.path(), "changes.csv", "1,00000000\n");
    for (asked, want) in [(None, Some(3600)), (Some(60), Some(60)), (Some(0), None), (None, None)] {
        let options = UpdateOptions { lifetime: asked, ..UpdateOptions::new(&key) };
        update_table(&CLEAR, &dir.lock().unwrap(), &changes, &options, &silent).unwrap();
        assert_eq!(lifetime(dir.open_latest().unwrap().catalog()), want);
    }
}
