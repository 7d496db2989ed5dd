//! Rows that can be verified one by one, and the root that every catalog commits to.

use crate::common::{Memory, change_line, encode_with, folder, update_rows};
use sotto_catalog::Catalog;
use sotto_catalog::rows_root;
use sotto_core::{Artifact, Image, Record, RecordSource, SchemeEntry, Section};
use sotto_db::progress::silent;
use sotto_db::{DbError, EncodeOptions, ImageFile, ImageProblem, RowProofs, TableDir, UpdateSummary, audit};
use sotto_testkit::{CLEAR, CLEAR_TWO};
use std::sync::Arc;
use tempfile::TempDir;

const TREE: Section = Section::Public(Artifact::Tree);

/// A verifiable table of `rows` rows, with `headroom` more.
fn table(entry: &SchemeEntry, rows: usize, width: usize, headroom: u64) -> (TempDir, TableDir, Memory) {
    let (temp, dir) = folder();
    let table = Memory::numbered(rows, width);
    let change = |options: &mut EncodeOptions<'_>| {
        (options.verified, options.headroom, options.lookups_per_client) = (RowProofs::Yes, headroom, 1000);
    };
    encode_with(&dir, entry, &table, change).unwrap();
    (temp, dir, table)
}

fn update(entry: &SchemeEntry, dir: &TableDir, rows: &[(usize, Vec<u8>)]) -> UpdateSummary {
    let lines: String = rows.iter().map(|(row, bytes)| change_line(*row as u64, bytes)).collect();
    update_rows(dir, entry, lines)
}

/// A function that returns the records that a lookup of a row fetches.
fn looked_up(entry: &SchemeEntry, image: &Arc<ImageFile>) -> impl Fn(u64) -> Vec<Record> {
    let packing = image.catalog().terms(entry).unwrap().packing;
    let records: Box<dyn RecordSource> =
        (entry.server.records)(image.catalog().params.to_string().as_bytes(), image.clone()).unwrap();
    let width = packing.record_bytes() as usize;
    move |row| {
        let read = |record: u64| {
            let mut bytes = vec![0; width];
            records.read(record, &mut bytes).unwrap();
            Record::new(bytes)
        };
        packing.records_of(row).into_iter().map(|index| read(index.0)).collect()
    }
}

/// The tree as a client has it.
fn tree(image: &ImageFile) -> &[u8] {
    let Catalog { rows_root, rows, .. } = image.catalog();
    if rows_root.needs_tree(*rows) { image.section(TREE).unwrap() } else { &[] }
}

/// Checks that every row is stored and proved.
fn check(entry: &SchemeEntry, image: &Arc<ImageFile>, table: &Memory) {
    let (catalog, root) = (image.catalog(), image.catalog().rows_root);
    let packing = catalog.terms(entry).unwrap().packing;
    let records = looked_up(entry, image);
    for row in 0..catalog.rows {
        let records = records(row);
        assert_eq!(packing.extract(row, &records).unwrap(), table.row(row as usize), "row {row}");
        assert!(root.verifies(&packing, row, &records, tree(image)).unwrap(), "row {row}");
    }
    assert!(audit(entry, image, &silent, &|| true).unwrap());
    assert!(!audit(entry, image, &silent, &|| false).unwrap(), "it can be stopped");
}

/// Rows that share records, fill one, and span several; one leaf and many; with hints and without.
const SHAPES: [(&SchemeEntry, usize, usize); 9] = [
    (&CLEAR, 1, 5),
    (&CLEAR, 700, 3),
    (&CLEAR, 100, 32),
    (&CLEAR, 9, 2100),
    (&CLEAR_TWO, 5000, 40),
    (&simplepir::ENTRY, 3000, 20),
    (&simplepir::ENTRY, 40, 9000),
    (&fspiral::ENTRY, 5000, 256),
    (&bgvpir::ENTRY, 300, 64),
];

#[test]
fn every_row_is_proved_whatever_the_scheme() {
    for (entry, rows, width) in SHAPES {
        let (_temp, dir, table) = table(entry, rows, width, 0);
        check(entry, &dir.open_latest().unwrap(), &table);
    }
}

#[test]
fn no_other_byte_is_taken_for_a_row_or_its_proof() {
    for (entry, rows, width) in [(&CLEAR, 300, 9), (&CLEAR, 9, 2100), (&CLEAR_TWO, 5000, 40)] {
        let (_temp, dir, _) = table(entry, rows, width, 0);
        let image = dir.open_latest().unwrap();
        let root = image.catalog().rows_root;
        let packing = image.catalog().terms(entry).unwrap().packing;
        let records = looked_up(entry, &image);
        let (rows_end, path) = (packing.rows_bytes(), packing.path_offset());
        let width = packing.record_bytes();
        for row in [0, rows as u64 / 2, rows as u64 - 1] {
            for at in 0..width * packing.records_per_row() as u64 {
                let mut bytes: Vec<_> = records(row).iter().map(|record| record.bytes().to_vec()).collect();
                bytes[(at / width) as usize][(at % width) as usize] ^= 1 << (at % 8);
                let changed: Vec<_> = bytes.into_iter().map(Record::new).collect();
                let found = root.verifies(&packing, row, &changed, tree(&image)).unwrap();
                // The bytes between the rows and their proof are unused and never read.
                assert_eq!(found, (rows_end..path).contains(&at), "byte {at} of row {row}");
            }
            for other in 0..rows as u64 {
                let bytes =
                    |row| records(row).iter().map(|record| record.bytes().to_vec()).collect::<Vec<_>>();
                let same = bytes(other) == bytes(row);
                assert_eq!(root.verifies(&packing, row, &records(other), tree(&image)).unwrap(), same);
            }
        }
    }
}

#[test]
fn updates_keep_every_row_proved() {
    for (entry, rows, width) in SHAPES {
        let (_temp, dir, mut table) = table(entry, rows, width, 0);
        for round in 0..3u8 {
            let before = dir.open_latest().unwrap();
            let changed: Vec<usize> =
                [0, rows / 3, rows - 1].into_iter().take(1 + usize::from(round)).collect();
            let mut changes = Vec::new();
            for row in changed {
                let new: Vec<u8> = (0..width).map(|i| round ^ (row + 3 * i) as u8).collect();
                table.bytes[row * width..][..width].copy_from_slice(&new);
                if !changes.iter().any(|(other, _)| *other == row) {
                    changes.push((row, new));
                }
            }
            update(entry, &dir, &changes);
            let after = dir.open_latest().unwrap();
            check(entry, &after, &table);
            // The delta, if there is one, makes the new tree out of the old one.
            if let Some(delta) = after.section(Section::Public(Artifact::TreeDelta)) {
                let mut held = before.section(TREE).unwrap().to_vec();
                rows_root::patch(&mut held, delta).unwrap();
                assert_eq!(held, after.section(TREE).unwrap());
            }
        }
    }
}

#[test]
fn an_update_rewrites_one_group_of_records() {
    let (_temp, dir, _) = table(&CLEAR_TWO, 20_000, 40, 0);
    let image = dir.open_latest().unwrap();
    let levels = image.catalog().rows_root.path.unwrap();
    let summary = update(&CLEAR_TWO, &dir, &[(7, vec![1; 40])]);
    assert_eq!(summary.records_changed, 1 << levels, "the leaf, and one node in each of the others");
    let tree = dir.open_latest().unwrap();
    assert!(tree.section(TREE).unwrap().len() > 32, "the table has more than one group");
    let delta = tree.section(Section::Public(Artifact::TreeDelta)).unwrap().len();
    assert_eq!(delta, 4 + 32);
}

#[test]
fn rows_are_appended_and_proved() {
    for (entry, rows, width) in [(&CLEAR, 60, 9), (&CLEAR_TWO, 1000, 40), (&CLEAR, 5, 2100)] {
        let (_temp, dir, mut table) = table(entry, rows, width, 500);
        let last = rows + 300;
        update(entry, &dir, &[(last, vec![9; width])]);
        table.bytes.resize(last * width, 0);
        table.bytes.extend(vec![9; width]);
        check(entry, &dir.open_latest().unwrap(), &table);
    }
}

/// Updates of few rows, of some in every record, and of all, equal re-encoding: with proofs in the
/// records and without, and with a whitening seed that is drawn again.
fn check_changes(entry: &SchemeEntry, rows: usize, width: usize) {
    let hint = Section::Public(Artifact::Hint);
    for (verified, every) in [(RowProofs::Yes, 7), (RowProofs::No, 1), (RowProofs::No, 997)] {
        let (_temp, dir) = folder();
        let mut table = Memory::numbered(rows, width);
        let encode = |table: &Memory| {
            let change = |options: &mut EncodeOptions<'_>| {
                (options.verified, options.lookups_per_client) = (verified, 1000);
            };
            encode_with(&dir, entry, table, change).unwrap();
        };
        encode(&table);
        let changed: Vec<_> = (5..rows).step_by(every).map(|row| (row, vec![row as u8; width])).collect();
        for (row, bytes) in &changed {
            table.bytes[row * width..][..width].copy_from_slice(bytes);
        }
        let is_reencoded = update(entry, &dir, &changed).reencoded;
        let updated = dir.open_latest().unwrap();
        assert!(audit(entry, &updated, &silent, &|| true).unwrap());
        encode(&table);
        let encoded = dir.open_latest().unwrap();
        let case = format!("{} {verified:?}, every {every}", entry.id);
        assert_eq!(updated.catalog().rows_root, encoded.catalog().rows_root, "{case}");
        assert_eq!(is_reencoded, entry.server.whitening.is_some() && every < 100, "{case}");
        // Another whitening seed gives another image, until the update draws the seed again.
        if entry.server.whitening.is_none() || is_reencoded {
            for section in [Section::Resident, hint, TREE] {
                assert!(updated.section(section) == encoded.section(section), "{case}: {section:?}");
            }
        }
    }
}

#[test]
fn however_much_changes_it_is_as_if_encoded_afresh_with_simplepir() {
    check_changes(&simplepir::ENTRY, 3000, 20);
}

#[test]
fn however_much_changes_it_is_as_if_encoded_afresh_with_ypir_sp() {
    check_changes(&ypir_sp::ENTRY, 2000, 24);
}

#[test]
fn however_much_changes_it_is_as_if_encoded_afresh_with_fspiral() {
    check_changes(&fspiral::ENTRY, 3000, 256);
}

#[test]
fn an_image_of_other_rows_is_found_out() {
    for verified in [RowProofs::No, RowProofs::Yes] {
        for entry in [&CLEAR_TWO, &simplepir::ENTRY, &fspiral::ENTRY] {
            let (_temp, dir) = folder();
            let write = |table: &Memory| {
                encode_with(&dir, entry, table, |options| options.verified = verified).unwrap();
                dir.open_latest().unwrap()
            };
            let mut rows = Memory::numbered(500, 40);
            let image = write(&rows);
            assert!(audit(entry, &image, &silent, &|| true).unwrap());
            rows.bytes[1234] ^= 1;
            let forged = forge(&image, &write(&rows));
            let error = audit(entry, &forged, &silent, &|| true).unwrap_err();
            assert!(matches!(error, DbError::Image { problem: ImageProblem::Rows { .. }, .. }), "{error}");
        }
    }
}

/// The rows of one image under the catalog of another, with all digests correct, as a malicious
/// host could make it.
fn forge(publishers: &ImageFile, hosts: &ImageFile) -> Arc<ImageFile> {
    let mut bytes = std::fs::read(publishers.path()).unwrap();
    let entries = |image: &ImageFile| image.header().entries.clone();
    let resident = |entry: &&sotto_db::image::header::FilePartEntry| entry.part.name() == "resident";
    let (ours, theirs) = (entries(publishers), entries(hosts));
    let (at, from) = (ours.iter().find(resident).unwrap(), theirs.iter().find(resident).unwrap());
    let other = std::fs::read(hosts.path()).unwrap();
    let new = &other[from.offset as usize..][..from.bytes as usize];
    assert_eq!(at.bytes, from.bytes);
    bytes[at.offset as usize..][..at.bytes as usize].copy_from_slice(new);
    // Offset of the section's digest in the page. An entry has 64 bytes, and its last half is the
    // digest.
    let place = 64 + 64 * ours.iter().position(|entry| entry.part == at.part).unwrap();
    bytes[place + 32..][..32].copy_from_slice(blake3::hash(new).as_bytes());
    let page = blake3::Hasher::new().update(&bytes[..32]).update(&bytes[64..4096]).finalize();
    bytes[32..64].copy_from_slice(page.as_bytes());
    let path = hosts.path().with_file_name("epoch-00000001.sotto");
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, bytes).unwrap();
    let forged = ImageFile::open(&path).unwrap();
    forged.verify(&silent).unwrap();
    forged
}

/// The root as `spec/catalog.md` defines it, node by node.
fn defined(rows: &[u8], width: usize, leaf_rows: usize, levels: u32) -> [u8; 32] {
    let keyed = |word: &[u8; 4], bytes: &[u8]| {
        let key = [b"sotto 2026 rows root v1, ", word.as_slice(), b"..."].concat();
        *blake3::keyed_hash(&key.try_into().unwrap(), bytes).as_bytes()
    };
    let mut nodes: Vec<[u8; 32]> = Vec::new();
    for leaf in rows.chunks(leaf_rows * width) {
        let mut leaf = leaf.to_vec();
        leaf.resize(leaf_rows * width, 0);
        nodes.push(keyed(b"leaf", &leaf));
    }
    for _ in 0..levels {
        if nodes.len() % 2 == 1 {
            nodes.push([0; 32]);
        }
        nodes = nodes.as_chunks::<2>().0.iter().map(|pair| keyed(b"node", pair.as_flattened())).collect();
    }
    keyed(b"root", nodes.as_flattened())
}

#[test]
fn roots_are_as_they_are_defined() {
    for verified in [RowProofs::No, RowProofs::Yes] {
        for (entry, rows, width) in SHAPES {
            let (_temp, dir) = folder();
            let table = Memory::numbered(rows, width);
            encode_with(&dir, entry, &table, |options| options.verified = verified).unwrap();
            let root = dir.open_latest().unwrap().catalog().rows_root;
            assert_eq!(root.path.is_some(), verified == RowProofs::Yes);
            let defined = defined(&table.bytes, width, root.leaf_rows as usize, root.path.unwrap_or(0));
            assert_eq!(root.root.0, defined, "{rows} rows of {width}");
        }
    }
}

#[test]
fn what_is_cheap_is_verified_unasked() {
    let rows = Memory::numbered(20_000, 200);
    let chosen = |lookups_per_client, verified| {
        let (_temp, dir) = folder();
        let change = |options: &mut EncodeOptions<'_>| {
            (options.verified, options.lookups_per_client) = (verified, lookups_per_client);
        };
        encode_with(&dir, &simplepir::ENTRY, &rows, change).unwrap().path.is_some()
    };
    assert!(chosen(10_000, RowProofs::IfCheap));
    assert!(!chosen(10_000, RowProofs::No));
    // A client that makes few lookups is better off with short records, of which a path would be a
    // large part.
    assert!(!chosen(10, RowProofs::IfCheap));
    assert!(chosen(10, RowProofs::Yes));
}
