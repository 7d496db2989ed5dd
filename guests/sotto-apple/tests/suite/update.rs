//! Updates: the next epoch contains the same rows as if they were encoded, possibly in other
//! places.

use crate::common::{client, how, key, look_up, rows, serve, value, write};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_apple::image::{
    ImageError, PreviousEpoch, UseCaseKind, UseCaseOptions, UseCaseSummary, UseCaseUpdate, encode_index, open,
};
use sotto_apple::sets::WeakParams;
use sotto_bfv::mulpir::ValueTable;
use sotto_db::image::header::FilePart;
use sotto_db::progress::silent;
use sotto_db::table::TableSource;
use sotto_db::update::ChangeCounts;
use sotto_db::{DbError, TableDir, WriteLock};
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::Path;

fn lock(dir: &Path) -> WriteLock {
    TableDir::open(dir).unwrap().lock().unwrap()
}

fn change<'a>(
    lock: &'a WriteLock,
    changes: &[(String, Option<Vec<u8>>)],
) -> Result<UseCaseUpdate<'a>, ImageError> {
    let changes = changes.iter().map(|(key, value)| (key.as_bytes().to_vec(), value.clone()));
    PreviousEpoch::open(lock, WeakParams::Reject)?.change_keys(changes.collect())
}

fn look(dir: &Path, keys: &[String], seed: u8) -> Vec<Option<Vec<u8>>> {
    let mut rng = ChaCha20Rng::from_seed([seed; 32]);
    let served = serve(open(dir, WeakParams::Reject).unwrap());
    let client = client(&served, &mut rng);
    look_up(&served, &client, keys, &mut rng).unwrap()
}

/// Checks that every table of a file equals its entries, and that its sections have their digests.
fn check(written: &UseCaseSummary) {
    let opened = open(&written.path, WeakParams::Reject).unwrap();
    let file = opened.image.file();
    file.verify(&silent).unwrap();
    let mut entries = file.bytes_of(FilePart::Entries).unwrap();
    for shard in opened.use_case.shards() {
        let shape = shard.shape();
        for table in shard.tables() {
            let (mine, rest) = entries.split_at(shape.bytes_of_entries() as usize);
            let entry = |i: usize, out: &mut [u8]| {
                out.copy_from_slice(&mine[i * shape.entry_bytes()..][..shape.entry_bytes()]);
            };
            let made = ValueTable::encode(crate::common::kit(), shape, entry).unwrap();
            assert!(made.stored() == table.stored());
            entries = rest;
        }
    }
    assert!(entries.is_empty());
}

#[test]
fn keys_change_go_and_come() {
    for shards in [1, 3] {
        let dir = tempfile::tempdir().unwrap();
        let first = write(dir.path(), rows(900), &UseCaseOptions { headroom: 60, ..how(shards) }).unwrap();
        let before = open(&first.path, WeakParams::Reject).unwrap();
        let old = std::fs::read(&first.path).unwrap();
        let new = b"another value".to_vec();
        let lock = lock(dir.path());
        let update = change(
            &lock,
            &[
                (key(3), Some(new.clone())),
                (key(4), Some(value(4))),
                (key(5), None),
                (key(5000), None),
                (key(6000), Some(new.clone())),
                (key(6001), Some(vec![])),
            ],
        )
        .unwrap();
        assert_eq!(update.tally(), ChangeCounts { set: 2, added: 2, removed: 1, absent: 1 });
        assert!(!update.is_anew() && !update.is_nothing());
        let (second, made) = update.apply(&silent).unwrap();
        assert!((1..=8).contains(&made), "{made}");
        check(&second);
        // The old file is unchanged, and so is the configuration that clients know.
        assert!(std::fs::read(&first.path).unwrap() == old);
        assert_eq!((second.description.epoch, second.description.rows()), (2, 901));
        let after = open(dir.path(), WeakParams::Reject).unwrap();
        assert_ne!(after.digest, before.digest);
        assert_eq!(after.use_case.config_id(), before.use_case.config_id());
        let requested = [3, 4, 5, 6, 899, 6000, 6001].map(key);
        let expected = [
            Some(new.clone()),
            Some(value(4)),
            None,
            Some(value(6)),
            Some(value(899)),
            Some(new),
            Some(vec![]),
        ];
        assert_eq!(look(dir.path(), &requested, shards as u8), expected);
    }
}

/// Rows that find no place in the old shape: all are placed again, and none is lost.
#[test]
fn a_table_that_becomes_too_small() {
    let dir = tempfile::tempdir().unwrap();
    let first = write(dir.path(), rows(400), &how(1)).unwrap();
    let lock = lock(dir.path());
    let more: Vec<_> = (400..800).map(|i| (key(i), Some(value(i)))).chain([(key(7), None)]).collect();
    let update = change(&lock, &more).unwrap();
    assert!(update.is_anew());
    assert_eq!(update.tally(), ChangeCounts { added: 400, removed: 1, ..ChangeCounts::default() });
    let (second, _) = update.apply(&silent).unwrap();
    check(&second);
    assert_eq!((second.description.rows(), second.description.epoch), (799, 2));
    assert!(second.description.shards[0].entries > first.description.shards[0].entries);
    let requested = [0, 7, 399, 400, 799].map(key);
    let expected = [Some(value(0)), None, Some(value(399)), Some(value(400)), Some(value(799))];
    assert_eq!(look(dir.path(), &requested, 9), expected);
    // There is space for as many rows again.
    let more: Vec<_> = (800..1100).map(|i| (key(i), Some(value(i)))).collect();
    assert!(!change(&lock, &more).unwrap().is_anew());
}

#[test]
fn buckets_whose_number_was_asked_for_do_not_become_more() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), rows(100), &UseCaseOptions { buckets: Some(8), ..how(1) }).unwrap();
    let lock = lock(dir.path());
    let more: Vec<_> = (100..800).map(|i| (key(i), Some(value(i)))).collect();
    let refused = change(&lock, &more).unwrap().apply(&silent).unwrap_err();
    assert!(refused.to_string().contains("do not fit 8 buckets"), "{refused}");
    assert_eq!(lock.dir().epochs().unwrap().len(), 1);
}

#[test]
fn what_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), rows(50), &how(1)).unwrap();
    let lock = lock(dir.path());
    assert!(change(&lock, &[(key(1), Some(value(1)))]).unwrap().is_nothing());
    let long = change(&lock, &[(key(1), Some(vec![0; 502]))]).err().unwrap();
    assert!(long.to_string().contains("a bucket has room for 501"), "{long}");
    let rows =
        PreviousEpoch::open(&lock, WeakParams::Reject).unwrap().change_rows(BTreeMap::new()).err().unwrap();
    assert!(rows.to_string().contains("keyword table"));
    // An epoch that is damaged where nothing changes does not become undamaged in the next one.
    let update = change(&lock, &[(key(1), Some(vec![1]))]).unwrap();
    let file =
        std::fs::OpenOptions::new().write(true).open(lock.dir().image_path(sotto_core::Epoch(1))).unwrap();
    file.write_all_at(&[0xAA; 8], 4096 + 40_000).unwrap();
    let damaged = update.apply(&silent).unwrap_err();
    assert!(matches!(damaged, ImageError::Db(DbError::Image { .. })), "{damaged}");
    assert_eq!(lock.dir().epochs().unwrap().len(), 1);
}

#[test]
fn rows_by_number_change() {
    for (count, bytes) in [(500u64, 30usize), (20, 3000)] {
        let dir = tempfile::tempdir().unwrap();
        let lock = TableDir::create(dir.path()).unwrap().lock().unwrap();
        let source = crate::image::Numbered(count, bytes);
        let first = encode_index(&source, None, &how(1), &lock, &silent).unwrap();
        let opened = open(&first.path, WeakParams::Reject).unwrap();
        let [shard] = opened.use_case.shards() else { panic!("one shard") };
        assert_eq!((shard.shape().batch(), shard.shape().entries() as u64), (1, count));
        let mut all = vec![0; count as usize * bytes];
        source.read(0, &mut all).unwrap();
        assert!(opened.image.file().bytes_of(FilePart::Entries) == Some(&all));
        check(&first);
        let before = PreviousEpoch::open(&lock, WeakParams::Reject).unwrap();
        assert_eq!(before.description().kind, UseCaseKind::Index);
        let new: BTreeMap<u64, Vec<u8>> = [(0, vec![9; bytes]), (count - 1, vec![8; bytes])].into();
        let (written, made) = before.change_rows(new).unwrap().apply(&silent).unwrap();
        assert_eq!(made, if bytes > 2048 { 4 } else { 2 });
        check(&written);
        let opened = open(&written.path, WeakParams::Reject).unwrap();
        let entries = opened.image.file().bytes_of(FilePart::Entries).unwrap();
        assert_eq!(entries[..bytes], vec![9; bytes]);
        assert_eq!(entries[entries.len() - bytes..], vec![8; bytes]);
        let past = BTreeMap::from([(count, vec![0; bytes])]);
        assert!(PreviousEpoch::open(&lock, WeakParams::Reject).unwrap().change_rows(past).is_err());
    }
}
