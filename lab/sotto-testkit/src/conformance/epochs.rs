//! Moving to the next epoch: a revised image is the image of the changed table, and a patched artifact
//! is that image's artifact.

use super::rows::packs;
use super::subject::{Case, MIDDLE, NARROW, Subject, Table, WIDE, changes};
use crate::memory::{MemoryImage, MemoryRows, MemorySink};
use crate::rng::seeded;
use sotto_core::{Artifact, CryptoRng, Error, Image, Misuse, RecordChange, Section};
use std::sync::Arc;

/// No change, one row, some rows, every row: deltas may have another form for many changes than for
/// few.
pub fn revised(subject: &Subject) {
    let update_image = subject.entry.server.update_image.unwrap();
    let rng = &mut seeded("revised");
    for (number, case) in [NARROW, MIDDLE, WIDE].into_iter().enumerate() {
        let table = subject.table(case);
        let some = [vec![case.rows - 1], table.some_rows(), (0..case.rows).collect()];
        // One row of the first table and every row of the last only, where an encoding takes a second:
        // `twice` changes some rows of the other.
        let some =
            some.into_iter().enumerate().filter(|(i, _)| !packs(subject) || (*i == number && number != 1));
        let none = (number == 0 || !packs(subject)).then(Vec::new);
        for rows in some.map(|(_, rows)| rows).chain(none) {
            let (changes, records) = change_rows(&table, &table.records, &rows, rng);
            let sink = MemorySink::holding(table.image.clone());
            update_image(&table.params, &changes, &sink).unwrap();
            let revised = sink.into_image();
            // Without changes the fresh image is the table's own.
            let fresh = if rows.is_empty() { table.image.clone() } else { encode(&table, &records) };
            check_epoch(&table, &table.image, &fresh, &revised, &records);
        }
    }
}

/// Two consecutive epochs, whose deltas differ in size.
pub fn twice(subject: &Subject) {
    let update_image = subject.entry.server.update_image.unwrap();
    let table = subject.table(MIDDLE);
    let rng = &mut seeded("twice");
    let (mut image, mut records) = (table.image.clone(), table.records.clone());
    for rows in [vec![0, 7, 128], vec![7]] {
        let (changes, next) = change_rows(&table, &records, &rows, rng);
        let sink = MemorySink::holding(image.clone());
        update_image(&table.params, &changes, &sink).unwrap();
        let revised = sink.into_image();
        check_epoch(&table, &image, &encode(&table, &next), &revised, &next);
        (image, records) = (revised, next);
    }
}

/// Deltas cut short, longer, and of arbitrary bytes; held artifacts of a wrong size.
pub fn damaged_deltas(subject: &Subject) {
    let (update_image, patch) = (subject.entry.server.update_image.unwrap(), subject.entry.patch.unwrap());
    let rng = &mut seeded("damaged deltas");
    for case in [NARROW, WIDE] {
        let table = subject.table(case);
        for rows in [vec![0], (0..case.rows).collect()] {
            let (changes, _) = change_rows(&table, &table.records, &rows, rng);
            let sink = MemorySink::holding(table.image.clone());
            update_image(&table.params, &changes, &sink).unwrap();
            let revised = sink.into_image();
            let delta = revised.artifact(Artifact::HintDelta).unwrap();
            let held = table.image.artifact(Artifact::Hint).unwrap();

            let cut = |len: usize| delta[..len].to_vec();
            let mut damaged = super::wire::damage(delta, rng);
            damaged.extend([0, 1, delta.len() / 2, delta.len() - 1].map(cut));
            damaged.push([delta, &[0]].concat());
            for delta in damaged {
                let result = patch(&table.params, Artifact::Hint, &mut held.to_vec(), &delta);
                assert!(matches!(result, Ok(()) | Err(Error::Peer(_))), "{result:?}");
            }
            for held in [&held[..held.len() - 1], &held[..0], &[held, &[0]].concat()] {
                let result = patch(&table.params, Artifact::Hint, &mut held.to_vec(), delta);
                assert!(matches!(result, Err(Error::Peer(_))), "{result:?}");
            }
        }
    }
}

/// Changes past the last record, and past a record's last byte.
pub fn past_the_end(subject: &Subject) {
    let update_image = subject.entry.server.update_image.unwrap();
    let table = subject.table(NARROW);
    let (records, width) = (table.report.records, table.report.record_bytes);
    for (record, offset) in [(records, 0), (u64::MAX, 0), (0, width), (0, u64::MAX)] {
        let sink = MemorySink::holding(table.image.clone());
        let change = RecordChange { record, offset, bytes: vec![1] };
        let result = update_image(&table.params, &[change], &sink);
        assert!(
            matches!(result, Err(Error::Misuse(Misuse::IndexPastEnd { .. }))),
            "{record} {offset}: {result:?}"
        );
    }
}

/// Random bytes for some rows: the changes, and the records with them applied.
pub(super) fn change_rows(
    table: &Table,
    records: &MemoryRows,
    rows: &[u64],
    rng: &mut dyn CryptoRng,
) -> (Vec<RecordChange>, MemoryRows) {
    let Case { row_bytes, .. } = table.case;
    let mut all = Vec::new();
    let mut changed = records.clone();
    for row in rows {
        let mut bytes = vec![0; row_bytes as usize];
        rng.fill_bytes(&mut bytes);
        for change in changes(&table.packing, *row, &bytes) {
            let start = (change.record * table.report.record_bytes + change.offset) as usize;
            changed.bytes_mut()[start..start + change.bytes.len()].copy_from_slice(&change.bytes);
            all.push(change);
        }
    }
    (all, changed)
}

/// A fresh image of records.
fn encode(table: &Table, records: &MemoryRows) -> MemoryImage {
    let sink = MemorySink::new();
    (table.entry.server.encode)(&table.params, records, &sink).unwrap();
    sink.into_image()
}

/// Checks that a revised image is the fresh one, that the old artifact with the delta is the fresh
/// one's, and that the changed records come back.
fn check_epoch(
    table: &Table,
    old: &MemoryImage,
    fresh: &MemoryImage,
    revised: &MemoryImage,
    records: &MemoryRows,
) {
    for section in fresh.sections() {
        assert!(revised.section(section) == fresh.section(section), "{section:?} differs from a fresh one");
    }

    if let Some(patch) = table.entry.patch {
        let hint = Section::Public(Artifact::Hint);
        let delta = revised.artifact(Artifact::HintDelta).expect("a scheme that patches writes deltas");
        let mut held = old.section(hint).unwrap().to_vec();
        patch(&table.params, Artifact::Hint, &mut held, delta).unwrap();
        assert!(Some(&held[..]) == fresh.section(hint), "the patched hint differs from a fresh one");
    }

    let rng = &mut seeded("after");
    let mut client = table.client_of(revised, rng).unwrap();
    let server = (table.entry.server.open)(&table.params, Arc::new(revised.clone())).unwrap();
    let session = server.admit(&client.keys()).unwrap();
    for record in table.some_records() {
        let (queries, pending) = client.query(sotto_core::RecordIndex(record), rng).unwrap();
        let answers: Vec<_> = queries
            .iter()
            .map(|query| super::subject::single(server.as_ref(), &session, query).unwrap())
            .collect();
        let got = client.recover(pending, &answers).unwrap();
        let width = table.report.record_bytes as usize;
        assert!(got.bytes() == &records.bytes()[record as usize * width..][..width], "record {record}");
    }
}
