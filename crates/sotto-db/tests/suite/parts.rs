//! Tables in parts: the same bytes however they are made, and typed errors for every fault.

use crate::common::{Memory, encode, folder, key, names, options, update_rows};
use sotto_core::{Epoch, Image, PartIndex, SchemeEntry, Section};
use sotto_db::image::FileKind;
use sotto_db::parts::{cut_image, open_parts, part_path};
use sotto_db::progress::silent;
use sotto_db::{
    DbError, ImageFile, ImageProblem, PartProblem, PiecesToWrite, Retention, TableDir, encode_part,
    encode_pieces, retain,
};
use sotto_testkit::CLEAR;

const PARTS: u32 = 3;

/// A table with enough rows for three parts.
fn table(entry: &SchemeEntry) -> Memory {
    match entry.id.to_string().starts_with("ypir") {
        true => Memory::numbered(40, 12_000),
        false => Memory::numbered(4096, 1024),
    }
}

fn make(dir: &TableDir, entry: &SchemeEntry, table: &Memory, pieces: PiecesToWrite) -> Result<(), DbError> {
    encode_pieces(entry, &[table], &dir.lock()?, &options(&key()), pieces, &silent).map(drop)
}

fn front(dir: &TableDir) -> std::sync::Arc<ImageFile> {
    let front = dir.open_latest().unwrap();
    assert_eq!(front.piece(), FileKind::Front(PARTS));
    front
}

/// Bytes of the parts in a folder, in order.
fn held(dir: &TableDir) -> Vec<Vec<u8>> {
    let parts = open_parts(&front(dir)).unwrap();
    parts
        .iter()
        .map(|part| {
            part.verify(&silent).unwrap();
            part.section(Section::Resident).unwrap().to_vec()
        })
        .collect()
}

/// Bytes that the parts must hold.
fn expected_parts(entry: &SchemeEntry, whole: &ImageFile) -> Vec<Vec<u8>> {
    let params = whole.catalog().params.to_string();
    let resident = whole.section(Section::Resident).unwrap();
    let holds = |cut| (entry.server.parts.unwrap().ranges)(params.as_bytes(), cut).unwrap();
    let bytes = |cut| {
        let pieces = holds(cut).into_iter().map(|range| &resident[range.start as usize..range.end as usize]);
        pieces.collect::<Vec<_>>().concat()
    };
    PartIndex::all(PARTS).map(bytes).collect()
}

/// Parts are the same whether they are encoded together, one by one, or cut out of an image. Two
/// of the schemes below omit bytes that are not needed, and one does not.
fn check_all_ways(entry: &SchemeEntry) {
    let table = table(entry);
    let ((_a, whole), (_b, at_once), (_c, apart)) = (folder(), folder(), folder());
    encode(&whole, entry, &table).unwrap();
    let image = whole.open_latest().unwrap();
    let expected = expected_parts(entry, &image);
    assert!(expected.iter().all(|part| !part.is_empty()));

    make(&at_once, entry, &table, PiecesToWrite::All(PARTS)).unwrap();
    assert_eq!(held(&at_once), expected, "{}: at once", entry.id);
    front(&at_once).verify(&silent).unwrap();
    let files = names(at_once.path());
    assert_eq!(files.iter().filter(|name| name.ends_with(".sotto")).count(), 0, "{files:?}");

    make(&apart, entry, &table, PiecesToWrite::Front(PARTS)).unwrap();
    let refused = open_parts(&front(&apart)).unwrap_err();
    let missing = PartProblem::Missing { part: 0 };
    assert!(matches!(refused, DbError::Part { why, .. } if why == missing));
    let lock = apart.share().unwrap();
    let beside = apart.share().unwrap();
    assert!(matches!(apart.lock(), Err(DbError::Locked { .. })), "nobody makes an epoch meanwhile");
    for cut in PartIndex::all(PARTS) {
        let made = encode_part(entry, &table, &front(&apart), cut, Some(2), &silent).unwrap();
        let again = encode_part(entry, &table, &front(&apart), cut, Some(2), &silent).unwrap();
        assert!(!made.was_there && again.was_there && made.image == again.image);
    }
    drop((lock, beside));
    assert_eq!(held(&apart), expected, "{}: one by one", entry.id);
    assert_eq!(front(&apart).catalog().artifacts, image.catalog().artifacts);

    let cut = cut_image(entry, &image, &whole.lock().unwrap(), PARTS, &silent).unwrap();
    assert_eq!(held(&whole), expected, "{}: out of the image", entry.id);
    // A part encoded from the source is the same file.
    let path = part_path(&cut, PartIndex::new(1, PARTS).unwrap());
    let before = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    encode_part(entry, &table, &front(&whole), PartIndex::new(1, PARTS).unwrap(), None, &silent).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn all_ways_make_the_same_parts_of_simplepir() {
    check_all_ways(&simplepir::ENTRY);
}

#[test]
fn all_ways_make_the_same_parts_of_fspiral() {
    check_all_ways(&fspiral::ENTRY);
}

#[test]
fn all_ways_make_the_same_parts_of_ypir_sp() {
    check_all_ways(&ypir_sp::ENTRY);
}

#[test]
fn a_part_that_is_missing_doubled_damaged_or_of_another_epoch() {
    let (_temp, dir) = folder();
    let (entry, table) = (&simplepir::ENTRY, Memory::numbered(4096, 1024));
    make(&dir, entry, &table, PiecesToWrite::All(PARTS)).unwrap();
    make(&dir, entry, &table, PiecesToWrite::All(PARTS)).unwrap();
    let front = front(&dir);
    let path = |part| part_path(front.path(), PartIndex::new(part, PARTS).unwrap());
    let refused = |front: &ImageFile| match open_parts(front).unwrap_err() {
        DbError::Part { why, .. } => why,
        other => panic!("{other}"),
    };
    let good = std::fs::read(path(1)).unwrap();
    let replace = |bytes: &[u8]| {
        std::fs::remove_file(path(1)).unwrap();
        std::fs::write(path(1), bytes).unwrap();
    };

    replace(&std::fs::read(path(2)).unwrap());
    let doubled = FileKind::Part(PartIndex::new(2, PARTS).unwrap());
    assert_eq!(refused(&front), PartProblem::Misplaced { part: 1, found: doubled });

    let older = dir.open_epoch(Epoch(1)).unwrap();
    replace(&std::fs::read(part_path(older.path(), PartIndex::new(1, PARTS).unwrap())).unwrap());
    let other = PartProblem::OtherEpoch { part: 1, found: Epoch(1), expected: Epoch(2) };
    assert_eq!(refused(&front), other);

    replace(&good[..good.len() - 1]);
    assert!(matches!(
        open_parts(&front).unwrap_err(),
        DbError::Image { problem: ImageProblem::Length { .. }, .. }
    ));
    let mut damaged = good.clone();
    damaged[5000] ^= 1;
    replace(&damaged);
    let opened = open_parts(&front).unwrap();
    assert!(matches!(
        opened[1].verify(&silent).unwrap_err(),
        DbError::Image { problem: ImageProblem::Digest { .. }, .. }
    ));
    // A damaged part is made again, with the same bytes.
    let made = encode_part(entry, &table, &front, PartIndex::new(1, PARTS).unwrap(), None, &silent).unwrap();
    assert!(!made.was_there && std::fs::read(path(1)).unwrap() == good);

    assert!(matches!(
        ImageFile::open(&path(1)),
        Err(DbError::Image { problem: ImageProblem::Piece { .. }, .. })
    ));
    assert!(matches!(
        ImageFile::open_part(front.path()),
        Err(DbError::Image { problem: ImageProblem::Piece { .. }, .. })
    ));
    let mut others = Memory::numbered(4096, 1024);
    others.bytes[77] ^= 1;
    std::fs::remove_file(path(1)).unwrap();
    for (table, parts) in [(&others, PARTS), (&table, 2)] {
        let cut = PartIndex::new(1, parts).unwrap();
        let error = encode_part(entry, table, &front, cut, None, &silent).unwrap_err();
        assert!(matches!(error, DbError::OtherRows { .. } | DbError::NoFront { .. }), "{error}");
    }
    assert_eq!(refused(&front), PartProblem::Missing { part: 1 });
}

#[test]
fn what_cannot_be_cut_leaves_the_folder_as_it_was() {
    let (_temp, dir) = folder();
    let table = Memory::numbered(64, 32);
    let before = names(dir.path());
    let error = make(&dir, &CLEAR, &table, PiecesToWrite::All(2)).unwrap_err();
    assert!(matches!(error, DbError::CannotCut { .. }), "{error}");
    let error = make(&dir, &simplepir::ENTRY, &table, PiecesToWrite::All(1000)).unwrap_err();
    assert!(matches!(error, DbError::TooManyParts { parts: 1000, .. }), "{error}");
    let left = names(dir.path()).into_iter().filter(|name| name != "write.lock");
    assert_eq!(left.collect::<Vec<_>>(), before);
}

#[test]
fn an_update_of_parts_is_in_parts() {
    for entry in [&simplepir::ENTRY, &fspiral::ENTRY] {
        let table = table(entry);
        let ((_a, whole), (_b, cut)) = (folder(), folder());
        encode(&whole, entry, &table).unwrap();
        make(&cut, entry, &table, PiecesToWrite::All(PARTS)).unwrap();
        for dir in [&whole, &cut] {
            update_rows(dir, entry, format!("7,{}\n", "ab".repeat(1024)));
        }
        let image = whole.open_latest().unwrap();
        assert_eq!(held(&cut), expected_parts(entry, &image), "{}", entry.id);
        assert_eq!(front(&cut).catalog().artifacts, image.catalog().artifacts);
        assert_eq!(front(&cut).catalog().epoch, Epoch(2));

        // Nothing of the older epoch stays, and everything of the newest.
        let keep = Retention { images: 1, deltas: 1 };
        let done = retain(&cut.lock().unwrap(), keep, &silent).unwrap();
        assert_eq!(done.removed, [Epoch(1)]);
        let files = names(cut.path());
        assert!(!files.iter().any(|name| name.contains("00000001")), "{files:?}");
        assert_eq!(held(&cut).len(), PARTS as usize);
    }
}

#[test]
fn parts_without_a_front_are_leftovers() {
    let (_temp, dir) = folder();
    make(&dir, &simplepir::ENTRY, &Memory::numbered(4096, 1024), PiecesToWrite::All(PARTS)).unwrap();
    std::fs::remove_file(dir.front_path(Epoch(1))).unwrap();
    assert_eq!(dir.epochs().unwrap(), []);
    drop(dir.lock().unwrap());
    assert!(!names(dir.path()).iter().any(|name| name.contains("part")));
}
