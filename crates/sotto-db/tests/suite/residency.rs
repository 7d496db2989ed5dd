//! Residency of images: answers are computed from the mapped file, or from a copy on huge pages
//! while the budget allows it.

use crate::common::{Memory, encode, folder};
use sotto_core::{Image, Section};
use sotto_db::residency::PlacementReason;
use sotto_db::{CopyBudget, ImageFile, Residency, ResidentImage};
use sotto_testkit::CLEAR;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// An image of 12 MiB whose file was written page by page, as scattered writes would.
fn image() -> (tempfile::TempDir, Arc<ImageFile>) {
    let (temp, dir) = folder();
    let summary = encode(&dir, &CLEAR, &Memory::numbered(3 << 14, 256)).unwrap();
    let path = temp.path().join("pages.sotto");
    let mut file = File::create(&path).unwrap();
    fs::read(summary.image).unwrap().chunks(4096).for_each(|page| file.write_all(page).unwrap());
    (temp, open(&path))
}

fn open(path: &Path) -> Arc<ImageFile> {
    ImageFile::open(path).unwrap()
}

#[test]
fn every_residency_has_the_same_bytes() {
    let (_temp, file) = image();
    for residency in [Residency::Auto, Residency::Copy, Residency::Map] {
        let room = CopyBudget::new(Some(1 << 30));
        let image = ResidentImage::of(file.clone(), residency, &room);
        let mapped = image.section(Section::Resident).unwrap().as_ptr();
        assert_eq!(image.residence(), None);
        let residence = image.decide_placement().unwrap();
        assert_eq!((image.residence(), image.decide_placement().ok()), (Some(residence), Some(residence)));
        let section = image.section(Section::Resident).unwrap();
        assert!(Some(section) == file.section(Section::Resident), "{residency:?}");
        assert_eq!(section.as_ptr() != mapped, residence.is_copy);
        assert_eq!(room.taken(), if residence.is_copy { residence.bytes } else { 0 });
        assert_eq!(residence.bytes, section.len() as u64);
        let copied = match (residency, residence.why) {
            (Residency::Copy, PlacementReason::Requested)
            | (Residency::Auto, PlacementReason::FileOnSmallPages) => true,
            (Residency::Map, PlacementReason::Requested) => false,
            // A file system that has only huge pages, or a system without any.
            (
                Residency::Auto,
                PlacementReason::FileOnHugePages | PlacementReason::NoHugePages | PlacementReason::Unknown,
            ) => false,
            other => panic!("{other:?}"),
        };
        assert_eq!(residence.is_copy, copied, "{residence}");
    }
}

#[test]
fn a_table_that_was_copied_is_in_memory_once() {
    let (_temp, file) = image();
    let Some(before) = file.pages(Section::Resident) else { return };
    file.verify(&sotto_db::progress::silent).unwrap();
    assert!(file.pages(Section::Resident).unwrap().resident > before.bytes / 2, "all of it was read");
    let image = ResidentImage::of(file.clone(), Residency::Copy, &CopyBudget::new(Some(1 << 30)));
    image.decide_placement().unwrap();
    let after = file.pages(Section::Resident).unwrap();
    // Sections are not aligned to huge pages, so that one at each end may stay.
    assert!(after.resident <= before.bytes / 4, "{after:?}");
    assert!(
        image.section(Section::Resident) == file.section(Section::Resident),
        "it can be read all the same"
    );
    file.check().unwrap();
}

#[test]
fn a_copy_that_goes_leaves_its_room_to_the_next() {
    let (_temp, file) = image();
    let bytes = file.section(Section::Resident).unwrap().len() as u64;
    let room = CopyBudget::new(Some(bytes + 1));
    let held = ResidentImage::of(file.clone(), Residency::Copy, &room);
    held.decide_placement().unwrap();
    assert_eq!((room.taken(), room.left()), (bytes, 1));
    let waits = ResidentImage::of(file.clone(), Residency::Auto, &room);
    let first = waits.decide_placement().unwrap();
    assert!(!first.is_copy);
    drop(held);
    assert_eq!((room.taken(), room.left()), (0, bytes + 1));
    // The copy was refused only because of the budget, so it is tried again.
    let second = waits.decide_placement().unwrap();
    assert_eq!(
        second.is_copy,
        first.why == PlacementReason::OverCopyBudget && second.why == PlacementReason::FileOnSmallPages,
        "{first}; {second}"
    );
    assert_eq!(room.taken(), if second.is_copy { bytes } else { 0 });
    drop(waits);
    assert_eq!(room.taken(), 0);
}

#[test]
fn what_an_image_lies_on_is_said() {
    let (_temp, file) = image();
    let Some(before) = file.pages(Section::Resident) else { return };
    assert_eq!(before.bytes, file.section(Section::Resident).unwrap().len() as u64);
    // A few samples of an unread file are read.
    let sampled = file.huge_share().unwrap();
    file.verify(&sotto_db::progress::silent).unwrap();
    let all = file.pages(Section::Resident).unwrap();
    assert!(before.resident <= all.resident && all.resident * 10 >= all.bytes * 9, "{before:?} {all:?}");
    assert!((sampled - all.huge_share().unwrap()).abs() <= 0.5, "{sampled} {all:?}");
    assert_eq!(file.huge_share(), all.huge_share());
}
