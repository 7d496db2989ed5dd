//! Stored tokens: each is taken once, by whichever process.

use sotto_client::cache::CacheError;
use sotto_client::cache::keyring::{Keyring, KeyringEntry, KeyringSlot, TOKEN_BATCH, TokenStore};
use sotto_core::CryptoRng;
use sotto_testkit::rng::seeded;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

const BYTES: usize = 40;

fn hook() -> KeyringSlot {
    KeyringSlot::of("tokens http://a", "somebody")
}

fn store(dir: &Path) -> TokenStore {
    let ring = Keyring::open(dir, None).unwrap();
    TokenStore::new(Some((ring, hook())), BYTES, Duration::from_secs(60))
}

/// A batch whose tokens begin with `first`.
fn batch(first: u8, count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|i| [&[first, u8::try_from(i).unwrap()][..], &[9; BYTES - 2]].concat()).collect()
}

fn take(store: &mut TokenStore) -> Option<Vec<u8>> {
    store.take(&mut seeded("take")).unwrap().map(|token| token.bytes.to_vec())
}

fn changed(dir: &Path, change: impl FnOnce(&mut KeyringEntry)) {
    let ring = Keyring::open(dir, None).unwrap();
    let mut entry = ring.read(&hook()).unwrap().unwrap();
    change(&mut entry);
    ring.write(&hook(), &entry, &mut seeded("changed")).unwrap();
}

#[test]
fn each_token_is_handed_out_once_to_whoever_asks_first() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, batches) = (folder.path(), AtomicU8::new(0));
    // More than two batches, so that stores which run out at the same time must agree on who fetches.
    let taken: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|i| {
                let batches = &batches;
                scope.spawn(move || {
                    let (mut store, mut rng) = (store(dir), seeded(&format!("thread {i}")));
                    let fetch = |_: &mut dyn CryptoRng| {
                        Ok::<_, CacheError>(batch(batches.fetch_add(1, Ordering::SeqCst), TOKEN_BATCH))
                    };
                    let mut next = || store.take_or_fetch(&mut rng, fetch).unwrap().unwrap().bytes.to_vec();
                    (0..10).map(|_| next()).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), 80, "none twice");
    assert_eq!(batches.load(Ordering::SeqCst), 3, "none fetched while there were some");
    // No file contains a token in the clear.
    for file in std::fs::read_dir(dir.join("keys")).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(20).any(|part| part == [9; 20]));
    }
}

#[test]
fn a_batch_ends_with_its_time_with_its_file_and_with_a_refusal() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, mut rng) = (folder.path(), seeded("batches"));
    let mut one = store(dir);
    assert_eq!(take(&mut one), None);
    one.replace(&batch(1, TOKEN_BATCH), &mut rng).unwrap();
    let refused = one.take(&mut rng).unwrap().unwrap();
    // Another process has replaced the batch meanwhile: a refusal of an old token does not end it.
    store(dir).replace(&batch(2, TOKEN_BATCH), &mut rng).unwrap();
    one.discard(&refused, &mut rng).unwrap();
    let refused = one.take(&mut rng).unwrap().unwrap();
    assert_eq!(refused.bytes[0], 2);
    one.discard(&refused, &mut rng).unwrap();
    assert_eq!(take(&mut store(dir)), None);
    // No batch is fetched right after a refusal: a server could refuse in order to see who fetches.
    assert!(!one.begin_refill(&mut rng).unwrap());

    one.replace(&batch(3, TOKEN_BATCH), &mut rng).unwrap();
    one.replace(&[], &mut rng).unwrap();
    assert_eq!(take(&mut one).unwrap()[0], 3, "no tokens replace none");
    changed(dir, |entry| entry.made -= 7 * 24 * 3600);
    assert_eq!(take(&mut one), None, "too old");
    for damage in [&[][..], &[0; 7]] {
        changed(dir, |entry| entry.keys = damage.to_vec().into());
        assert_eq!(take(&mut one), None);
        assert!(one.begin_refill(&mut rng).unwrap());
    }
    // Tokens of another length are ignored.
    one.replace(&[vec![4; BYTES + 1], vec![5; BYTES]], &mut rng).unwrap();
    assert_eq!((take(&mut one).unwrap()[0], take(&mut one)), (5, None));
}

#[test]
fn a_refill_is_due_once_when_few_are_left() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, mut rng) = (folder.path(), seeded("refill"));
    let mut one = store(dir);
    one.replace(&batch(1, TOKEN_BATCH), &mut rng).unwrap();
    let due = || [(); 2].map(|()| store(dir).begin_refill(&mut seeded("due")).unwrap());
    for _ in 8..TOKEN_BATCH {
        assert_eq!(due(), [false, false]);
        take(&mut one).unwrap();
    }
    take(&mut one).unwrap();
    assert_eq!(due(), [true, false], "one process fetches");
    one.replace(&batch(2, TOKEN_BATCH), &mut rng).unwrap();
    // An issuer that issues no more tokens is not contacted after each lookup.
    one.replace(&batch(3, 2), &mut rng).unwrap();
    assert_eq!(due(), [false, false]);
    changed(dir, |entry| {
        let begun = u64::from_le_bytes(entry.keys[..8].try_into().unwrap()) - 3600;
        entry.keys[..8].copy_from_slice(&begun.to_le_bytes());
    });
    assert_eq!(due(), [true, false]);
    assert_eq!(take(&mut one).unwrap()[0], 3);
}

#[test]
fn without_a_folder_a_batch_is_this_process_alone() {
    let (mut rng, mut fetched) = (seeded("memory"), 0);
    let mut one = TokenStore::new(None, BYTES, Duration::ZERO);
    for i in 0..=TOKEN_BATCH {
        let fetch = |_: &mut dyn CryptoRng| {
            fetched += 1;
            Ok::<_, CacheError>(batch(fetched, TOKEN_BATCH))
        };
        let token = one.take_or_fetch(&mut rng, fetch).unwrap().unwrap();
        assert_eq!(usize::from(token.bytes[0]), 1 + i / TOKEN_BATCH);
        assert!(!one.begin_refill(&mut rng).unwrap());
        if i == TOKEN_BATCH {
            one.discard(&token, &mut rng).unwrap();
        }
    }
    assert_eq!((fetched, take(&mut one)), (2, None));
}
