//! Images and their artifacts: in pieces, missing, too long, cut short, damaged; full disks, bad
//! sectors, and records of another shape.

use super::subject::{MIDDLE, NARROW, Subject, Table, WIDE, refill_hints};
use super::wire::harmless;
use crate::memory::{FullDisk, MemoryRows, MemorySink, UnreadableRows};
use crate::rng::seeded;
use sotto_core::{AnyPrepare, Artifact, Error, Image, Misuse, RecordChange, Result, Section};
use std::io::ErrorKind;
use std::sync::Arc;

/// The report, the client and the image agree on the sizes of artifacts, and the report counts the
/// bytes that a server holds.
pub fn artifact_sizes(subject: &Subject) {
    for case in [NARROW, MIDDLE, WIDE] {
        let table = subject.table(case);
        let needs = begin(&table).needs();
        assert_eq!(needs.iter().map(|need| need.bytes).sum::<u64>(), table.report.costs.artifact_bytes);
        for need in needs {
            let artifact = table.image.artifact(need.artifact).expect("the encoder writes what clients need");
            assert_eq!(artifact.len() as u64, need.bytes);
        }
        let sections = table.image.sections().into_iter();
        let bytes: usize = sections.filter_map(|section| table.image.section(section)).map(<[u8]>::len).sum();
        assert_eq!(bytes as u64, table.report.costs.resident_bytes);
    }
}

/// The client is the same for any division of the bytes.
pub fn artifact_pieces(subject: &Subject) {
    let table = subject.table(NARROW);
    for size in [3, 64, 1000, usize::MAX] {
        let rng = &mut seeded("pieces");
        let mut prepare = (table.entry.prepare)(&table.params, rng).unwrap();
        for need in prepare.needs() {
            for chunk in table.image.artifact(need.artifact).unwrap().chunks(size) {
                prepare.absorb(need.artifact, chunk).unwrap();
                prepare.absorb(need.artifact, &[]).unwrap();
            }
        }
        let mut client = prepare.finish().unwrap();
        refill_hints(client.as_mut(), table.server.as_ref()).unwrap();
        table.check_row(client.as_mut(), 99, rng);
    }
}

/// An artifact that is incomplete, one byte too long, or not requested.
pub fn artifact_misuse(subject: &Subject) {
    let table = subject.table(NARROW);
    let unwanted = begin(&table).absorb(Artifact::HintDelta, &[0]);
    assert!(matches!(unwanted, Err(Error::Misuse(Misuse::UnexpectedArtifact(_)))), "{unwanted:?}");

    let needs = begin(&table).needs();
    for need in &needs {
        let bytes = table.image.artifact(need.artifact).unwrap();

        let mut short = begin(&table);
        for other in &needs {
            let bytes = table.image.artifact(other.artifact).unwrap();
            let cut = usize::from(other.artifact == need.artifact);
            short.absorb(other.artifact, &bytes[..bytes.len() - cut]).unwrap();
        }
        let finished = short.finish().map(|_| "a client");
        assert!(matches!(finished, Err(Error::Misuse(Misuse::NotPrepared { .. }))), "{finished:?}");

        let mut long = begin(&table);
        let absorbed = long.absorb(need.artifact, bytes).and_then(|()| long.absorb(need.artifact, &[0]));
        assert!(matches!(absorbed, Err(Error::Misuse(Misuse::UnexpectedArtifact(_)))), "{absorbed:?}");
    }
}

/// An artifact of the right size and the wrong content. The caller checks its digest; a scheme must
/// only not panic.
pub fn damaged_artifacts(subject: &Subject) {
    let table = subject.table(NARROW);
    let rng = &mut seeded("damaged artifacts");
    for need in begin(&table).needs() {
        for byte in [0x00, 0x7F, 0x80, 0xFF] {
            let section = Section::Public(need.artifact);
            let image = table.image.with(section, &vec![byte; need.bytes as usize]);
            match table.client_of(&image, rng) {
                Ok(mut client) => harmless(table.fetch(client.as_mut(), 0, rng)),
                Err(error) => assert!(matches!(error, Error::Peer(_)), "{error:?}"),
            }
        }
    }
}

fn begin(table: &Table) -> Box<dyn AnyPrepare> {
    (table.entry.prepare)(&table.params, &mut seeded("begin")).unwrap()
}

/// An image whose section that answers come from (the resident one, the rows, or of a downloadable
/// table the hint) is missing, shorter or longer than the parameters state.
pub fn cut_short(subject: &Subject) {
    for case in [NARROW, MIDDLE] {
        let table = subject.table(case);
        let sections = table.image.sections();
        let scanned = [Section::Resident, Section::Public(Artifact::Rows), Section::Public(Artifact::Hint)];
        let scanned = scanned.into_iter().find(|section| sections.contains(section)).expect("one of these");
        let resident = table.image.section(scanned).expect("the image has this section");
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
    if let Some(update_image) = subject.entry.server.update_image {
        let change = RecordChange { record: 0, offset: 0, bytes: vec![1] };
        let disk = FullDisk::holding(table.image.clone());
        storage(update_image(&table.params, &[change], &disk), ErrorKind::StorageFull);
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
