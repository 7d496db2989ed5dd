//! The log of a publisher's catalogs: its entries, its folder, its cosignatures.

use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use sotto_catalog::{Hex32, MlDsaSigningKey, SigningKey};
use sotto_core::Epoch;
use sotto_tlog::appender::{Appender, attach};
use sotto_tlog::catalogs::{EntryKind, log_key, publisher};
use sotto_tlog::layout::LogFile;
use sotto_tlog::publisher_log::PublisherLog;
use sotto_tlog::{Cosigner, LogEntry, LogError, LogLayout, SignedNote, Tile};
use std::path::Path;

fn key(seed: u8) -> SigningKey {
    SigningKey::generate(&mut ChaCha20Rng::from_seed([seed; 32]))
}

fn entry(key: &SigningKey, epoch: u64) -> LogEntry {
    let digest = Hex32::from(sotto_tree::log::hash::leaf(&epoch.to_be_bytes()));
    let name = "words".parse().unwrap();
    LogEntry::new(EntryKind::Catalog, name, Epoch(epoch), digest, key.public())
}

fn add(folder: &Path, key: &SigningKey, epochs: std::ops::RangeInclusive<u64>) -> usize {
    let mut log = Appender::open(folder, key).unwrap();
    let added = epochs.filter(|epoch| log.add(&entry(key, *epoch)).unwrap()).count();
    log.publish().unwrap();
    added
}

fn cosigned(folder: &Path, cosigner: &Cosigner, time: u64) -> Vec<u8> {
    let mut note = SignedNote::parse(&std::fs::read(folder.join("checkpoint")).unwrap()).unwrap();
    note.signatures.truncate(1);
    let line = cosigner.cosign(&note.text, time).unwrap();
    note.signatures.push(line);
    note.to_string().into_bytes()
}

#[test]
fn an_entry_has_one_form() {
    let digest = "ab".repeat(32);
    let text = format!("sotto-log/2 stack words 7 {digest} - {}\n", key(1).public());
    let entry = LogEntry::parse(text.as_bytes()).unwrap();
    assert_eq!((entry.kind, entry.epoch, entry.to_string()), (EntryKind::Stack, Epoch(7), text.clone()));
    for other in [
        String::new(),
        text.trim_end().to_owned(),
        format!("{text}\n"),
        format!("{text}more\n"),
        text.replace(" 7 ", " 07 "),
        text.replace(" 7 ", " +7 "),
        text.replace(" 7 ", "  7 "),
        text.replace("stack", "table"),
        text.replace("words", "Words"),
        text.replace("log/2", "log/1"),
        text.replace("log/2", "log/3"),
        text.replace(" - ", " "),
        text.replace(" - ", " -- "),
        text.replace(" - ", " abab "),
        text.replace("abab", "ABAB"),
        text.replace('\n', " more\n"),
        text.replacen("words", &"w".repeat(600), 1),
    ] {
        assert!(LogEntry::parse(other.as_bytes()).is_err(), "{other:?}");
    }
    let why = |bytes: &[u8]| LogEntry::parse(bytes).unwrap_err().to_string();
    assert!(why(text.replace("log/2", "log/1").as_bytes()).contains("begin a new log"));
    // The limit is the first check of all.
    assert!(matches!(LogEntry::parse(&[0; 512]), Err(LogError::Malformed { .. })));
    for bytes in [513, 600] {
        assert!(matches!(LogEntry::parse(&vec![0; bytes]), Err(LogError::TooLarge { limit: 512, .. })));
    }
}

#[test]
fn an_appender_knows_the_last_epoch_of_a_name() {
    let (dir, key) = (tempfile::tempdir().unwrap(), key(1));
    let mut log = Appender::open(dir.path(), &key).unwrap();
    assert_eq!((log.size(), log.is_past(&entry(&key, 1))), (0, false));
    assert!([2, 4, 7].map(|epoch| log.add(&entry(&key, epoch)).unwrap()).iter().all(|added| *added));
    assert_eq!([1, 6, 7, 8].map(|epoch| log.is_past(&entry(&key, epoch))), [true, true, false, false]);
    let other = LogEntry { name: "others".parse().unwrap(), ..entry(&key, 1) };
    assert_eq!((log.size(), log.is_past(&other)), (3, false));
    let refused = log.add(&entry(&key, 6)).unwrap_err();
    assert!(matches!(refused, LogError::Superseded { last: 7, .. }));
    assert!(refused.to_string().contains("catalog words, epoch 6"), "{refused}");
}

proptest! {
    #[test]
    fn any_bytes_are_an_entry_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = LogEntry::parse(&bytes);
    }

    #[test]
    fn a_path_has_one_form(level in any::<u8>(), index in any::<u64>(), width in 1u16..=256) {
        for place in [
            LogFile::Checkpoint,
            LogFile::Tile(Tile { level, index, width }),
            LogFile::Bundle(index, width),
        ] {
            assert_eq!(LogLayout::place(&LogLayout::Tiles.path(place)), Some(place));
        }
    }
}

#[test]
fn other_paths_are_none() {
    for path in [
        "",
        "/",
        "checkpoint/",
        "tile",
        "tile/0",
        "tile/0/",
        "tile/0/0",
        "tile/0/0000",
        "tile/00/000",
        "tile/0/000/../000",
        "tile/0/../../../etc/passwd",
        "../checkpoint",
        "tile/entries/000.p/0",
        "tile/0/000.p/256",
        "tile/0/000.p/01",
        "tile/256/000",
        "tile/0/x000/000",
        "tile/0/+01",
        "tile/data/000",
        "write.lock",
        "witnessed",
        "checkpoint.new",
        "tile/0/x999/x999/x999/x999/x999/x999/x999/999",
    ] {
        assert_eq!(LogLayout::place(path), None, "{path}");
    }
}

#[test]
fn a_log_is_verified_with_the_publishers_key_alone() {
    let (dir, key) = (tempfile::tempdir().unwrap(), key(1));
    assert_eq!(add(dir.path(), &key, 1..=3), 3);
    // Entries that are added twice, and a log that grows.
    assert_eq!(add(dir.path(), &key, 2..=300), 297);
    let log = PublisherLog::open(dir.path()).unwrap();
    assert_eq!((log.publisher(), log.newest().checkpoint.size), (key.public(), 300));
    let origin = &log.newest().checkpoint.origin;
    assert_eq!(publisher(origin), Some(key.public()));
    for epoch in [1, 2, 256, 257, 300] {
        let asked = entry(&key, epoch);
        let proof = log.proof(&asked.digest).unwrap().unwrap();
        // The proof contains the entry, which names the one before it.
        let entry = LogEntry::parse(proof.extra.as_ref().unwrap()).unwrap();
        assert!(entry.is_same_document(&asked) && !entry.is_same_document(&self::entry(&key, epoch + 1)));
        assert_eq!(entry.previous.is_none(), epoch == 1);
        let checkpoint = proof.verify(&entry.leaf(), &log_key(&key.public()).unwrap()).unwrap();
        assert_eq!(checkpoint, log.newest().checkpoint);
        let other = LogEntry { epoch: Epoch(epoch + 1), ..entry };
        assert!(proof.verify(&other.leaf(), &log_key(&key.public()).unwrap()).is_err());
    }
    assert_eq!(log.proof(&entry(&key, 301).digest).unwrap(), None);
    // Another key cannot write to the log, and only its own files are served.
    assert!(matches!(Appender::open(dir.path(), &self::key(2)), Err(LogError::WrongOrigin { .. })));
    let tile = |width| LogFile::Tile(Tile { level: 0, index: 1, width });
    assert_eq!(log.file(tile(44)).unwrap().map(|bytes| bytes.len()), Some(44 * 32));
    assert_eq!(log.file(tile(45)).unwrap(), None);
}

#[test]
fn a_catalog_that_is_covered_by_witnesses_stays_so() {
    let (dir, key) = (tempfile::tempdir().unwrap(), key(1));
    let [one, two] = [1, 2].map(|seed| Cosigner::new(&format!("w{seed}"), &[seed; 32]).unwrap());
    let keys = [one.public().clone(), two.public().clone()];
    let is_by = |epoch: u64| {
        let log = PublisherLog::open(dir.path()).unwrap();
        let proof = log.proof(&entry(&key, epoch).digest).unwrap().unwrap();
        let note = SignedNote::parse(proof.checkpoint.as_bytes()).unwrap();
        keys.each_ref().map(|key| key.cosigned(&note).unwrap())
    };
    add(dir.path(), &key, 1..=1);
    assert_eq!(is_by(1), [None, None]);
    let notes = [cosigned(dir.path(), &one, 100), cosigned(dir.path(), &two, 101)];
    assert_eq!(attach(dir.path(), &notes, &keys).unwrap().len(), 2);
    assert_eq!(is_by(1), [Some(100), Some(101)]);
    // The next entry has no cosignature yet, which changes nothing for the first.
    add(dir.path(), &key, 2..=2);
    assert_eq!((is_by(1), is_by(2)), ([Some(100), Some(101)], [None, None]));
    let half = [cosigned(dir.path(), &one, 200)];
    attach(dir.path(), &half, &keys).unwrap();
    assert_eq!((is_by(1), is_by(2)), ([Some(100), Some(101)], [Some(200), None]));
    // The older time is not restored, and a note of a replaced checkpoint adds nothing.
    attach(dir.path(), &[cosigned(dir.path(), &one, 150)], &keys).unwrap();
    attach(dir.path(), &[cosigned(dir.path(), &two, 201)], &keys).unwrap();
    assert_eq!((is_by(1), is_by(2)), ([Some(200), Some(201)], [Some(200), Some(201)]));
    assert!(matches!(attach(dir.path(), &notes, &keys), Err(LogError::NotCosigned { size: 1, newest: 2 })));
    let stranger = Cosigner::new("w1", &[9; 32]).unwrap();
    let strange = [cosigned(dir.path(), &stranger, 300)];
    assert!(matches!(attach(dir.path(), &strange, &keys), Err(LogError::NotCosigned { .. })));
}

#[test]
fn a_key_has_one_cosignature_of_a_checkpoint() {
    let (dir, key) = (tempfile::tempdir().unwrap(), key(1));
    let one = Cosigner::new("w1", &[1; 32]).unwrap();
    let ml_dsa = Cosigner::ml_dsa_44("w1", MlDsaSigningKey::from_seed(&[1; 32])).unwrap();
    let keys = [one.public().clone(), ml_dsa.public().clone()];
    add(dir.path(), &key, 1..=1);
    let attached = |notes: &[Vec<u8>]| {
        attach(dir.path(), notes, &keys).unwrap();
        let lines = |file: &str| {
            let note = SignedNote::parse(&std::fs::read(dir.path().join(file)).unwrap()).unwrap();
            let time = |bytes: &[u8]| u64::from_be_bytes(*bytes.first_chunk().unwrap());
            note.signatures[1..].iter().map(|line| (line.id, time(&line.bytes))).collect::<Vec<_>>()
        };
        assert_eq!(lines("witnessed"), lines("checkpoint"));
        lines("checkpoint")
    };
    // Without a cosignature there is nothing to preserve.
    assert_eq!(attach(dir.path(), &[], &keys).unwrap(), []);
    assert!(!dir.path().join("witnessed").exists());
    let [first, second] = keys.each_ref().map(|key| key.id());
    assert_eq!(attached(&[cosigned(dir.path(), &one, 100)]), [(first, 100)]);
    // The same name and another key.
    assert_eq!(attached(&[cosigned(dir.path(), &ml_dsa, 90)]), [(first, 100), (second, 90)]);
    // Only a later cosignature of a key replaces an earlier one.
    let again = [cosigned(dir.path(), &one, 110), cosigned(dir.path(), &ml_dsa, 80)];
    assert_eq!(attached(&again), [(first, 110), (second, 90)]);
    // A line under the name of a witness and of an unknown key is never attached.
    let mut note = SignedNote::parse(&cosigned(dir.path(), &one, 120)).unwrap();
    let stranger = Cosigner::new("w1", &[9; 32]).unwrap();
    note.signatures.push(stranger.cosign(&note.text, 900).unwrap());
    assert_eq!(attached(&[note.to_string().into_bytes()]), [(first, 120), (second, 90)]);
}

#[test]
fn a_checkpoint_with_too_many_cosignatures_is_not_written() {
    let (dir, key) = (tempfile::tempdir().unwrap(), key(1));
    add(dir.path(), &key, 1..=1);
    // A line of ML-DSA-44 has 3.3 kB, and a note 2^18 bytes.
    let name = |seed: u8| format!("w{seed}");
    let cosigners: Vec<_> = (0..100)
        .map(|seed| Cosigner::ml_dsa_44(&name(seed), MlDsaSigningKey::from_seed(&[seed; 32])).unwrap())
        .collect();
    let keys: Vec<_> = cosigners.iter().map(|cosigner| cosigner.public().clone()).collect();
    let notes: Vec<_> = cosigners.iter().map(|cosigner| cosigned(dir.path(), cosigner, 100)).collect();
    assert!(matches!(attach(dir.path(), &notes, &keys), Err(LogError::TooLarge { .. })));
    assert!(PublisherLog::open(dir.path()).unwrap().witnessed().is_none());
    assert_eq!(attach(dir.path(), &notes[..50], &keys).unwrap().len(), 50);
}

#[test]
fn a_log_that_is_read_again_goes_on_or_is_refused() {
    let (dir, key) = (tempfile::tempdir().unwrap(), key(1));
    add(dir.path(), &key, 1..=5);
    let log = PublisherLog::open(dir.path()).unwrap();
    assert!(log.again().unwrap().is_none());
    add(dir.path(), &key, 6..=9);
    let grown = log.again().unwrap().unwrap();
    assert_eq!((grown.entries().len(), grown.holds(&entry(&key, 9).digest)), (9, true));
    // Another log under the same key takes its place.
    std::fs::remove_dir_all(dir.path()).unwrap();
    add(dir.path(), &key, 2..=20);
    assert!(matches!(grown.again(), Err(LogError::Fork { size: 9 })));
}
