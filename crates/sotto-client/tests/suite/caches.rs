//! Files that are kept between runs: they save bytes, and are verified before each use.
use crate::common::{CHUNK, Server, server, server_of, value};
use sotto_catalog::SigningKey;
use sotto_client::cache::keyring::{KeyringEntry, KeyringSlot};
use sotto_client::cache::{Cache, CacheError, Keyring, KnownTable, lock::Lock};
use sotto_client::error::Diagnose;
use sotto_client::table::{TableBuilder, TableEvent};
use sotto_client::transport::{Response, TransportError};
use sotto_client::{ClientError, Fault, Table, Trust};
use sotto_core::{Artifact, Epoch};
use sotto_testkit::rng;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// A hint of 320,000 bytes: four chunks and a rest.
fn large() -> Server {
    server(40_000, 32)
}

fn dir() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn open(server: &Server, dir: &Path) -> Result<Table, ClientError> {
    server.table().cache_dir(dir).open()
}

fn whole(server: &Server, dir: &Path) -> PathBuf {
    dir.join("artifacts").join(server.with(|world| world.hint_digest()))
}

#[test]
fn a_second_opening_downloads_the_catalog_only() {
    let (server, dir) = (large(), dir());
    let hint = server.with(|world| world.hint());
    let first = open(&server, dir.path()).unwrap().stats();
    assert_eq!((first.artifacts.down, first.cached_bytes), (hint.len() as u64, 0));
    assert_eq!(fs::read(whole(&server, dir.path())).unwrap(), hint);
    let mut table = open(&server, dir.path()).unwrap();
    assert_eq!((table.stats().artifacts.down, table.stats().cached_bytes), (0, hint.len() as u64));
    assert_eq!(table.get(39_999).unwrap(), value(39_999, 32));
    let size = Cache::open(dir.path()).unwrap().size().unwrap();
    assert_eq!((size.artifacts, size.artifact_bytes, size.partial), (1, hint.len() as u64, 0));
}

#[test]
fn a_cut_download_goes_on_from_its_last_whole_chunk() {
    let server = large();
    let hint = server.with(|world| world.hint());
    let edges = (0..5).flat_map(|chunk| [chunk * CHUNK, chunk * CHUNK + 1, (chunk + 1) * CHUNK - 1]);
    for cut in edges.chain([hint.len() - 1]).filter(|&cut| cut < hint.len()) {
        let dir = dir();
        let whole = whole(&server, dir.path());
        fs::create_dir_all(whole.parent().unwrap()).unwrap();
        fs::write(whole.with_extension("part"), &hint[..cut]).unwrap();
        let mut table = open(&server, dir.path()).unwrap();
        let kept = (cut / CHUNK * CHUNK) as u64;
        assert_eq!(table.stats().cached_bytes, kept, "cut at {cut}");
        assert_eq!(table.stats().artifacts.down, hint.len() as u64 - kept, "cut at {cut}");
        assert_eq!(fs::read(&whole).unwrap(), hint);
        assert_eq!(table.get(7).unwrap(), value(7, 32));
    }
}

#[test]
fn a_broken_connection_loses_one_request_at_most() {
    // A hint of more than the 4 MiB that are fetched at once.
    let (server, dir) = (server(600_000, 32), dir());
    let mut fetches = 0;
    server.tamper(move |request, honest| {
        fetches += usize::from(request.range.is_some());
        let cut = request.range.is_some() && fetches == 2;
        if cut { Err(TransportError::Lost("cut".to_owned())) } else { Ok(honest) }
    });
    assert_eq!(open(&server, dir.path()).map(|_| ()).unwrap_err().code(), "connection-lost");
    let mut table = open(&server, dir.path()).unwrap();
    assert_eq!(table.stats().cached_bytes, 4 << 20);
    assert_eq!(table.stats().artifacts.down, 4_800_000 - (4 << 20));
    assert_eq!(table.get(599_999).unwrap(), value(599_999, 32));
}

#[test]
fn damaged_bytes_are_found_and_fetched_again() {
    let server = large();
    let hint = server.with(|world| world.hint());
    for at in [0, CHUNK - 1, 2 * CHUNK, hint.len() - 1] {
        let dir = dir();
        open(&server, dir.path()).unwrap();
        let whole = whole(&server, dir.path());
        let mut bad = hint.clone();
        bad[at] ^= 0x40;
        fs::write(&whole, bad).unwrap();
        let (sender, received) = std::sync::mpsc::channel();
        let builder = server.table().cache_dir(dir.path()).events(move |event| sender.send(event).unwrap());
        let mut table = builder.open().unwrap();
        assert!(
            matches!(received.try_iter().collect::<Vec<_>>()[..], [TableEvent::Repaired(_)]),
            "said, and once"
        );
        assert_eq!(table.stats().cached_bytes, (at / CHUNK * CHUNK) as u64, "damage at {at}");
        assert_eq!(fs::read(&whole).unwrap(), hint, "mended on disk too");
        assert_eq!(table.get(7).unwrap(), value(7, 32));
    }
}

#[test]
fn a_delta_makes_the_new_hint_of_the_old() {
    let (server, dir) = (large(), dir());
    open(&server, dir.path()).unwrap();
    let old = whole(&server, dir.path());
    server.with(|world| world.update(&[3, 39_999]));
    let mut table = open(&server, dir.path()).unwrap();
    let stats = table.stats();
    assert_eq!(stats.artifacts.down, 2 * 16, "two entries of a delta");
    assert_eq!(stats.patched_bytes, 320_000);
    assert_eq!(fs::read(whole(&server, dir.path())).unwrap(), server.with(|world| world.hint()));
    assert!(!old.exists(), "no table names the old hint");
    assert_eq!(table.get(3).unwrap(), [0xEE; 32]);
    assert_eq!(table.get(4).unwrap(), value(4, 32));

    // The same while the table is open.
    server.with(|world| world.update(&[4]));
    assert_eq!(table.get(4).unwrap(), [0xEE; 32]);
    assert_eq!(table.stats().artifacts.down, 3 * 16);
}

#[test]
fn a_delta_that_leads_elsewhere_costs_a_download_and_nothing_else() {
    // Damaged, truncated, missing; and an artifact that matches the catalog but is not valid.
    let spoil: [fn(&mut crate::common::World); 4] = [
        |world| world.replace(Artifact::HintDelta, vec![0; 32]),
        |world| world.replace(Artifact::HintDelta, vec![0; 31]),
        |world| {
            let delta = world.catalog.artifacts[1].digest.to_string();
            world.artifacts.remove(&delta);
        },
        |world| {
            let mut wrong = [0; 32];
            wrong[0] = 3;
            let from = world.catalog.artifacts[1].from_epoch;
            let entry = sotto_catalog::ArtifactEntry::of(Artifact::HintDelta, &wrong, from);
            world.artifacts.insert(entry.digest.to_string(), wrong.to_vec());
            world.catalog.artifacts[1] = entry;
        },
    ];
    for spoil in spoil {
        let (server, dir) = (large(), dir());
        open(&server, dir.path()).unwrap();
        server.with(|world| world.update(&[3, 39_999]));
        server.with(spoil);
        let mut table = open(&server, dir.path()).unwrap();
        assert!(table.stats().artifacts.down >= 320_000);
        assert_eq!(fs::read(whole(&server, dir.path())).unwrap(), server.with(|world| world.hint()));
        assert_eq!(table.get(3).unwrap(), [0xEE; 32]);
    }
}

#[test]
fn a_delta_over_a_damaged_hint_leads_to_a_download() {
    let (server, dir) = (large(), dir());
    open(&server, dir.path()).unwrap();
    let old = whole(&server, dir.path());
    let mut bad = fs::read(&old).unwrap();
    bad[2 * CHUNK] ^= 1;
    fs::write(&old, bad).unwrap();
    server.with(|world| world.update(&[3]));
    let mut table = open(&server, dir.path()).unwrap();
    assert_eq!(table.stats().patched_bytes, 2 * CHUNK as u64, "what is right is used");
    assert_eq!(fs::read(whole(&server, dir.path())).unwrap(), server.with(|world| world.hint()));
    assert_eq!(table.get(3).unwrap(), [0xEE; 32]);
}

#[test]
fn the_first_key_seen_is_the_only_one_afterwards() {
    let (server, dir) = (server(10, 2), dir());
    assert_eq!(open(&server, dir.path()).unwrap().trust(), Trust::FirstUse);
    assert_eq!(open(&server, dir.path()).unwrap().trust(), Trust::Remembered);
    let other = sotto_catalog::SigningKey::generate(&mut sotto_testkit::rng::seeded("someone else"));
    let pin = other.public();
    server.with(|world| world.key = other);
    assert_eq!(open(&server, dir.path()).map(|_| ()).unwrap_err().code(), "wrong-key");
    // A pin does not help either, until the table is removed from the cache.
    let cached = || server.table().cache_dir(dir.path()).pin(pin);
    let error = cached().open().map(|_| ()).unwrap_err();
    assert!(error.code() == "other-signer" && error.fix().contains("forget"), "{error:?}");
    assert!(cached().forget().unwrap());
    let pinned = cached().open().unwrap();
    assert_eq!(pinned.trust(), Trust::Pinned);
    assert_eq!(open(&server, dir.path()).unwrap().trust(), Trust::Remembered);
}

#[test]
fn the_newest_epoch_seen_is_remembered_whoever_comes_last() {
    let (old, new, dir) = (server(10, 2), server(10, 2), dir());
    new.with(|world| world.update(&[1]));
    let (cache, other) = (dir.path().to_owned(), new.clone());
    old.tamper(move |request, response| {
        // While one fetches its hint, another opens the next epoch.
        if request.path.starts_with("/v1/artifacts/") {
            open(&other, &cache).unwrap();
        }
        Ok(response)
    });
    assert_eq!(open(&old, dir.path()).unwrap().catalog().epoch, Epoch(1));
    old.with(|world| world.tamper = None);
    assert_eq!(open(&old, dir.path()).map(|_| ()).unwrap_err().code(), "rollback");
    new.received();
    open(&new, dir.path()).unwrap();
    assert!(new.received().iter().all(|request| request.range.is_none()), "its hint is still there");
}

#[test]
fn an_older_epoch_than_one_remembered_is_refused() {
    let (server, dir) = (server(10, 2), dir());
    let old = server.with(|world| world.catalog.clone());
    server.with(|world| world.update(&[1]));
    open(&server, dir.path()).unwrap();
    server.with(|world| world.catalog = old);
    assert_eq!(open(&server, dir.path()).map(|_| ()).unwrap_err().code(), "rollback");
    let pin = server.with(|world| world.pin());
    let pinned = server.table().cache_dir(dir.path()).pin(pin).open().map(|_| ());
    assert_eq!(pinned.unwrap_err().code(), "rollback", "the same key, so the same memory");
}

#[test]
fn damaged_memory_does_not_pass_for_a_first_visit() {
    let (server, dir) = (server(10, 2), dir());
    open(&server, dir.path()).unwrap();
    let mut entries = fs::read_dir(dir.path().join("tables")).unwrap().map(|entry| entry.unwrap().path());
    let memory = entries.find(|path| path.extension().is_some_and(|e| e == "json")).unwrap();
    // A flipped bit is reported as damage of this file, and never as a fault of the publisher.
    let (whole, cache) = (fs::read(&memory).unwrap(), Cache::open(dir.path()).unwrap());
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&memory, &bytes).unwrap();
        let read = cache.known("memory:", crate::common::NAME);
        assert!(matches!(read, Err(CacheError::Memory { .. })), "bit {bit}: {read:?}");
    }
    for bad in [&b"{"[..], &whole[..whole.len() - 64]] {
        fs::write(&memory, bad).unwrap();
        let error = open(&server, dir.path()).map(drop).unwrap_err();
        assert!(error.code() == "cache-memory" && error.fix().contains("sotto forget"), "{error:?}");
    }
    fs::write(&memory, &whole).unwrap();
    open(&server, dir.path()).unwrap();
}

#[test]
fn a_key_remembered_meanwhile_is_not_forgotten() {
    let (server, dir) = (large(), dir());
    let other = SigningKey::generate(&mut rng::seeded("seen by another process")).public();
    let cache = Cache::open(dir.path()).unwrap();
    let seen = KnownTable {
        origin: "memory:".to_owned(),
        table: crate::common::NAME.to_owned(),
        public_key: other.to_string(),
        epoch: Epoch(1),
        artifacts: Default::default(),
        catalog: None,
        retired: Vec::new(),
    };
    // Another process opens the table for the first time while this one downloads, and is shown another key.
    server.tamper({
        let (cache, seen) = (cache.clone(), seen.clone());
        move |request, honest| {
            if request.range.is_some() {
                cache.remember(&seen).unwrap();
            }
            Ok(honest)
        }
    });
    assert_eq!(open(&server, dir.path()).map(|_| ()).unwrap_err().code(), "wrong-key");
    assert_eq!(cache.known("memory:", crate::common::NAME).unwrap(), Some(seen.clone()));
    // A pin does not override what was seen; only removing the table from the cache does.
    let pin = server.with(|world| world.pin());
    let pinned = || server.table().pin(pin).cache_dir(dir.path());
    assert_eq!(pinned().open().map(|_| ()).unwrap_err().code(), "other-signer");
    assert!(pinned().forget().unwrap() && !pinned().forget().unwrap());
    server.with(|world| world.tamper = None);
    pinned().open().unwrap();
    assert_eq!(cache.known("memory:", crate::common::NAME).unwrap().unwrap().public_key, pin.to_string());
}

#[test]
fn several_at_once_download_once() {
    // The lock belongs to an open file, so threads that open it each stand for processes.
    let (server, dir) = (large(), dir());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut table = open(&server, dir.path()).unwrap();
                assert_eq!(table.get(7).unwrap(), value(7, 32));
            });
        }
    });
    let ranges = server.received().into_iter().filter(|request| request.range.is_some());
    assert_eq!(ranges.count(), 1);
}

#[test]
fn whoever_keeps_the_lock_does_not_keep_others_from_working() {
    let (server, dir) = (large(), dir());
    Cache::open(dir.path()).unwrap();
    let whole = whole(&server, dir.path());
    let _lock = Lock::take(&whole.with_extension("lock"), Duration::ZERO).unwrap().unwrap();
    let builder = server.table().cache_dir(dir.path()).max_wait(Duration::from_millis(50));
    assert_eq!(builder.open().unwrap().get(7).unwrap(), value(7, 32));
    assert!(!whole.exists() && !whole.with_extension("part").exists());
}

#[test]
fn two_tables_share_a_hint_and_neither_drops_the_others() {
    let (server, dir) = (large(), dir());
    open(&server, dir.path()).unwrap();
    let old = whole(&server, dir.path());
    // The same table at another address.
    let url = server.http();
    let elsewhere = || {
        Table::connect(&url, crate::common::NAME).resolve(crate::common::resolve).cache_dir(dir.path()).open()
    };
    assert_eq!(elsewhere().unwrap().stats().artifacts.down, 0);
    server.with(|world| world.update(&[3]));
    open(&server, dir.path()).unwrap();
    assert!(old.exists(), "the other table's memory still names it");
    elsewhere().unwrap();
    assert!(!old.exists());
}

#[cfg(unix)]
#[test]
fn what_is_kept_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let (server, dir) = (server(10, 2), dir());
    open(&server, &dir.path().join("new")).unwrap();
    for folder in ["new", "new/artifacts", "new/tables", "new/keys"] {
        let mode = fs::metadata(dir.path().join(folder)).unwrap().permissions().mode();
        assert_eq!(mode & 0o77, 0, "{folder}");
    }
}

/// Simulates a full disk by a child process whose files may have `blocks` blocks at most.
#[cfg(unix)]
#[test]
fn a_full_disk_is_named_and_keeps_what_is_there() {
    const CHILD: &str = "SOTTO_TEST_FULL_DISK";
    let server = large();
    if let Ok(dir) = std::env::var(CHILD) {
        let error = open(&server, Path::new(&dir)).map(|_| ()).unwrap_err();
        assert_eq!(error.code(), "cache-full", "{error}");
        return;
    }
    let dir = dir();
    let hint = server.with(|world| world.hint());
    let part = whole(&server, dir.path()).with_extension("part");
    fs::create_dir_all(part.parent().unwrap()).unwrap();
    fs::write(&part, &hint[..CHUNK]).unwrap();
    let child = std::process::Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 256; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "caches::a_full_disk_is_named_and_keeps_what_is_there"])
        .env(CHILD, dir.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
    assert_eq!(fs::read(&part).unwrap(), &hint[..CHUNK], "what was there is there, and no more");
    let table = open(&server, dir.path()).unwrap();
    assert_eq!(table.stats().cached_bytes, CHUNK as u64);
}

#[test]
fn progress_goes_up_and_ends() {
    let (server, dir) = (large(), dir());
    let (sender, received) = std::sync::mpsc::channel();
    let builder = server.table().cache_dir(dir.path());
    builder.progress(move |progress| sender.send(progress).unwrap()).open().unwrap();
    let steps: Vec<_> = received.try_iter().map(|p| (p.stage, p.done, p.total)).collect();
    use sotto_client::table::Stage;
    let hint = Stage::Artifact(Artifact::Hint);
    let all = 320_000;
    let expected = [(Stage::Catalog, 0, 0), (hint, 0, all), (hint, all, all), (Stage::Ready, 0, 0)];
    assert_eq!(steps, expected);
}

#[test]
fn a_response_that_is_refused_is_not_kept() {
    let (server, dir) = (large(), dir());
    server.tamper(|request, honest| {
        Ok(if request.range.is_some() { Response::new(200, vec![0; honest.body.len()]) } else { honest })
    });
    assert_eq!(open(&server, dir.path()).map(|_| ()).unwrap_err().code(), "peer-misbehaved");
    assert_eq!(Cache::open(dir.path()).unwrap().size().unwrap(), Default::default());
}

/// Opens a table whose scheme has keys; returns the number of uploads.
fn uploads(server: &Server, builder: impl FnOnce(TableBuilder) -> TableBuilder) -> u64 {
    let mut table = builder(server.table()).open().unwrap();
    assert_eq!(table.get(7).unwrap(), value(7, 8));
    table.stats().keys.requests
}

#[test]
fn keys_are_registered_once_and_used_by_every_opening() {
    let (server, dir) = (server_of("clear-stream/1", 30, 8), dir());
    let kept = |table: TableBuilder| table.cache_dir(dir.path());
    assert_eq!(uploads(&server, kept), 1);
    assert_eq!(uploads(&server, kept), 0);
    // The server drops the keys and receives them again; then all processes know the new session id.
    server.with(|world| world.drop_sessions());
    server.received();
    assert_eq!(uploads(&server, kept), 1);
    let asked: Vec<_> =
        server.received().into_iter().filter(|request| request.path.ends_with("/ask")).collect();
    let query = |i: usize| asked[i].body[sotto_wire::query::HEAD_BYTES..].to_vec();
    assert!(asked.len() == 2 && query(0) == query(1), "one query, whatever the keys are called");
    assert_eq!(uploads(&server, kept), 0);
    // The next epoch accepts the same keys.
    server.with(|world| world.update(&[3]));
    assert_eq!(uploads(&server, kept), 0);
    // Other tables of the same name, with other parameters, do not.
    let other = server_of("clear-stream/1", 31, 8);
    (0..2).for_each(|_| other.with(|world| world.update(&[3])));
    let pin = other.with(|world| world.pin());
    assert_eq!(uploads(&other, |table| kept(table).pin(pin)), 1);
}

#[test]
fn keys_are_not_used_for_longer_than_said_nor_kept_if_nobody_wants_that() {
    let (server, dir) = (server_of("clear-stream/1", 30, 8), dir());
    let aged = |seconds| {
        uploads(&server, |table| table.cache_dir(dir.path()).max_keys_age(Duration::from_secs(seconds)))
    };
    assert_eq!(aged(0), 1);
    assert_eq!(aged(0), 1, "fresh keys are kept by nobody");
    assert_eq!(aged(60), 1);
    assert_eq!(aged(60), 0);
    assert_eq!(aged(0), 1);
    assert_eq!(aged(60), 0, "and leave those that are kept as they were");
    // Two hours later.
    let ring = Keyring::open(dir.path(), None).unwrap();
    let hook = KeyringSlot::of("memory:", crate::common::NAME);
    let entry = ring.read(&hook).unwrap().unwrap();
    for made in [entry.made - 7200, entry.made + 7200] {
        let other = KeyringEntry { made, ..entry.clone() };
        ring.write(&hook, &other, &mut rng::seeded("keyring")).unwrap();
        assert_eq!(aged(3600), 1, "too old, or of a clock that went back");
        assert_ne!(ring.read(&hook).unwrap().unwrap().keys, entry.keys);
    }
}

/// Damage, another key file or none, and files in the wrong place: keys are registered again, and
/// nothing else happens.
#[test]
fn keys_that_cannot_be_read_are_registered_again() {
    let server = server_of("clear-stream/1", 30, 8);
    let (dir, elsewhere) = (dir(), dir());
    let file = elsewhere.path().join("safe").join("key");
    let open = || uploads(&server, |table| table.cache_dir(dir.path()).key_file(&file));
    assert_eq!((open(), open()), (1, 0));
    let keys = || {
        let entries = fs::read_dir(dir.path().join("keys")).unwrap().map(|entry| entry.unwrap().path());
        entries.into_iter().find(|path| path.extension().is_some_and(|end| end == "keys")).unwrap()
    };
    let (path, whole) = (keys(), fs::read(keys()).unwrap());
    for at in (0..whole.len()).step_by(13) {
        let mut bad = whole.clone();
        bad[at] ^= 0x20;
        fs::write(&path, &bad).unwrap();
        assert_eq!(open(), 1, "byte {at}");
        fs::write(&path, &whole[..at]).unwrap();
        assert_eq!(open(), 1, "cut at {at}");
        fs::write(&path, &whole).unwrap();
        assert_eq!(open(), 0, "the old ones are as good as ever");
    }
    let before = fs::read(&file).unwrap();
    assert!(!whole.windows(8).any(|part| before.windows(8).any(|key| key == part)));
    fs::write(&file, &before[..31]).unwrap();
    assert_eq!((open(), open()), (1, 0));
    assert_ne!(fs::read(&file).unwrap(), before);
    fs::remove_file(&file).unwrap();
    assert_eq!((open(), open()), (1, 0));
    // A copy of the cache without the key file contains no usable keys.
    assert!(
        Keyring::open(dir.path(), None)
            .unwrap()
            .read(&KeyringSlot::of("memory:", crate::common::NAME))
            .unwrap()
            .is_none()
    );
    let ring = Keyring::open(dir.path(), Some(&file)).unwrap();
    assert!(ring.read(&KeyringSlot::of("memory:", crate::common::NAME)).unwrap().is_some());
}

#[cfg(unix)]
#[test]
fn a_key_file_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let (server, dir) = (server_of("clear-stream/1", 30, 8), dir());
    let open = || uploads(&server, |table| table.cache_dir(dir.path()));
    assert_eq!((open(), open()), (1, 0));
    let file = dir.path().join("keys").join("key");
    let mode = || fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    let before = fs::read(&file).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(open(), 1, "whoever could read it may have the keys");
    assert_eq!(mode(), 0o600);
    assert_ne!(fs::read(&file).unwrap(), before);
}

/// A folder that others can write in is refused: they could decide what is believed, and which
/// hints and keys are used.
#[cfg(unix)]
#[test]
fn a_folder_that_others_can_write_in_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let (server, dir) = (server(10, 2), dir());
    let mode = |mode| fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).unwrap();
    for open in [0o770, 0o707, 0o1777] {
        mode(open);
        let error = server.table().cache_dir(dir.path()).open().map(drop).unwrap_err();
        assert_eq!((error.code(), error.fault()), ("not-private", Fault::Machine));
        assert!(
            error.to_string().contains(&format!("{open:04o}")) && error.fix().contains("chmod go-w"),
            "{error:?}"
        );
        let states = server_of("clear-state/1", 10, 2);
        let (good, bad) = (tempfile::tempdir().unwrap(), dir.path());
        for (state, counters) in [(bad, good.path()), (good.path(), bad)] {
            let opened = states.table().state_dir(state).rollback_dir(counters).open();
            assert_eq!(opened.map(drop).unwrap_err().code(), "not-private");
        }
        assert_eq!(Keyring::open(dir.path(), None).map(drop).unwrap_err().diagnosis().code, "not-private");
    }
    mode(0o755);
    server.table().cache_dir(dir.path()).open().unwrap();
}

#[test]
fn several_at_once_register_once() {
    let (server, dir) = (server_of("clear-stream/1", 30, 8), dir());
    let all: u64 = std::thread::scope(|scope| {
        let open = || uploads(&server, |table| table.cache_dir(dir.path()));
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(all, 1);
}

/// A damaged cache entry of a table is discarded only if the caller pins a key; entries of other
/// tables stay.
#[test]
fn damaged_memory_gives_way_to_a_pin() {
    let (server, dir) = (server(10, 2), dir());
    open(&server, dir.path()).unwrap();
    let memory = || {
        let mut entries = fs::read_dir(dir.path().join("tables")).unwrap().map(|entry| entry.unwrap().path());
        entries.find(|path| path.extension().is_some_and(|e| e == "json")).unwrap()
    };
    let whole = fs::read_to_string(memory()).unwrap();
    for bad in [String::new(), whole.replace("sotto-pk:", "sotto-pk:x"), whole[..whole.len() / 2].to_owned()]
    {
        fs::write(memory(), &bad).unwrap();
        let error = open(&server, dir.path()).map(drop).unwrap_err();
        assert!(error.code() == "cache-memory" && error.fix().contains("pin"), "{error:?}");
        let (sender, received) = std::sync::mpsc::channel();
        let pin = server.with(|world| world.pin());
        let pinned =
            server.table().cache_dir(dir.path()).pin(pin).events(move |event| sender.send(event).unwrap());
        assert_eq!(pinned.open().unwrap().get(7).unwrap(), value(7, 2));
        assert!(matches!(received.try_iter().collect::<Vec<_>>()[..], [TableEvent::Repaired(_)]));
        assert_eq!(fs::read_to_string(memory()).unwrap(), whole);
    }
    fs::write(dir.path().join("tables").join("another.json"), "{").unwrap();
    server.with(|world| world.update(&[3]));
    assert_eq!(open(&server, dir.path()).unwrap().get(3).unwrap(), [0xEE; 2]);
}
