//! Faults that a test in the same process cannot cause: an encoder that is killed, and a disk that
//! is really full.

use crate::common::{Memory, encode, encode_with, folder, key, names, write};
use sotto_catalog::SigningKey;
use sotto_core::{Epoch, Section, ServerEntry};
use sotto_db::progress::silent;
use sotto_db::{DbError, EncodeOptions, TableDir, UpdateOptions, publish_log, update_table};
use sotto_testkit::CLEAR;
use sotto_testkit::rng::seeded;
use sotto_tlog::appender::Appender;
use sotto_tlog::catalogs::EntryKind;
use sotto_tlog::publisher_log::PublisherLog;
use sotto_tlog::{LogEntry, LogError};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const CHILD_DIR: &str = "SOTTO_DB_TEST_CHILD_DIR";

/// Not a test of its own: [`a_killed_encoder_leaves_no_image`] runs it as another process. It
/// writes some of an image, reports that, and waits to be killed.
#[test]
fn child() {
    let Some(dir) = std::env::var_os(CHILD_DIR) else { return };
    let server = ServerEntry {
        whitening: None,
        parts: None,
        encode: |_, _, out| {
            out.reserve(Section::Resident, 1 << 20)?;
            out.write_at(Section::Resident, 0, &[7; 1 << 16])?;
            println!("writing");
            loop {
                std::thread::park();
            }
        },
        open: CLEAR.server.open,
        records: CLEAR.server.records,
        update_image: None,
    };
    let entry = sotto_core::SchemeEntry { patch: None, server, ..CLEAR };
    let dir = TableDir::open(std::path::Path::new(&dir)).unwrap();
    encode(&dir, &entry, &Memory::numbered(10, 4)).unwrap();
}

#[test]
fn a_killed_encoder_leaves_no_image() {
    let (_temp, dir) = folder();
    encode(&dir, &CLEAR, &Memory::numbered(3, 3)).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "faults::child", "--nocapture"])
        .env(CHILD_DIR, dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("writing")), "the child ended before it wrote anything");
    assert!(matches!(dir.lock(), Err(DbError::Locked { .. })), "while it lives, nobody else writes");
    child.kill().unwrap();
    child.wait().unwrap();

    assert_eq!(dir.latest().unwrap(), Some(Epoch(1)), "its image is not there, the one before is");
    dir.open_latest().unwrap().verify(&sotto_db::progress::silent).unwrap();
    assert_eq!(names(dir.path()).len(), 3, "what is left is a temporary file");
    assert_eq!(encode(&dir, &CLEAR, &Memory::numbered(3, 3)).unwrap().epoch, Epoch(2));
    assert_eq!(names(dir.path()), ["epoch-00000001.sotto", "epoch-00000002.sotto", "write.lock"]);
}

/// A file system of 1 MiB, where this process may mount one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(dir.path()).stderr(Stdio::null());
        mount.status().is_ok_and(|status| status.success()).then(|| SmallDisk(dir))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_disk_that_is_really_full() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("skipped: this process may not mount a file system");
        return;
    };
    let dir = TableDir::create(&disk.0.path().join("table")).unwrap();
    encode(&dir, &CLEAR, &Memory::numbered(100, 32)).unwrap();
    let before = names(dir.path());
    let error = encode(&dir, &CLEAR, &Memory::numbered(100_000, 32)).unwrap_err();
    assert!(matches!(error, DbError::DiskFull { .. }), "{error}");
    assert_eq!(names(dir.path()), before);
    assert_eq!(encode(&dir, &CLEAR, &Memory::numbered(100, 32)).unwrap().epoch, Epoch(2));
}

#[test]
fn a_full_disk_leaves_no_half_key() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("skipped: this process may not mount a file system");
        return;
    };
    let dir = TableDir::open(disk.0.path()).unwrap();
    let filler = disk.0.path().join("filler");
    std::fs::write(&filler, vec![1; 2 << 20]).unwrap_err();
    let mut rng = sotto_testkit::rng::seeded("keys");
    assert!(matches!(dir.signing_key(None, &mut rng), Err(DbError::DiskFull { .. })));
    assert_eq!(names(dir.path()), ["filler"]);
    std::fs::remove_file(filler).unwrap();
    dir.signing_key(None, &mut rng).unwrap();
}

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
    let change = |options: &mut EncodeOptions<'_>| options.lifetime = Some(3600);
    encode_with(&dir, &CLEAR, &Memory::numbered(10, 4), change).unwrap();
    assert_eq!(lifetime(dir.open_latest().unwrap().catalog()), Some(3600));
    let changes = write(temp.path(), "changes.csv", "1,00000000\n");
    for (asked, want) in [(None, Some(3600)), (Some(60), Some(60)), (Some(0), None), (None, None)] {
        let options = UpdateOptions { lifetime: asked, ..UpdateOptions::new(&key) };
        update_table(&CLEAR, &dir.lock().unwrap(), Some(&changes), &options, &silent).unwrap();
        assert_eq!(lifetime(dir.open_latest().unwrap().catalog()), want);
    }
}
