//! Changing bytes of a matrix.

#[cfg(feature = "server")]
pub use writing::{change_panels, write_changes};

/// A changed byte of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteChange {
    /// Row of the matrix: offset in the record.
    pub row: u32,
    /// Column of the matrix: the record.
    pub column: u32,
    /// New value minus old value, as signed bytes.
    pub change: i16,
}

#[cfg(feature = "server")]
mod writing {
    use crate::matrix::{ByteChange, ScaledLayout, SectionOffset};
    use rayon::prelude::*;
    use sotto_core::{Misuse, RecordChange, Result, Sink};
    use sotto_math::matrix::{GROUP_BYTES, GROUP_COLS, PANEL_ROWS, PanelLayout};

    /// Bytes of a gap that is read and written again rather than starting another call after it: a
    /// call takes about as long.
    const GAP: usize = 4096;

    /// Maximum bytes of a panel that are in memory at once, for each thread.
    const WINDOW: usize = 1 << 20;

    /// The piece of a change that one panel has.
    struct PanelChange<'a> {
        panel: u32,
        column: u32,
        /// The first row, counted from the start of the panel.
        row: u32,
        bytes: &'a [u8],
    }

    impl PanelChange<'_> {
        /// The group of columns that the piece is in.
        fn group(&self) -> usize {
            self.column as usize / GROUP_COLS
        }
    }

    /// Writes the new bytes and returns the differences from the old ones, ascending by (row,
    /// column). Memory is about 40 bytes for each piece of a change in a panel, and 24 for each
    /// byte that differs.
    ///
    /// # Errors
    /// The errors of [`change_panels`].
    pub fn write_changes(
        layout: PanelLayout,
        at: impl Into<SectionOffset>,
        changes: &[RecordChange],
        out: &dyn Sink,
    ) -> Result<Vec<ByteChange>> {
        Ok(change_panels(layout, at, changes, out, |entries| Ok(entries.to_vec()))?.concat())
    }

    /// Writes the new bytes, panel by panel, and calls `hear` with the differences of each panel
    /// that has some: ascending by (row, column), after the panel is written. The results of `hear`
    /// are returned in the order of the panels. Memory is about 40 bytes for each piece of a change
    /// in a panel, and for each thread a MiB and the differences of one panel.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`] for a change outside the table; storage errors, and those of
    /// `hear`.
    pub fn change_panels<T: Send>(
        layout: impl Into<ScaledLayout>,
        at: impl Into<SectionOffset>,
        changes: &[RecordChange],
        out: &dyn Sink,
        hear: impl Fn(&[ByteChange]) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let layout: ScaledLayout = layout.into();
        let mut pieces = Vec::with_capacity(changes.len());
        for change in changes {
            let (record, mut row) = in_table(&layout, change)?;
            let (column, scale) = (record / layout.scales, record % layout.scales);
            let mut bytes = change.bytes.as_slice();
            while !bytes.is_empty() {
                let (panel, first) =
                    (row / PANEL_ROWS as u32 * layout.scales + scale, row % PANEL_ROWS as u32);
                let (now, rest) = bytes.split_at(bytes.len().min(PANEL_ROWS - first as usize));
                pieces.push(PanelChange { panel, column, row: first, bytes: now });
                (row, bytes) = (row + now.len() as u32, rest);
            }
        }
        // The sort is stable: of two changes to one byte, the later one is written later.
        pieces.par_sort_by_key(|piece| (piece.panel, piece.column));
        let panels: Vec<&[PanelChange<'_>]> = pieces.chunk_by(|a, b| a.panel == b.panel).collect();
        let panel = Panel { layout: layout.matrix, place: at.into(), out };
        let results = panels.par_iter().map(|pieces| {
            let entries = panel.write(pieces)?;
            if entries.is_empty() { Ok(None) } else { hear(&entries).map(Some) }
        });
        Ok(results.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// A panel of a matrix in an image.
    struct Panel<'a> {
        layout: PanelLayout,
        place: SectionOffset,
        out: &'a dyn Sink,
    }

    impl Panel<'_> {
        /// Writes the pieces of one panel, ascending by column.
        fn write(&self, pieces: &[PanelChange<'_>]) -> Result<Vec<ByteChange>> {
            // The differences of each row, ascending by column since the pieces are.
            let mut rows = vec![Vec::new(); PANEL_ROWS];
            let near =
                |a: &PanelChange<'_>, b: &PanelChange<'_>| (b.group() - a.group()) * GROUP_BYTES <= GAP;
            for mut pieces in pieces.chunk_by(near) {
                while let Some(first) = pieces.first() {
                    let end = first.group() + WINDOW / GROUP_BYTES;
                    let (now, rest) = pieces.split_at(pieces.partition_point(|piece| piece.group() < end));
                    self.write_window(now, &mut rows)?;
                    pieces = rest;
                }
            }
            rows.iter_mut().for_each(|row| row.retain(|entry: &ByteChange| entry.change != 0));
            Ok(rows.concat())
        }

        /// Writes pieces that are close to each other: reads everything from the first of them to
        /// the last.
        fn write_window(&self, pieces: &[PanelChange<'_>], rows: &mut [Vec<ByteChange>]) -> Result<()> {
            let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return Ok(()) };
            let row = first.panel * PANEL_ROWS as u32;
            let start = self.layout.offset(row as usize, first.group() * GROUP_COLS) as u64;
            let mut window = vec![0; (last.group() - first.group() + 1) * GROUP_BYTES];
            self.out.read_at(self.place.section, self.place.start + start, &mut window)?;
            let mut differs = false;
            for piece in pieces {
                let (group, column) = (piece.group() - first.group(), piece.column as usize % GROUP_COLS);
                let cells = window.chunks_exact_mut(GROUP_BYTES).nth(group).unwrap_or_default();
                let cells = cells.iter_mut().skip(column).step_by(GROUP_COLS);
                let cells = cells.zip(rows.iter_mut()).skip(piece.row as usize).zip(piece.bytes);
                for (((cell, entries), byte), row) in cells.zip(row + piece.row..) {
                    let change = i16::from(*byte as i8) - i16::from(*cell as i8);
                    *cell = *byte;
                    differs |= change != 0;
                    match entries.last_mut() {
                        // The byte was changed before.
                        Some(entry) if entry.column == piece.column => entry.change += change,
                        _ if change != 0 => entries.push(ByteChange { row, column: piece.column, change }),
                        _ => {}
                    }
                }
            }
            if !differs {
                return Ok(());
            }
            self.out.write_at(self.place.section, self.place.start + start, &window)
        }
    }

    /// The record and first row of a change, if the whole change is inside the table.
    fn in_table(layout: &ScaledLayout, change: &RecordChange) -> Result<(u32, u32)> {
        let (l, m) = (layout.record_rows() as u64, layout.records() as u64);
        if change.record >= m {
            return Err(Misuse::IndexPastEnd { index: change.record, len: m }.into());
        }
        let end = change.offset.saturating_add(change.bytes.len() as u64);
        if end > l {
            return Err(Misuse::IndexPastEnd { index: end, len: l }.into());
        }
        // Both are at most 2^20 by the check of the parameters.
        Ok((change.record as u32, change.offset as u32))
    }
}

#[cfg(feature = "server")]
#[cfg(test)]
mod tests {
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
}
