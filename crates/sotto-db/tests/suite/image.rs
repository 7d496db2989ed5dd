//! Image files: which files open, which are refused, and that no half-written file stays.

use crate::common::{Memory, encode, folder, key, names};
use sotto_catalog::{CatalogError, SignedCatalog};
use sotto_core::{Artifact, Error, Image, Misuse, Section, Sink};
use sotto_db::image::header::{HEADER_BYTES, ImageHeader};
use sotto_db::progress::silent;
use sotto_db::{DbError, ImageFile, ImageProblem, ImageWriter};
use sotto_testkit::CLEAR;
use std::fs;
use std::path::{Path, PathBuf};

/// An image of 1000 rows of 24 bytes, as bytes, and a place to put damaged copies.
fn image() -> (tempfile::TempDir, Vec<u8>, PathBuf) {
    let (temp, dir) = folder();
    let summary = encode(&dir, &CLEAR, &Memory::numbered(1000, 24)).unwrap();
    let bytes = std::fs::read(summary.image).unwrap();
    let copy = temp.path().join("copy.sotto");
    (temp, bytes, copy)
}

fn open(path: &Path, bytes: &[u8]) -> Result<std::sync::Arc<ImageFile>, ImageProblem> {
    std::fs::write(path, bytes).unwrap();
    ImageFile::open(path).map_err(|error| match error {
        DbError::Image { problem, .. } => problem,
        other => panic!("{other}"),
    })
}

/// Changes the first page and corrects its digest, as a hostile writer would.
fn forge(mut bytes: Vec<u8>, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    change(&mut bytes);
    let mut hasher = blake3::Hasher::new();
    hasher.update(&bytes[..32]).update(&bytes[64..HEADER_BYTES]);
    bytes[32..64].copy_from_slice(hasher.finalize().as_bytes());
    bytes
}

#[test]
fn sections_are_aligned_and_whole() {
    let (_temp, bytes, copy) = image();
    let image = open(&copy, &bytes).unwrap();
    image.verify(&silent).unwrap();
    image.warm();
    let resident = image.section(Section::Resident).unwrap();
    let hint = image.section(Section::Public(Artifact::Hint)).unwrap();
    assert_eq!(resident.as_ptr() as usize % 4096, 0);
    assert_eq!(hint.as_ptr() as usize % 64, 0);
    assert_eq!(hint.len() as u64, image.catalog().artifacts[0].bytes);
    assert!(image.section(Section::Public(Artifact::HintDelta)).is_none());
    assert_eq!(image.catalog().rows, 1000);
}

#[test]
fn a_file_cut_short_anywhere_is_refused() {
    let (_temp, bytes, copy) = image();
    std::fs::write(&copy, &bytes).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&copy).unwrap();
    let step = bytes.len() / 150;
    let sections = (HEADER_BYTES + 2..bytes.len() - 1).rev().step_by(step);
    for length in [bytes.len() - 1].into_iter().chain(sections).chain((0..=HEADER_BYTES + 1).rev()) {
        file.set_len(length as u64).unwrap();
        match ImageFile::open(&copy).unwrap_err() {
            DbError::Image { problem: ImageProblem::NotAnImage, .. } => assert!(length < 8, "{length}"),
            DbError::Image { problem: ImageProblem::Length { have, .. }, .. } => {
                assert_eq!(have, length as u64);
            }
            other => panic!("{length}: {other}"),
        }
    }
}

#[test]
fn a_file_appended_to_is_refused() {
    let (_temp, mut bytes, copy) = image();
    bytes.push(0);
    assert!(matches!(open(&copy, &bytes), Err(ImageProblem::Length { .. })));
}

#[test]
fn a_flipped_bit_in_the_first_page_is_refused() {
    let (_temp, mut bytes, copy) = image();
    let length = bytes.len() as u64;
    for bit in 0..HEADER_BYTES * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        match ImageHeader::parse(&bytes[..HEADER_BYTES], length).unwrap_err() {
            ImageProblem::NotAnImage => assert!(bit < 64, "{bit}"),
            ImageProblem::Version { .. } => assert!((64..96).contains(&bit), "{bit}"),
            ImageProblem::Digest(part) => assert_eq!(part, "the header"),
            other => panic!("{bit}: {other}"),
        }
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    assert!(open(&copy, &bytes).is_ok());
}

#[test]
fn a_flipped_bit_in_a_section_is_found_by_verify_and_named() {
    let (_temp, mut bytes, copy) = image();
    let header = open(&copy, &bytes).unwrap().header().clone();
    for entry in &header.entries {
        for at in [0, entry.bytes / 2, entry.bytes - 1] {
            let at = (entry.offset + at) as usize;
            bytes[at] ^= 4;
            let opened = open(&copy, &bytes);
            match opened {
                // The catalog is small, and read on opening.
                Err(ImageProblem::Digest(part)) => {
                    assert_eq!((part, entry.part.name()), ("catalog", "catalog"))
                }
                Err(other) => panic!("{other}"),
                Ok(image) => match image.verify(&silent) {
                    Err(DbError::Image { problem: ImageProblem::Digest(part), .. }) => {
                        assert_eq!(part, entry.part.name());
                    }
                    other => panic!("{other:?}"),
                },
            }
            bytes[at] ^= 4;
        }
    }
}

#[test]
fn another_version_is_named() {
    let (_temp, mut bytes, copy) = image();
    bytes[8] = 2;
    let problem = open(&copy, &bytes).unwrap_err();
    assert!(matches!(problem, ImageProblem::Version { found: 2 }));
    assert!(
        problem
            .to_string()
            .contains("expected image format 1, got format 2: encode the table afresh, or upgrade")
    );
}

#[test]
fn other_files_are_no_images() {
    let (temp, _, copy) = image();
    for bytes in [&b""[..], b"x", b"start,end,value\n", &[0; 8192]] {
        assert!(matches!(open(&copy, bytes), Err(ImageProblem::NotAnImage)));
    }
    assert!(matches!(ImageFile::open(&temp.path().join("none")), Err(DbError::Io { .. })));
    assert!(ImageFile::open(temp.path()).is_err(), "a folder");
}

#[test]
fn a_header_that_contradicts_itself_is_refused() {
    let (_temp, bytes, copy) = image();
    let u64_at =
        |page: &mut [u8], at: usize, value: u64| page[at..at + 8].copy_from_slice(&value.to_le_bytes());
    let first = 64;
    let second = 128;
    type Change = Box<dyn FnOnce(&mut [u8])>;
    let lies: Vec<(&str, Change)> = vec![
        ("too many sections", Box::new(|page| page[12] = 64)),
        ("an unknown section", Box::new(move |page| page[first] = 11)),
        ("an unknown section", Box::new(move |page| page[first + 4] = 1)),
        ("sections overlap", Box::new(move |page| u64_at(page, first + 8, 0))),
        ("sections overlap", Box::new(move |page| u64_at(page, second + 8, 4096))),
        ("a section is not aligned", Box::new(move |page| u64_at(page, first + 8, 4096 + 64))),
        ("the end of a section overflows", Box::new(move |page| u64_at(page, first + 16, u64::MAX))),
        (
            "a section reaches past the end of the file",
            Box::new(move |page| u64_at(page, first + 16, 1 << 40)),
        ),
        ("a section is listed twice", Box::new(move |page| page[first] = page[second])),
        ("the file does not end with its last section", Box::new(|page| page[12] -= 1)),
        (
            "the file has no catalog",
            Box::new(|page| {
                let at = 64 + 64 * 3;
                let end = u64::from_le_bytes(page[16..24].try_into().unwrap());
                let offset = u64::from_le_bytes(page[at + 8..at + 16].try_into().unwrap());
                page[at] = 4; // a delta in its place
                assert!(offset < end);
            }),
        ),
        ("an artifact differs from the catalog's", Box::new(move |page| page[second + 32] ^= 1)),
    ];
    for (why, change) in lies {
        let forged = forge(bytes.clone(), change);
        let problem = open(&copy, &forged).unwrap_err();
        assert!(matches!(problem, ImageProblem::Malformed(found) if found == why), "{problem}: {why}");
    }
}

#[test]
fn any_first_page_gives_a_header_or_a_problem() {
    use proptest::prelude::*;
    let (_temp, bytes, _) = image();
    let page = bytes[..HEADER_BYTES].to_vec();
    let edits = proptest::collection::vec((8usize..400, any::<u8>()), 1..8);
    proptest!(|(edits in edits, length in any::<u64>(), cut in 0..=HEADER_BYTES)| {
        let mut page = page.clone();
        for (at, to) in edits {
            page[at] = to;
        }
        let page = forge(page, |_| {});
        let _ = ImageHeader::parse(&page[..cut], length);
        if let Ok(header) = ImageHeader::parse(&page, bytes.len() as u64) {
            for entry in &header.entries {
                prop_assert!(entry.offset + entry.bytes <= bytes.len() as u64);
            }
        }
    });
}

#[test]
fn a_signature_inside_must_be_right() {
    let (temp, dir) = folder();
    let other = dir.image_path(sotto_core::Epoch(9));
    let summary = encode(&dir, &CLEAR, &Memory::numbered(10, 4)).unwrap();
    let image = ImageFile::open(&summary.image).unwrap();
    let mut writer = ImageWriter::create_from(&other, &image, &silent).unwrap();
    writer.digest(None).unwrap();
    let mut signed = SignedCatalog::sign(image.catalog(), &key()).unwrap();
    signed.signature.0[3] ^= 1;
    writer.finish(&signed).unwrap();
    match ImageFile::open(&other) {
        Err(DbError::Image { problem: ImageProblem::Catalog(CatalogError::BadSignature), .. }) => {}
        found => panic!("{found:?}"),
    }
    drop(temp);
}

#[test]
fn a_writer_that_is_dropped_leaves_nothing() {
    let (_temp, dir) = folder();
    let path = dir.image_path(sotto_core::Epoch(1));
    let writer = ImageWriter::create(&path, &silent).unwrap();
    writer.reserve(Section::Resident, 1 << 20).unwrap();
    writer.write_at(Section::Resident, 5, b"something").unwrap();
    assert_eq!(names(dir.path()).len(), 1);
    drop(writer);
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn a_writer_keeps_its_rules() {
    let (_temp, dir) = folder();
    let writer = ImageWriter::create(&dir.image_path(sotto_core::Epoch(1)), &silent).unwrap();
    let misuse =
        |result: sotto_core::Result<()>| assert!(matches!(result, Err(Error::Misuse(_))), "{result:?}");
    let mut out = [0; 4];
    misuse(writer.write_at(Section::Resident, 0, b"x"));
    misuse(writer.read_at(Section::Resident, 0, &mut out));
    writer.reserve(Section::Resident, 10).unwrap();
    writer.reserve(Section::Public(Artifact::Hint), 0).unwrap();
    writer.write_at(Section::Resident, 6, b"abcd").unwrap();
    // A section that is reserved again with the same size keeps its bytes; unwritten ones are zero.
    writer.reserve(Section::Resident, 10).unwrap();
    misuse(writer.reserve(Section::Resident, 11));
    writer.read_at(Section::Resident, 4, &mut out).unwrap();
    assert_eq!(&out, b"\0\0ab");
    for (offset, length) in [(7, 4), (u64::MAX, 2), (11, 0)] {
        misuse(writer.write_at(Section::Resident, offset, &vec![0; length]));
    }
    assert!(matches!(
        writer.read_at(Section::Resident, 8, &mut out),
        Err(Error::Misuse(Misuse::IndexPastEnd { index: 12, len: 10 }))
    ));
    // A size larger than any disk is refused on reservation, not after hours of writing.
    assert!(writer.reserve(Section::Public(Artifact::HintDelta), 1 << 62).is_err());
    assert!(writer.reserve(Section::Public(Artifact::HintDelta), u64::MAX).is_err());
}

#[test]
fn an_epoch_that_is_there_is_not_overwritten() {
    let (_temp, dir) = folder();
    let summary = encode(&dir, &CLEAR, &Memory::numbered(10, 4)).unwrap();
    let before = std::fs::read(&summary.image).unwrap();
    let image = ImageFile::open(&summary.image).unwrap();
    let mut writer = ImageWriter::create_from(&summary.image, &image, &silent).unwrap();
    writer.digest(None).unwrap();
    let signed = SignedCatalog::sign(image.catalog(), &key()).unwrap();
    assert!(matches!(writer.finish(&signed), Err(DbError::Io { .. })));
    assert_eq!(std::fs::read(&summary.image).unwrap(), before);
    assert_eq!(names(dir.path()), ["epoch-00000001.sotto", "write.lock"]);
}

#[test]
fn a_file_that_is_written_to_while_it_is_open_is_told_by_its_seal() {
    let (temp, bytes, path) = image();
    fs::write(&path, &bytes).unwrap();
    let open = || ImageFile::open(&path).unwrap();
    let changed = |image: &ImageFile| {
        matches!(image.check(), Err(DbError::Image { problem: ImageProblem::Changed, .. }))
    };
    let first = open();
    assert!(first.check().is_ok() && first.seal() == open().seal());
    // Renaming the file, and putting another file in its place, do no harm.
    fs::rename(&path, temp.path().join("other")).unwrap();
    fs::write(&path, &bytes).unwrap();
    assert!(first.check().is_ok() && first.seal() != open().seal());
    first.verify(&silent).unwrap();
    let cut = open();
    fs::File::options().write(true).open(&path).unwrap().set_len(bytes.len() as u64 / 2).unwrap();
    assert!(changed(&cut));
    assert!(matches!(cut.verify(&silent), Err(DbError::Image { problem: ImageProblem::Changed, .. })));
    fs::write(&path, &bytes).unwrap();
    assert!(changed(&cut), "it never gets better");
    assert!(open().verify(&silent).is_ok());
}
