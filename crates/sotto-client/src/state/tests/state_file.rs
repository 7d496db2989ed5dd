//! The file of a state, compared with a model of it, through crashes at every step.

use super::sim::{Fault, Sim};
use crate::state::disk::Disk;
use crate::state::metadata::{FORMAT, FileFingerprint, JournalMarks, StateMetadata, StateTransaction};
use crate::state::state_file::StateFile;
use rand_core::Rng;
use sotto_testkit::rng;

/// What a file has to hold.
#[derive(Clone, PartialEq, Debug)]
struct Model {
    metadata: StateMetadata,
    marks: JournalMarks,
    journal: Vec<Vec<u8>>,
    requests: Vec<(u64, Vec<u8>)>,
}

fn metadata(clients: u64) -> StateMetadata {
    StateMetadata {
        format: FORMAT.to_owned(),
        id: "0".repeat(32),
        table: "table".to_owned(),
        origin: "origin".to_owned(),
        scheme: "clear-state/1".to_owned(),
        public_key: "key".to_owned(),
        params: [7; 32].into(),
        literal: "{}".to_owned(),
        clients,
        has_counter: true,
        snapshot: None,
        home: FileFingerprint::made_up("here", 1),
    }
}

/// A change, and what the file holds after it.
fn apply(file: &mut StateFile, model: &Model, random: &mut impl Rng) -> (bool, Model) {
    let mut next = model.clone();
    let mut bytes = vec![0; random.next_u32() as usize % 20_000];
    random.fill_bytes(&mut bytes);
    let mut change = StateTransaction::default();
    match random.next_u32() % 8 {
        0 => {
            next.metadata.clients += 1;
            next.journal.clear();
            (next.marks.entries.0, next.marks.bytes, change.forget_journal) = (next.marks.entries.1, 0, true);
            if random.next_u32().is_multiple_of(2) {
                (next.marks.requests.1, change.forget_requests) = (0, true);
                next.requests.clear();
            }
        }
        1 | 2 if !model.requests.is_empty() => {
            let at = random.next_u32() as usize % model.requests.len();
            change.settle = Some(next.requests.remove(at).0);
            next.marks.requests.1 -= 1;
        }
        kind => {
            change.append = Some((next.marks.entries.1, &bytes));
            next.journal.push(bytes.clone());
            (next.marks.entries.1, next.marks.bytes) =
                (next.marks.entries.1 + 1, next.marks.bytes + bytes.len() as u64);
            if kind < 6 {
                change.logged = Some((next.marks.requests.0, &bytes));
                next.requests.push((next.marks.requests.0, bytes.clone()));
                next.marks.requests = (next.marks.requests.0 + 1, next.marks.requests.1 + 1);
                next.marks.counter += 1;
            }
        }
    }
    change.marks = next.marks;
    change.metadata = (next.metadata != model.metadata).then_some(&next.metadata);
    (file.apply(&change).is_ok(), next)
}

fn held(file: &StateFile) -> Model {
    let (json, marks) = file.head().unwrap();
    let metadata = StateMetadata::parse(json, "state".as_ref()).unwrap();
    let mut journal = Vec::new();
    let damage = file.journal(&mut |entry| {
        journal.push(entry.to_vec());
        Ok(())
    });
    assert_eq!(damage.unwrap(), None);
    Model { metadata, marks, journal, requests: file.requests().unwrap().unwrap() }
}

#[test]
fn a_file_holds_what_was_written_whatever_crashes() {
    let random = &mut rng::seeded("state file");
    let disk = Sim::new();
    let mut file = StateFile::open(disk.open("state").unwrap()).unwrap();
    assert!(file.head().is_none());
    let (metadata, marks) = (metadata(0), JournalMarks::default());
    let change = StateTransaction { metadata: Some(&metadata), marks, ..StateTransaction::default() };
    file.apply(&change).unwrap();
    let mut model = Model { metadata: metadata.clone(), marks, journal: Vec::new(), requests: Vec::new() };
    let (mut crashes, mut longest) = (0, 0);
    for step in 0..3000 {
        if random.next_u32().is_multiple_of(5) {
            disk.fuse(u64::from(random.next_u32() % 12), Fault::Death);
        }
        let (is_done, next) = apply(&mut file, &model, random);
        if is_done {
            assert_eq!(held(&file), next, "step {step}");
            model = next;
        } else {
            crashes += 1;
            disk.crash(&format!("step {step}"));
            file = StateFile::open(disk.open("state").unwrap()).unwrap();
            let found = held(&file);
            assert!(found == model || found == next, "step {step}");
            model = found;
        }
        if step % 50 == 0 {
            file = StateFile::open(disk.open("state").unwrap()).unwrap();
            assert_eq!(held(&file), model, "step {step}");
        }
        let live: usize =
            model.journal.iter().chain(model.requests.iter().map(|(_, bytes)| bytes)).map(Vec::len).sum();
        let bytes = disk.bytes("state").unwrap().len();
        longest = longest.max(bytes);
        assert!(bytes < 6 * live + (2 << 20), "step {step}: {bytes} bytes for {live}");
    }
    assert!(crashes > 100, "{crashes} crashes");
    assert!(longest > 1 << 19, "{longest} bytes at most");
}

/// A file that ends anywhere is refused, or holds nothing that was not written.
#[test]
fn a_file_that_ends_early_holds_nothing_else() {
    let disk = Sim::new();
    let mut file = StateFile::open(disk.open("state").unwrap()).unwrap();
    let (metadata, entry) = (metadata(3), [1, 2, 3]);
    let marks = JournalMarks { entries: (0, 1), requests: (1, 1), ..JournalMarks::default() };
    let first = StateTransaction { metadata: Some(&metadata), ..StateTransaction::default() };
    let (append, logged) = (Some((0, &entry[..])), Some((0, &entry[..])));
    let second = StateTransaction { marks, append, logged, ..StateTransaction::default() };
    file.apply(&first).unwrap();
    let before = disk.bytes("state").unwrap().len();
    file.apply(&second).unwrap();
    let whole = disk.bytes("state").unwrap();
    for end in 0..=whole.len() {
        let cut = Sim::new();
        cut.put("state", &whole[..end]);
        let opened = StateFile::open(cut.open("state").unwrap());
        assert_eq!(opened.is_ok(), end == 0 || end >= before, "{end} bytes");
        let Some(found) = opened.ok().filter(|_| end > 0).map(|file| held(&file)) else { continue };
        let is_whole = end == whole.len();
        assert_eq!((found.metadata, found.marks == marks), (metadata.clone(), is_whole), "{end} bytes");
        assert_eq!((found.journal.len(), found.requests.len()), (is_whole.into(), is_whole.into()));
    }
}
