//! Logs that contradict themselves, as a witness, a monitor and a publisher treat them.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use sotto_catalog::{Hex32, SigningKey};
use sotto_core::Epoch;
use sotto_tlog::appender::Appender;
use sotto_tlog::catalogs::{EntryKind, log_key, log_signer};
use sotto_tlog::history::{MAX_HISTORY_BYTES, MAX_NAMES};
use sotto_tlog::publisher_log::PublisherLog;
use sotto_tlog::witness::examine;
use sotto_tlog::{Checkpoint, DirectorySource, LogEntry, LogError, LogHistory, LogLayout, LogWriter};
use std::path::Path;

fn key() -> SigningKey {
    SigningKey::generate(&mut ChaCha20Rng::from_seed([1; 32]))
}

fn entry(name: &str, epoch: u64, version: u8) -> LogEntry {
    let digest = Hex32::from(sotto_tree::log::hash::leaf(&[&epoch.to_be_bytes()[..], &[version]].concat()));
    LogEntry::new(EntryKind::Catalog, name.parse().unwrap(), Epoch(epoch), digest, key().public())
}

fn after(previous: &LogEntry, entry: LogEntry) -> LogEntry {
    LogEntry { previous: Some(Hex32::from(previous.leaf())), ..entry }
}

/// A log of any entries: its key can sign anything.
fn forge(folder: &Path, entries: &[LogEntry]) -> Vec<u8> {
    let mut writer = LogWriter::create(folder.to_owned(), LogLayout::Tiles).unwrap();
    append(&mut writer, entries);
    writer.publish(&log_signer(&key()).unwrap()).unwrap();
    std::fs::read(folder.join("checkpoint")).unwrap()
}

fn append(writer: &mut LogWriter, entries: &[LogEntry]) {
    for entry in entries {
        let text = entry.to_string();
        writer.append(&[&(text.len() as u16).to_be_bytes(), text.as_bytes()].concat()).unwrap();
    }
}

/// Result of a witness without history that examines a log of these entries.
fn examined(entries: &[LogEntry]) -> Result<LogHistory, LogError> {
    let dir = tempfile::tempdir().unwrap();
    let note = forge(dir.path(), entries);
    let mut history = LogHistory::new(key().public());
    let source = DirectorySource(dir.path().to_owned());
    let examined = examine(source, &log_key(&key().public()).unwrap(), &note, None, &mut history);
    // A monitor that reads the whole log reports the same.
    assert_eq!(PublisherLog::open(dir.path()).unwrap().history().is_ok(), examined.is_ok());
    examined.map(|_| history)
}

fn conflict(entries: &[LogEntry]) -> (u64, String) {
    match examined(entries).unwrap_err() {
        LogError::Conflict { index, why, .. } => (index, why),
        other => panic!("{other}"),
    }
}

#[test]
fn a_witness_refuses_a_log_that_contradicts_itself() {
    let first = entry("words", 1, 0);
    let second = after(&first, entry("words", 2, 0));
    let other = entry("names", 1, 0);
    assert!(examined(&[first.clone(), other.clone(), second.clone()]).is_ok());
    // Two catalogs of one epoch, whatever previous entry the second one names.
    for twin in [entry("words", 1, 1), after(&first, entry("words", 1, 1)), first.clone()] {
        let (index, why) = conflict(&[first.clone(), other.clone(), twin]);
        assert_eq!((index, why.as_str()), (2, "the log has another entry of the same epoch"));
    }
    // An earlier epoch after a later one.
    let (index, why) = conflict(&[first.clone(), second.clone(), after(&second, entry("words", 1, 1))]);
    assert!(index == 2 && why.contains("below 2"), "{why}");
    // Two parallel chains, and one that begins in the middle.
    let branch = after(&first, entry("words", 3, 0));
    assert!(conflict(&[first.clone(), second.clone(), branch.clone()]).1.contains("branches"));
    assert!(conflict(&[branch]).1.contains("does not have"));
    // An entry of another publisher.
    let stranger = SigningKey::generate(&mut ChaCha20Rng::from_seed([2; 32])).public();
    assert!(conflict(&[LogEntry { key: stranger, ..first.clone() }]).1.contains("in the log of"));
    // A stack may have the name of a table, and its own epochs.
    assert!(examined(&[first.clone(), LogEntry { kind: EntryKind::Stack, ..first }]).is_ok());
}

#[test]
fn a_history_goes_on_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let (key, source) = (key(), DirectorySource(dir.path().to_owned()));
    let log = log_key(&key.public()).unwrap();
    let grow = |epochs: std::ops::RangeInclusive<u64>| {
        let mut appender = Appender::open(dir.path(), &key).unwrap();
        epochs.for_each(|epoch| assert!(appender.add(&entry("words", epoch, 0)).unwrap()));
        appender.publish().unwrap();
    };
    let look = |known: Option<&Checkpoint>, history: &mut LogHistory| {
        let note = std::fs::read(dir.path().join("checkpoint")).unwrap();
        examine(source.clone(), &log, &note, known, history)
    };
    grow(1..=100);
    let mut history = LogHistory::new(key.public());
    let known = look(None, &mut history).unwrap();
    let mut history = LogHistory::parse(history.to_string().as_bytes()).unwrap();
    grow(101..=255);
    // The old bundle is not read again.
    std::fs::remove_file(dir.path().join("tile/entries/000.p/100")).unwrap();
    let known = look(Some(&known), &mut history).unwrap();
    grow(256..=600);
    let again = history.to_string();
    look(Some(&known), &mut history).unwrap();
    assert_eq!(
        (history.size(), history.last(EntryKind::Catalog, &"words".parse().unwrap()).unwrap().epoch.0),
        (600, 600)
    );
    // A history is bound to the log that was read: another log does not extend it, whatever
    // checkpoint was stored.
    let forged = again.replacen(" 255 ", " 254 ", 1);
    let error = look(None, &mut LogHistory::parse(forged.as_bytes()).unwrap()).unwrap_err();
    assert!(matches!(error, LogError::Fork { size: 254 }), "{error}");
    // The publisher's own tool does not write the second entry in any folder.
    let mut appender = Appender::open(dir.path(), &key).unwrap();
    for (epoch, version) in [(600, 1), (599, 1)] {
        let refused = appender.add(&entry("words", epoch, version)).unwrap_err();
        assert!(matches!(refused, LogError::Superseded { last: 600, .. }), "{refused}");
    }
    assert!(!appender.add(&entry("words", 599, 0)).unwrap());
}

#[test]
fn a_history_of_one_name_begins_anywhere() {
    let dir = tempfile::tempdir().unwrap();
    let mut entries: Vec<LogEntry> = vec![entry("words", 1, 0)];
    for epoch in 2..=600 {
        let name = if epoch % 2 == 0 { "names" } else { "words" };
        let last = entries.iter().rev().find(|last| last.name.as_str() == name);
        let next = entry(name, epoch, 0);
        entries.push(last.map(|last| after(last, next.clone())).unwrap_or(next));
    }
    let read = |folder: &Path, entries: &[LogEntry], first: u64| {
        let note = forge(folder, entries);
        let checkpoint = Checkpoint::open(&note, &log_key(&key().public()).unwrap()).unwrap();
        let source = DirectorySource(folder.to_owned());
        let mut log = sotto_tlog::VerifiedLog::open(source, LogLayout::Tiles, &checkpoint).unwrap();
        let name = "words".parse().unwrap();
        let mut history = LogHistory::of_name(key().public(), EntryKind::Catalog, name, first);
        history.read(&mut log).map(|()| history)
    };
    let history = read(&dir.path().join("a"), &entries, 300).unwrap();
    assert_eq!((history.first(), history.size()), (256, 600));
    assert_eq!(history.only(), Some(&(EntryKind::Catalog, "words".parse().unwrap())));
    // One may begin at the end of the log, and no later.
    let end = read(&dir.path().join("end"), &entries[..512], 512).unwrap();
    assert_eq!((end.first(), end.size()), (512, 512));
    let late = read(&dir.path().join("late"), &entries[..511], 512).unwrap_err();
    assert!(matches!(late, LogError::Older { known: 512, found: 511 }), "{late}");
    assert_eq!(LogHistory::parse(history.to_string().as_bytes()).unwrap(), history);
    // Another name's fork is found by those who track that name, and a fork before the beginning is
    // not detected.
    let twin = |name: &str| [&entries[..], &[after(&entries[599], entry(name, 600, 1))]].concat();
    assert!(read(&dir.path().join("b"), &twin("names"), 300).is_ok());
    let mut early = entries.clone();
    early.insert(3, entry("words", 1, 1));
    assert!(read(&dir.path().join("c"), &early, 300).is_ok());
    assert!(matches!(read(&dir.path().join("d"), &early, 0), Err(LogError::Conflict { index: 3, .. })));
    assert!(matches!(
        read(&dir.path().join("e"), &twin("words"), 300),
        Err(LogError::Conflict { index: 600, .. })
    ));
}

#[test]
fn a_history_has_one_form() {
    let (root, publisher) = ("ab".repeat(32), key().public());
    let text = format!(
        "sotto-log-history/1\n{publisher}\n*\n0 9 {root}\ncatalog words 7 {root}\nstack words 2 {root}\n"
    );
    assert_eq!(LogHistory::parse(text.as_bytes()).unwrap().to_string(), text);
    for other in [
        String::new(),
        text.trim_end().to_owned(),
        format!("{text}\n"),
        text.replace("history/1", "history/2"),
        text.replace("0 9", "0 09"),
        text.replace(&root, "-"),
        text.replace("catalog", "table"),
        text.replace("catalog", "stack"),
        text.replace("words 7", "words 07"),
        text.replace("*", "words"),
        text.replace("words", "Words"),
    ] {
        assert!(LogHistory::parse(other.as_bytes()).is_err(), "{other:?}");
    }
}

#[test]
fn a_history_is_as_large_as_its_limits_and_no_larger() {
    let (root, publisher) = ("ab".repeat(32), key().public());
    let names: String = (0..MAX_NAMES).map(|name| format!("catalog n{name:06} 7 {root}\n")).collect();
    let text = format!("sotto-log-history/1\n{publisher}\n*\n0 9 {root}\n{names}");
    let mut history = LogHistory::parse(text.as_bytes()).unwrap();
    let known = LogEntry { previous: Some(root.parse().unwrap()), ..entry("n000000", 8, 0) };
    history.append(9, &known).unwrap();
    assert!(matches!(history.append(10, &entry("words", 1, 0)), Err(LogError::TooLarge { .. })));
    // The length is checked before the text.
    let zeros = |bytes: u64| LogHistory::parse(&vec![0; bytes as usize]).unwrap_err();
    assert_eq!(MAX_HISTORY_BYTES, 52_429_600);
    assert!(matches!(zeros(MAX_HISTORY_BYTES), LogError::Malformed { .. }));
    assert!(matches!(zeros(MAX_HISTORY_BYTES + 1), LogError::TooLarge { limit: MAX_HISTORY_BYTES, .. }));
    assert!(matches!(zeros(MAX_HISTORY_BYTES + 9), LogError::TooLarge { .. }));
}
