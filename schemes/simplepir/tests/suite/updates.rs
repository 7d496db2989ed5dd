//! A patched hint is a fresh hint, byte for byte, whichever way a row's change is sent.

use crate::setup::{HINT, Table, frodo, literal};
use proptest::prelude::*;
use sotto_core::{Artifact, Error, Image, PatchArtifact, RecordChange, Section, UpdateImage};
use sotto_silent::MatrixScheme;
use sotto_simplepir::SimplePir;
use sotto_simplepir::delta::{Delta, most_entries};
use sotto_testkit::memory::{MemoryImage, MemorySink};

const DELTA: Section = Section::Public(Artifact::HintDelta);

fn table(l: u64, m: u64) -> Table {
    let records = (0..l * m).map(|i| (i * i * 31 + i * 7) as u8).collect();
    Table::new(literal(l, m, 28, 12), records)
}

/// One of FrodoPIR.
fn dense(l: u64, m: u64) -> Table {
    let records = (0..l * m).map(|i| (i * i * 31 + i * 7) as u8).collect();
    Table::new(frodo(l, m), records)
}

fn revised(old: &Table, changes: &[RecordChange]) -> MemoryImage {
    let sink = MemorySink::holding(old.image.clone());
    MatrixScheme::<SimplePir>::update_image(&old.params, changes, &sink).unwrap();
    sink.into_image()
}

/// Revises, patches, and compares both with an image that is encoded afresh. Gives the delta.
fn check(old: &Table, changes: &[RecordChange]) -> Vec<u8> {
    let mut records = old.rows.clone();
    for RecordChange { record, offset, bytes } in changes {
        let start = *record as usize * old.params.record_bytes as usize + *offset as usize;
        records[start..start + bytes.len()].copy_from_slice(bytes);
    }
    let fresh = Table::new(sotto_core::Params::literal(&old.params).clone(), records);
    let image = revised(old, changes);
    for section in [Section::Resident, HINT] {
        assert!(image.section(section) == fresh.image.section(section), "{section:?}");
    }
    let delta = image.section(DELTA).unwrap().to_vec();
    let mut held = old.hint().to_vec();
    MatrixScheme::<SimplePir>::patch(&old.params, Artifact::Hint, &mut held, &delta).unwrap();
    assert!(held == fresh.hint(), "patched hint");
    delta
}

fn change(record: u64, offset: u64, bytes: &[u8]) -> RecordChange {
    RecordChange { record, offset, bytes: bytes.to_vec() }
}

#[test]
fn few_changes_are_sent_as_entries_and_many_as_rows() {
    for old in [table(3, 1500), dense(3, 1500)] {
        few_and_many(&old);
    }
}

fn few_and_many(old: &Table) {
    let (most, row_bytes) = (most_entries(&old.params), 4 + 4 * old.params.n());
    assert_eq!(most, row_bytes / 10);
    // Row 1 changes in one column more than entries are worth, row 2 in just as many as they are.
    let changes: Vec<_> = (0..=most as u64)
        .map(|i| {
            let at = (2 * i * 3) as usize;
            let last = if i == 7 { old.rows[at + 2] } else { !old.rows[at + 2] };
            change(2 * i, 1, &[old.rows[at + 1] ^ 0x81, last])
        })
        .collect();
    let bytes = check(old, &changes);
    let delta = Delta::take(&old.params, &bytes).unwrap();
    assert_eq!(delta.rows().map(|(row, _)| row).collect::<Vec<_>>(), [1]);
    assert_eq!(delta.entries().map(|entry| entry.row).collect::<Vec<_>>(), vec![2; most]);
    assert_eq!(bytes.len(), 16 + most * 10 + row_bytes);
}

#[test]
fn extreme_changes_and_none() {
    let old = Table::new(literal(70, 5, 28, 12), [0x80, 0x7f, 0, 0xff, 1].repeat(70));
    let bytes = check(&old, &[change(0, 0, &[0x7f, 0x80, 0, 0, 0]), change(4, 69, &[0x80])]);
    let delta = Delta::take(&old.params, &bytes).unwrap();
    assert!(delta.entries().any(|entry| entry.change == 255));
    assert!(delta.entries().any(|entry| entry.change == -255));
    for nothing in [vec![], vec![change(1, 2, old.row(1)[2..9].as_ref())], vec![change(4, 70, &[])]] {
        assert_eq!(check(&old, &nothing).len(), 16, "{nothing:?}");
    }
}

#[test]
fn the_later_of_two_changes_wins() {
    let old = table(5, 6);
    check(&old, &[change(3, 0, &[1, 2, 3, 4, 5]), change(3, 2, &[9]), change(3, 1, &[7, 7])]);
}

/// Hint rows of a dense matrix are computed from scratch once an eighth of the table changes.
#[test]
fn many_changes_of_a_dense_matrix() {
    let old = dense(70, 40);
    for columns in [2, 9] {
        let changes: Vec<_> = (0..columns).map(|column| change(column, 0, &[column as u8 + 1; 70])).collect();
        check(&old, &changes);
    }
}

#[test]
fn damaged_deltas_are_the_peers_fault_and_change_nothing() {
    let old = table(4, 900);
    let mut changes: Vec<_> = (0..900).map(|i| change(i, 1, &[!old.row(i)[1]])).collect();
    changes.extend([change(5, 0, &[!old.row(5)[0]]), change(5, 3, &[!old.row(5)[3]])]);
    let good = check(&old, &changes);
    let refused = |bytes: &[u8], what: &str| {
        let mut held = old.hint().to_vec();
        let result = MatrixScheme::<SimplePir>::patch(&old.params, Artifact::Hint, &mut held, bytes);
        assert!(matches!(result, Err(Error::Peer(_))), "{what}: {result:?}");
        assert!(held == old.hint(), "{what}");
    };
    (0..good.len()).for_each(|len| refused(&good[..len], "cut short"));
    refused(&[good.as_slice(), &[0]].concat(), "too long");

    let with = |at: usize, new: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + new.len()].copy_from_slice(new);
        bytes
    };
    // Two entries from byte 16 on, rows 0 and 3 of column 5; then row 1, from byte 36 on.
    for (what, at, new) in [
        ("magic", 0, &b"sphe"[..]),
        ("version", 4, &[2]),
        ("count of entries", 8, &[3]),
        ("huge count of entries", 8, &[0xff; 4]),
        ("huge count of rows", 12, &[0xff; 4]),
        ("no change", 24, &[0, 0]),
        ("change of 256", 24, &[0, 1]),
        ("change of -256", 24, &[0, 0xff]),
        ("row past the end", 26, &[4]),
        ("column past the end", 20, &[0x84, 3]),
        ("entries out of order", 16, &[3, 0, 0, 0, 6]),
        ("entry twice", 26, &[0]),
        ("whole row past the end", 36, &[4]),
        ("whole row with an entry", 36, &[3]),
        ("word at the modulus", 40, &4_294_957_057u32.to_le_bytes()),
        ("last word too large", good.len() - 4, &[0xff; 4]),
    ] {
        refused(&with(at, new), what);
    }
}

#[test]
fn held_bytes_that_are_no_hint_are_refused() {
    let old = table(2, 3);
    let image = revised(&old, &[change(1, 1, &[!old.row(1)[1]])]);
    let delta = image.section(DELTA).unwrap();
    for bad in [&old.hint()[1..], &[]] {
        assert!(
            MatrixScheme::<SimplePir>::patch(&old.params, Artifact::Hint, &mut bad.to_vec(), delta).is_err()
        );
    }
    let mut unreduced = old.hint().to_vec();
    unreduced[4096..4100].fill(0xff);
    assert!(MatrixScheme::<SimplePir>::patch(&old.params, Artifact::Hint, &mut unreduced, delta).is_err());
    let other =
        MatrixScheme::<SimplePir>::patch(&old.params, Artifact::HintDelta, &mut old.hint().to_vec(), delta);
    assert!(matches!(other, Err(Error::Misuse(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_set_of_changes(
        l in 1u64..140, m in 1u64..1200,
        places in prop::collection::vec((any::<u64>(), any::<u64>(), prop::collection::vec(any::<u8>(), 0..20)), 0..40),
        // And every so many columns all through, so that rows of the hint are made anew.
        every in prop::option::of(1usize..50),
    ) {
        let old = table(l, m);
        let dense = (0..m).step_by(every.unwrap_or(usize::MAX)).skip(usize::from(every.is_none()));
        let dense: Vec<_> = dense.map(|column| change(column, 0, &vec![column as u8; l as usize])).collect();
        let changes: Vec<_> = places
            .into_iter()
            .map(|(record, offset, mut bytes)| {
                let offset = offset % l;
                bytes.truncate((l - offset) as usize);
                RecordChange { record: record % m, offset, bytes }
            })
            .chain(dense)
            .collect();
        check(&old, &changes);
    }
}
