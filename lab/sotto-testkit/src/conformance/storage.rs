//! Images cut short, disks full, sectors bad, records of another shape.

use super::subject::{MIDDLE, NARROW, Subject};
use crate::memory::{FullDisk, MemoryRows, MemorySink, UnreadableRows};
use sotto_core::{Artifact, Error, Image, RecordChange, Result, Section};
use std::io::ErrorKind;
use std::sync::Arc;

/// An image whose section that answers come from (the resident one, or where there is none the
/// rows) is missing, shorter or longer than the parameters state.
pub fn cut_short(subject: &Subject) {
    for case in [NARROW, MIDDLE] {
        let table = subject.table(case);
        let sections = table.image.sections();
        let has_resident = sections.contains(&Section::Resident);
        let scanned = if has_resident { Section::Resident } else { Section::Public(Artifact::Rows) };
        let resident = table.image.section(scanned).expect("a server answers from one of the two");
        let len = resident.len();
        let longer = [resident, &[0; 64]].concat();
        let mut images = vec![table.image.without(scanned)];
        images.extend(
            [&[][..], &resident[..len / 2], &resident[..len - 1], &longer]
                .map(|bytes| table.image.with(scanned, bytes)),
        );
        for image in images {
            let len = image.section(scanned).map(<[u8]>::len);
            match (subject.entry.server.open)(&table.params, Arc::new(image)) {
                Err(Error::Peer(_)) => {}
                other => panic!("a section of {len:?} bytes gave {:?}", other.map(|_| "a server")),
            }
        }
    }
}

/// A disk that is full at once, half-way, and just before the end; and one that is full in a revision.
pub fn full_disk(subject: &Subject) {
    let table = subject.table(MIDDLE);
    for capacity in [0, table.written_bytes / 2, table.written_bytes - 1] {
        let disk = FullDisk::after(capacity);
        storage((subject.entry.server.encode)(&table.params, &table.records, &disk), ErrorKind::StorageFull);
    }
    if let Some(revise) = subject.entry.server.revise {
        let change = RecordChange { record: 0, offset: 0, bytes: vec![1] };
        let disk = FullDisk::holding(table.image.clone());
        storage(revise(&table.params, &[change], &disk), ErrorKind::StorageFull);
    }
}

/// A table that cannot be read to its end.
pub fn bad_sector(subject: &Subject) {
    let table = subject.table(MIDDLE);
    for lost in [0, table.report.records - 1] {
        let rows = UnreadableRows { rows: table.records.clone(), lost };
        let result = (subject.entry.server.encode)(&table.params, &rows, &MemorySink::new());
        storage(result, ErrorKind::InvalidData);
    }
}

/// One record more, one fewer, and wider ones.
pub fn other_shapes(subject: &Subject) {
    let table = subject.table(MIDDLE);
    let (records, width) = (table.report.records as usize, table.report.record_bytes as usize);
    for (records, width) in [(records + 1, width), (records - 1, width), (records, width + 1)] {
        let rows = MemoryRows::new(width, vec![0; records * width]);
        let result = (subject.entry.server.encode)(&table.params, &rows, &MemorySink::new());
        assert!(matches!(result, Err(Error::Misuse(_))), "{records} x {width}: {result:?}");
    }
}

#[track_caller]
fn storage(result: Result<()>, kind: ErrorKind) {
    match result {
        Err(Error::Storage(error)) => assert_eq!(error.kind(), kind),
        other => panic!("{kind:?} gave {other:?}"),
    }
}
