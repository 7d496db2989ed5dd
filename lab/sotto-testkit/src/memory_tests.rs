//! Tests of the memory sink and image, which other tests depend on.

use super::*;
use sotto_core::Error;

#[test]
fn sections_start_on_a_boundary_and_survive_copies() {
    let sink = MemorySink::new();
    for (bytes, section) in [(1, Section::Resident), (1000, Section::Public(Artifact::Hint))] {
        sink.reserve(section, bytes).unwrap();
        sink.write_at(section, bytes - 1, &[9]).unwrap();
    }
    let image = sink.into_image();
    for image in [image.clone(), image] {
        for section in image.sections() {
            let bytes = image.section(section).unwrap();
            assert_eq!(bytes.as_ptr().align_offset(64), 0);
            assert_eq!(bytes.last(), Some(&9));
        }
    }
}

#[test]
fn a_section_is_kept_at_its_size_and_cleared_at_another() {
    let sink = MemorySink::new();
    let mut byte = [0];
    for (bytes, expected) in [(4, 5), (4, 5), (5, 0)] {
        sink.reserve(Section::Resident, bytes).unwrap();
        sink.read_at(Section::Resident, 0, &mut byte).unwrap();
        assert_eq!(byte[0], if sink.written() == 0 { 0 } else { expected });
        sink.write_at(Section::Resident, 0, &[5]).unwrap();
    }
}

#[test]
fn nothing_is_written_outside_a_section() {
    let sink = MemorySink::new();
    assert!(matches!(sink.write_at(Section::Resident, 0, &[1]), Err(Error::Misuse(_))));
    sink.reserve(Section::Resident, 2).unwrap();
    for offset in [1, 2, u64::MAX] {
        assert!(matches!(sink.write_at(Section::Resident, offset, &[1, 1]), Err(Error::Misuse(_))));
    }
}

#[test]
fn a_disk_has_the_room_it_has() {
    let disk = FullDisk::after(3);
    disk.reserve(Section::Resident, 100).unwrap();
    disk.write_at(Section::Resident, 0, &[1, 1, 1]).unwrap();
    let full = disk.write_at(Section::Resident, 0, &[1]);
    assert!(matches!(full, Err(Error::Storage(error)) if error.kind() == io::ErrorKind::StorageFull));
}

#[test]
fn rows_past_the_end_are_refused() {
    let rows = MemoryRows::new(3, vec![0; 10]);
    assert_eq!(rows.records(), 3);
    assert!(rows.read(2, &mut [0; 3]).is_ok());
    for (first, bytes) in [(2, 6), (3, 3), (u64::MAX, 3)] {
        let past = rows.read(first, &mut vec![0; bytes]);
        assert!(matches!(past, Err(Error::Misuse(Misuse::IndexPastEnd { len: 3, .. }))), "{past:?}");
    }
    assert!(rows.read_part(2, 1, &mut [0; 2]).is_ok());
    for (record, offset) in [(2, 2), (3, 0), (0, u64::MAX), (u64::MAX, 0)] {
        assert!(rows.read_part(record, offset, &mut [0; 2]).is_err());
    }
}
