//! Any changes, compared with a matrix that is written from scratch.

use super::*;
use crate::matrix::{SectionOffset, write_matrix};
use proptest::prelude::*;
use sotto_core::{Image as _, RecordChange, Section, Sink as _};
use sotto_math::matrix::PanelLayout;
use sotto_testkit::memory::{MemoryRows, MemorySink};

/// Bytes of the section before the matrix.
const BEFORE: u64 = 64;

fn place() -> SectionOffset {
    SectionOffset { section: Section::Resident, start: BEFORE }
}

/// A sink with a matrix of these columns.
fn written(layout: PanelLayout, columns: &[u8]) -> MemorySink {
    let sink = MemorySink::new();
    sink.reserve(Section::Resident, BEFORE + layout.bytes() as u64).unwrap();
    write_matrix(layout, place(), &MemoryRows::new(layout.rows(), columns.to_vec()), &sink).unwrap();
    sink
}

/// Makes changes as they are drawn, and then with one in every `every` columns changed. Returns the
/// bytes that are written.
fn check(layout: PanelLayout, drawn: &[(usize, usize, Vec<u8>)], every: Option<usize>) -> u64 {
    let (l, m) = (layout.rows(), layout.cols());
    let mut columns: Vec<u8> = (0..l * m).map(|i| (i * 31 / 7) as u8).collect();
    let old = columns.clone();
    let sink = written(layout, &columns);
    let mut changes = Vec::new();
    let dense = every.into_iter().flat_map(|every| (0..m).step_by(every));
    let dense = dense.map(|column| (column, column % l, vec![column as u8; l - column % l]));
    for (column, row, bytes) in drawn.iter().cloned().chain(dense) {
        let (column, row) = (column % m, row % l);
        let bytes = bytes[..bytes.len().min(l - row)].to_vec();
        columns[column * l + row..][..bytes.len()].copy_from_slice(&bytes);
        changes.push(RecordChange { record: column as u64, offset: row as u64, bytes });
    }
    let before = sink.written();
    let panels = change_panels(layout, place(), &changes, &sink, |entries| {
        assert!(!entries.is_empty());
        let panel = entries[0].row / 64;
        assert!(entries.iter().all(|entry| entry.row / 64 == panel));
        Ok(entries.to_vec())
    });
    let entries = panels.unwrap().concat();
    let written_bytes = sink.written() - before;
    let by_row = (0..l).flat_map(|row| (0..m).map(move |column| (row, column)));
    let differing = by_row.filter_map(|(row, column)| {
        let at = column * l + row;
        let change = i16::from(columns[at] as i8) - i16::from(old[at] as i8);
        (change != 0).then_some(ByteChange { row: row as u32, column: column as u32, change })
    });
    assert!(entries.into_iter().eq(differing));
    let (changed, fresh) = (sink.into_image(), written(layout, &columns).into_image());
    assert!(changed.section(Section::Resident) == fresh.section(Section::Resident));
    written_bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_changed_matrix_is_a_fresh_one(
        (rows, cols) in (1usize..200, 1usize..400),
        drawn in prop::collection::vec((any::<usize>(), any::<usize>(), prop::collection::vec(any::<u8>(), 0..90)), 0..20),
        every in prop::option::of(1usize..40),
    ) {
        check(PanelLayout::new(rows, cols), &drawn, every);
    }
}

/// A panel with more bytes than are in memory at once, and gaps that are skipped.
#[test]
fn wide_matrices_change_in_windows() {
    let layout = PanelLayout::new(65, 20_000);
    assert_eq!(check(layout, &[], Some(1)), layout.bytes() as u64);
    let three = [(3, 0, vec![1; 65]), (4, 60, vec![2; 5]), (19_999, 64, vec![3])];
    assert_eq!(
        check(layout, &three, None),
        2 * 512 + 256,
        "groups of four columns: two in each panel, and the last"
    );
    // The same byte is changed twice, back to its old value: nothing differs.
    let [was, other] = [0u8, 9].map(|byte| (0, 0, vec![byte]));
    check(layout, &[other, was.clone()], None);
    assert_eq!(check(layout, &[was], None), 0, "what is as it was is not written");
    assert_eq!(check(layout, &[], None), 0);
}
