//! Faults that a test in the same process cannot cause: an encoder that is killed, and a disk that
//! is really full.

use crate::common::{Memory, encode, folder, names};
use sotto_core::{Epoch, Section, ServerEntry};
use sotto_db::{DbError, TableDir};
use sotto_testkit::CLEAR;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const CHILD_DIR: &str = "SOTTO_DB_TEST_CHILD_DIR";

/// Not a test of its own: [`a_killed_encoder_leaves_no_image`] runs it as another process. It
/// writes some of an image, reports that, and waits to be killed.
#[test]
fn child() {
    let Some(dir) = std::env::var_os(CHILD_DIR) else { return };
    let server = ServerEntry {
        mask: None,
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
        revise: None,
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
