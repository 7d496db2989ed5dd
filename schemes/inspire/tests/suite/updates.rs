//! Records read back, and changed bytes.

use crate::{Table, bytes, literal};
use sotto_core::{Error, Image as _, Misuse, RecordChange, Section, Server as _, UpdateImage};
use sotto_inspire::Inspire;
use sotto_silent::MatrixScheme;
use sotto_silent::server::Server;
use sotto_testkit::memory::MemorySink;
use std::sync::Arc;

/// Two groups, the last column not full.
fn table() -> Table {
    Table::checked(literal([5000, 13, 2], [48, 49], [42, 46], [30, 20]), bytes(5000 * 13))
}

fn read(table: &Table) -> Vec<u8> {
    let rows = Server::<Inspire>::records(&table.params, Arc::new(table.image.clone())).unwrap();
    let mut all = vec![0; rows.records() as usize * rows.record_bytes()];
    rows.read(0, &mut all).unwrap();
    let mut part = vec![0; 100];
    rows.read_part(7, 3799, &mut part).unwrap();
    assert_eq!(part, all[7 * 5000 + 3799..][..100]);
    all
}

#[test]
fn changes_arrive() {
    let table = table();
    assert_eq!(read(&table), table.rows);
    // Bytes on both sides of a number's edge, twice the same byte, and one in the last column.
    let mut records = table.rows.clone();
    let changes = [(6, 3, vec![1, 2, 3]), (7, 4990, vec![7; 10]), (6, 4, vec![9]), (12, 3841, vec![5, 6])];
    let changes = changes.map(|(record, offset, bytes)| RecordChange { record, offset, bytes });
    for change in &changes {
        let at = change.record as usize * 5000 + change.offset as usize;
        records[at..at + change.bytes.len()].copy_from_slice(&change.bytes);
    }
    let sink = MemorySink::holding(table.image.clone());
    MatrixScheme::<Inspire>::update_image(&table.params, &changes, &sink).unwrap();
    let changed = Table::opened(table.params.clone(), records.clone(), sink.into_image());
    assert_eq!(read(&changed), records);
    // What a change makes is what encoding makes.
    let fresh = Table::checked(sotto_core::Params::literal(&table.params).clone(), records);
    let resident = |table: &Table| table.image.section(Section::Resident).unwrap().to_vec();
    assert!(resident(&changed) == resident(&fresh));
    let mut client = changed.client("prepare");
    for index in [6, 7, 12, 1] {
        let (_, _, record) = changed.lookup(&mut client, index, "changed");
        assert_eq!(record, changed.row(index));
    }
}

/// Bytes that are what they were have nothing packed anew, and changes past the end are refused before anything is written.
#[test]
fn changes_that_are_none() {
    let table = Table::checked(literal([100, 5, 2], [48, 49], [42, 46], [30, 20]), bytes(500));
    let update_image = |record, offset, bytes| {
        let sink = MemorySink::holding(table.image.clone());
        let done = MatrixScheme::<Inspire>::update_image(
            &table.params,
            &[RecordChange { record, offset, bytes }],
            &sink,
        );
        done.map(|()| sink.into_image().section(Section::Resident).unwrap().to_vec())
    };
    let same = update_image(4, 10, table.row(4)[10..20].to_vec()).unwrap();
    assert!(same == table.image.section(Section::Resident).unwrap());
    assert!(update_image(4, 100, vec![]).is_ok());
    for (record, offset) in [(5, 0), (4, 100), (4, u64::MAX), (u64::MAX, 0)] {
        let refused = update_image(record, offset, vec![0]);
        assert!(matches!(refused, Err(Error::Misuse(Misuse::IndexPastEnd { .. }))), "{record} {offset}");
    }
}
