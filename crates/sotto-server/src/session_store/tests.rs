use super::*;
use crate::sessions::tests::owner;

const FILE: &str = "sessions.redb";

fn open(dir: &Path) -> (SessionStore, StoredSessions) {
    SessionStore::open(dir, FILE, [7; 32]).unwrap()
}

fn refused(dir: &Path) -> String {
    SessionStore::open(dir, FILE, [7; 32]).err().unwrap().to_string()
}

fn entry(keys: &[u8], used: u64) -> StoredSession {
    StoredSession::new(owner(), ClientId([3; 16]), keys, used)
}

/// Overwrites an entry or keys.
fn overwrite(
    store: &SessionStore,
    table: TableDefinition<'_, [u8; 16], &'static [u8]>,
    id: u8,
    bytes: &[u8],
) {
    let write = store.database.begin_write().unwrap();
    write.open_table(table).unwrap().insert([id; 16], bytes).unwrap();
    write.commit().unwrap();
}

#[test]
fn what_is_stored_is_there_again() {
    let dir = tempfile::tempdir().unwrap();
    let (store, made) = open(&dir.path().join("made"));
    assert!(made.key == [7; 32] && made.entries.is_empty() && made.time == 0);
    let keys = vec![5; 3 << 20];
    for (id, used) in [(1, 30), (2, 10), (3, 20)] {
        store.put(&SessionId([id; 16]), &entry(&keys, used), &keys).unwrap();
    }
    store.touch(&[(SessionId([2; 16]), 40), (SessionId([9; 16]), 40)]).unwrap();
    store.remove(&[SessionId([3; 16]), SessionId([8; 16])]).unwrap();
    store.count(&[(ClientId([1; 16]), 5), (ClientId([2; 16]), 6)], &[], 70).unwrap();
    store.count(&[(ClientId([2; 16]), 9)], &[ClientId([1; 16]), ClientId([4; 16])], 80).unwrap();
    drop(store);
    let (store, StoredSessions { key, entries, time }) =
        SessionStore::open(&dir.path().join("made"), FILE, [8; 32]).unwrap();
    assert_eq!((key, time), ([7; 32], 80), "the key is the first run's");
    assert_eq!(store.counts().unwrap(), [(ClientId([2; 16]), 9)]);
    let found: Vec<_> = entries.iter().map(|(id, entry)| (id.0[0], entry.used)).collect();
    assert_eq!(found, [(1, 30), (2, 40)], "the least recently used first");
    assert_eq!(store.keys(&SessionId([1; 16])).unwrap().unwrap(), keys);
    assert!(store.keys(&SessionId([3; 16])).unwrap().is_none());
}

#[test]
fn what_is_damaged_is_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let (store, ..) = open(dir.path());
    for id in 1..4 {
        store.put(&SessionId([id; 16]), &entry(b"keys", 0), b"keys").unwrap();
    }
    overwrite(&store, ENTRIES, 1, b"no entry");
    overwrite(&store, KEYS, 2, b"kexs");
    drop(store);
    let (store, stored) = open(dir.path());
    assert_eq!(stored.entries.len(), 2);
    let keys = |id| store.keys(&SessionId([id; 16])).unwrap();
    assert!(keys(1).is_none() && keys(2).is_none() && keys(3).is_some());
}

#[test]
fn a_file_of_something_else_is_named_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(FILE);
    let text = b"dear diary".repeat(1000);
    std::fs::write(&file, &text).unwrap();
    let why = refused(dir.path());
    assert!(why.contains("sessions.redb") && why.contains("delete the file"), "{why}");
    assert_eq!(std::fs::read(&file).unwrap(), text);

    std::fs::remove_file(&file).unwrap();
    let other = Database::create(&file).unwrap();
    let write = other.begin_write().unwrap();
    write.open_table(TableDefinition::<u64, u64>::new("counts")).unwrap().insert(1, 2).unwrap();
    write.commit().unwrap();
    drop(other);
    let why = refused(dir.path());
    assert!(why.contains("another program"), "{why}");
}

#[test]
fn a_damaged_file_is_an_error_or_harmless() {
    let dir = tempfile::tempdir().unwrap();
    let (store, ..) = open(dir.path());
    store.put(&SessionId([1; 16]), &entry(b"keys", 0), b"keys").unwrap();
    drop(store);
    let whole = std::fs::read(dir.path().join(FILE)).unwrap();
    // One flipped bit in each of many places, and truncated files.
    let mut damaged: Vec<Vec<u8>> = (0..whole.len())
        .step_by(whole.len() / 150)
        .map(|at| {
            let mut copy = whole.clone();
            copy[at] ^= 0x10;
            copy
        })
        .collect();
    damaged.extend([0, 1, 100, 4096, whole.len() / 2].map(|len| whole[..len].to_vec()));
    for bytes in damaged {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE), &bytes).unwrap();
        match SessionStore::open(dir.path(), FILE, [7; 32]) {
            Ok((store, ..)) => {
                let keys = store.keys(&SessionId([1; 16]));
                assert!(keys.ok().flatten().is_none_or(|keys| keys == b"keys"));
            }
            Err(error) => assert!(error.to_string().contains("--state"), "{error}"),
        }
    }
}

#[test]
fn two_servers_do_not_share_a_store() {
    let dir = tempfile::tempdir().unwrap();
    let _first = open(dir.path());
    let why = refused(dir.path());
    assert!(why.contains("another server"), "{why}");
}

#[cfg(unix)]
#[test]
fn nobody_else_can_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let made = dir.path().join("state");
    let _store = open(&made);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&made), mode(&made.join(FILE))), (0o700, 0o600));
}

#[test]
fn what_is_written_is_read_and_nothing_else() {
    let owner = SessionOwner { table: "t-1".into(), server: 1, digest: ParamsDigest([9; 32]) };
    let entry = StoredSession::new(owner, ClientId([3; 16]), b"keys", 77);
    let bytes = entry.to_bytes();
    assert!(StoredSession::parse(&bytes).is_some_and(|read| read == entry));
    assert!(entry.is_of(b"keys") && !entry.is_of(b"keyt") && !entry.is_of(b"key"));
    for len in 0..bytes.len() - 3 {
        assert!(StoredSession::parse(&bytes[..len]).is_none(), "{len} bytes were taken");
    }
    let with = |at: usize, byte| {
        let mut damaged = bytes.clone();
        damaged[at] = byte;
        StoredSession::parse(&damaged)
    };
    assert!(with(0, 3).is_none(), "another version");
    let stamped = StoredSession { client_stamp: 0x0102, ..entry };
    assert!(StoredSession::parse(&stamped.to_bytes()).is_some_and(|read| read == stamped));
    assert!(StoredSession::parse(&stamped.to_bytes()[..100]).is_none(), "cut within its stamp");
    assert!(with(bytes.len() - 1, b'/').is_none(), "no name of a table");
    assert!(with(bytes.len() - 1, 0xFF).is_none(), "no text");
}
