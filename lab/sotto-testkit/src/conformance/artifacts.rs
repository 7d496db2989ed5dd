//! Artifacts: in pieces, missing, too long, damaged.

use super::refilled_client::refill_hints;
use super::subject::{MIDDLE, NARROW, Subject, Table, WIDE};
use super::wire::harmless;
use crate::rng::seeded;
use sotto_core::{AnyPrepare, Artifact, Error, Image, Misuse, Section};

/// The report, the client and the image agree on the sizes of artifacts, and the report counts the
/// bytes that a server holds.
pub fn sizes(subject: &Subject) {
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
pub fn pieces(subject: &Subject) {
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
pub fn misuse(subject: &Subject) {
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
pub fn damaged(subject: &Subject) {
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
