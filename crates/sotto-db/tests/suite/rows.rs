//! Tables whose records are an artifact: images without a resident section, rows deltas, and
//! remnants of old epochs.

use crate::common::{Memory, encode, folder, names, update_rows};
use sotto_catalog::ArtifactEntry;
use sotto_core::{Artifact, Epoch, Image, Section};
use sotto_db::progress::silent;
use sotto_db::{DbError, ImageFile, ImageProblem, Retention, TableDir, inspect, retain};
use sotto_testkit::{CLEAR, CLEAR_HELPED, CLEAR_ROWS, CLEAR_TWO};

const ROWS: Section = Section::Public(Artifact::Rows);
const DELTA: Section = Section::Public(Artifact::RowsDelta);

fn entry(dir: &TableDir, epoch: u64, artifact: Artifact) -> Option<ArtifactEntry> {
    let image = dir.open_delta_source(Epoch(epoch)).unwrap();
    image.catalog().artifacts.iter().find(|entry| entry.artifact == artifact).cloned()
}

/// A table of 100,000 rows of 32 bytes at epoch 5, each epoch one row different from the one
/// before.
fn five_epochs() -> (tempfile::TempDir, TableDir, Memory) {
    let (temp, dir) = folder();
    let mut table = Memory::numbered(100_000, 32);
    encode(&dir, &CLEAR_ROWS, &table).unwrap();
    for row in 1..5 {
        update_rows(&dir, &CLEAR_ROWS, format!("{row},{}\n", "ab".repeat(32)));
        table.bytes[row * 32..][..32].fill(0xAB);
    }
    (temp, dir, table)
}

#[test]
fn the_rows_are_the_image() {
    let (_temp, dir) = folder();
    let table = Memory::numbered(100_000, 32);
    let summary = encode(&dir, &CLEAR_ROWS, &table).unwrap();
    assert_eq!(summary.artifact_bytes, 3_200_000);
    let image = dir.open_latest().unwrap();
    image.verify(&silent).unwrap();
    image.warm();
    assert!(image.section(Section::Resident).is_none());
    assert!(image.section(ROWS) == Some(&table.bytes));
    let rows = entry(&dir, 1, Artifact::Rows).unwrap();
    assert!(rows == ArtifactEntry::of(Artifact::Rows, &table.bytes, None));
    assert_eq!(rows.chunks.len(), 4);
    let described = inspect(&image, Some(&CLEAR_ROWS)).unwrap();
    assert!(described.sections.iter().any(|section| section.name == "rows" && section.bytes == 3_200_000));
    assert!(described.scheme.unwrap().can_update);
}

#[test]
fn an_update_says_from_which_rows_its_delta_leads() {
    let (_temp, dir, table) = five_epochs();
    let image = dir.open_latest().unwrap();
    image.verify(&silent).unwrap();
    assert!(image.section(ROWS) == Some(&table.bytes));
    for epoch in 2..=5 {
        let delta = entry(&dir, epoch, Artifact::RowsDelta).unwrap();
        assert_eq!((delta.bytes, delta.from_epoch), (40, Some(Epoch(epoch - 1))));
        let before = entry(&dir, epoch - 1, Artifact::Rows).unwrap().digest;
        assert!(delta.from_digest == Some(before), "epoch {epoch}");
    }
    // A scheme without rows has other deltas, which name no rows.
    let (_temp, dir) = folder();
    encode(&dir, &CLEAR, &Memory::numbered(100, 32)).unwrap();
    update_rows(&dir, &CLEAR, "7,aabb\n");
    assert!(entry(&dir, 2, Artifact::HintDelta).unwrap().from_digest.is_none());
}

#[test]
fn rows_that_are_no_artifact_are_named_by_their_digest() {
    let (_temp, dir) = folder();
    let mut table = Memory::numbered(1000, 32);
    encode(&dir, &CLEAR_HELPED, &table).unwrap();
    let mut before = blake3::hash(&table.bytes).into();
    assert_eq!(dir.open_latest().unwrap().catalog().rows_digest, Some(before));
    for epoch in 2..=4 {
        update_rows(&dir, &CLEAR_HELPED, format!("{epoch},{}\n", "ab".repeat(32)));
        table.bytes[epoch as usize * 32..][..32].fill(0xAB);
        let image = dir.open_latest().unwrap();
        image.verify(&silent).unwrap();
        let rows = blake3::hash(&table.bytes).into();
        assert_eq!((image.catalog().rows_digest, image.rows_digest()), (Some(rows), Some(rows)));
        let delta = entry(&dir, epoch, Artifact::RowsDelta).unwrap();
        assert_eq!((delta.bytes, delta.from_epoch), (40, Some(Epoch(epoch - 1))));
        assert_eq!(delta.from_digest, Some(before), "epoch {epoch}");
        before = rows;
    }
    assert!(ImageFile::open_remnant(&dir.image_path(Epoch(3))).is_err(), "an image holds more");
    retain(&dir.lock().unwrap(), Retention { images: 1, deltas: 2 }, &silent).unwrap();
    assert_eq!((dir.epochs().unwrap(), dir.remnants().unwrap()), (vec![Epoch(4)], vec![Epoch(3)]));
    dir.open_delta_source(Epoch(3)).unwrap().verify(&silent).unwrap();
    assert!(ImageFile::open(&dir.remnant_path(Epoch(3))).is_err(), "a remnant has no rows");
    // Schemes whose clients keep no state name no rows.
    let (_temp, dir) = folder();
    encode(&dir, &CLEAR_TWO, &table).unwrap();
    assert_eq!(dir.open_latest().unwrap().catalog().rows_digest, None);
}

#[test]
fn old_images_shrink_to_what_leads_to_the_next() {
    let (_temp, dir, _) = five_epochs();
    let whole: Vec<_> = (1..=5).map(|epoch| dir.open_epoch(Epoch(epoch)).unwrap()).collect();
    let lock = dir.lock().unwrap();
    let done = retain(&lock, Retention { images: 2, deltas: 4 }, &silent).unwrap();
    assert_eq!(done.shrunk, [Epoch(2), Epoch(3)]);
    assert_eq!(done.removed, [Epoch(1)], "no epoch before it leads there");
    assert!(done.freed_bytes > 9_600_000, "{}", done.freed_bytes);
    assert_eq!(
        (dir.epochs().unwrap(), dir.remnants().unwrap()),
        (vec![Epoch(4), Epoch(5)], vec![Epoch(2), Epoch(3)])
    );
    for epoch in 2..=5 {
        let (past, before) = (dir.open_delta_source(Epoch(epoch)).unwrap(), &whole[epoch as usize - 1]);
        past.verify(&silent).unwrap();
        assert!(past.section(DELTA) == before.section(DELTA), "mapped files outlive their names");
        assert!(past.signed_catalog().to_bytes() == before.signed_catalog().to_bytes());
    }
    assert!(matches!(dir.open_delta_source(Epoch(1)), Err(DbError::NoEpoch { .. })));
    // Nothing is left to do until there is another epoch.
    assert_eq!(retain(&lock, Retention { images: 2, deltas: 4 }, &silent).unwrap(), Default::default());
    drop(lock);
    update_rows(&dir, &CLEAR_ROWS, "9,00\n");
    let lock = dir.lock().unwrap();
    let done = retain(&lock, Retention { images: 1, deltas: 2 }, &silent).unwrap();
    assert_eq!((done.shrunk, done.removed), (vec![Epoch(5)], vec![Epoch(4), Epoch(2), Epoch(3)]));
    assert_eq!(dir.open_latest().unwrap().catalog().epoch, Epoch(6), "the newest stays whole");
}

#[test]
fn epochs_without_a_rows_delta_go_whole() {
    let (_temp, dir) = folder();
    for _ in 0..3 {
        encode(&dir, &CLEAR, &Memory::numbered(100, 32)).unwrap();
    }
    let done = retain(&dir.lock().unwrap(), Retention { images: 2, deltas: 16 }, &silent).unwrap();
    assert_eq!((done.shrunk, done.removed), (vec![], vec![Epoch(1)]));
}

#[test]
fn the_number_of_a_remnant_is_not_given_again() {
    let (_temp, dir, table) = five_epochs();
    retain(&dir.lock().unwrap(), Retention { images: 2, deltas: 16 }, &silent).unwrap();
    for epoch in [4, 5] {
        std::fs::remove_file(dir.image_path(Epoch(epoch))).unwrap();
    }
    encode(&dir, &CLEAR_ROWS, &table).unwrap();
    assert_eq!(dir.epochs().unwrap(), [Epoch(4)], "after the remnant of 3");
}

#[test]
fn a_damaged_delta_keeps_its_image() {
    let (_temp, dir, _) = five_epochs();
    let path = dir.image_path(Epoch(2));
    let offset = dir.open_epoch(Epoch(2)).unwrap().header().entries.iter().find_map(|entry| {
        matches!(entry.part, sotto_db::image::header::FilePart::Scheme(DELTA)).then_some(entry.offset)
    });
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[offset.unwrap() as usize] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let failed = retain(&dir.lock().unwrap(), Retention { images: 2, deltas: 16 }, &silent);
    assert!(matches!(failed, Err(DbError::Image { problem: ImageProblem::Digest { .. }, .. })), "{failed:?}");
    assert!(path.exists() && dir.remnants().unwrap().is_empty());
    assert!(names(dir.path()).iter().all(|name| !name.ends_with(".tmp")), "nothing half-written stays");
}

#[test]
fn remnants_and_images_do_not_pass_for_each_other() {
    let (_temp, dir, _) = five_epochs();
    let image = dir.image_path(Epoch(3));
    assert!(ImageFile::open_remnant(&image).is_err(), "an image holds more");
    retain(&dir.lock().unwrap(), Retention { images: 2, deltas: 16 }, &silent).unwrap();
    let remnant = dir.remnant_path(Epoch(3));
    assert!(matches!(
        ImageFile::open(&remnant),
        Err(DbError::Image { problem: ImageProblem::Malformed { .. }, .. })
    ));
    // Renamed to another epoch's name, it is refused like a renamed image.
    std::fs::rename(&remnant, dir.remnant_path(Epoch(9))).unwrap();
    assert!(dir.open_delta_source(Epoch(9)).is_err());
}
