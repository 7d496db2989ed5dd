//! The server's half: writing records as both matrices, in bounded memory for any size of the table;
//! changing bytes of records in the first, with the columns of the second that follow from them; and
//! the first pass.

use super::{FRESH_BITS, HINT_BITS, ROW_BYTES, TwoPassLayout};
use crate::lwe::hint::{PanelReader, Workspace};
use crate::lwe::ring::{rounded, switch};
use crate::matrix::{
    ByteChange, Matrix, RowRange, SectionOffset, StackedColumns, write_changes, write_columns, write_matrix,
};
use crate::pieces::PartSection;
use rayon::prelude::*;
use sotto_core::{PartIndex, RecordChange, RecordSource, Result, Section, Sink};
use sotto_math::matrix::PANEL_ROWS;
use sotto_math::matrix::{PanelLayout, QueryPlanes};
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes both matrices, the second after the first, from the start of a reserved section on.
///
/// # Errors
/// Storage errors.
pub fn write(cut: &TwoPassLayout, section: Section, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
    let columns = StackedColumns { rows, stacked: cut.blocks, height: cut.record_bytes as usize };
    write_matrix(cut.first(), section, &columns, out)?;
    let hints = HintTable::new(cut, section, cut.rows(), out)?;
    write_columns(cut.second(), SectionOffset { section, start: cut.first_bytes() }, &hints, |_, _| {}, out)
}

/// The second matrix as a table: for each block, the rounded rows of its hint.
struct HintTable<'a> {
    cut: &'a TwoPassLayout,
    panels: PanelReader<'a>,
    /// Number of rows made so far; `total` is the number to make.
    done: AtomicU64,
    total: u64,
    out: &'a dyn Sink,
}

impl<'a> HintTable<'a> {
    /// The hint table of the first matrix at the start of a section. `total` is the number of rows
    /// that will be read.
    fn new(cut: &'a TwoPassLayout, section: Section, total: u64, out: &'a dyn Sink) -> Result<Self> {
        let panels = PanelReader::new(cut.first(), section, out)?;
        Ok(HintTable { cut, panels, done: AtomicU64::new(0), total, out })
    }
}

impl RecordSource for HintTable<'_> {
    fn records(&self) -> u64 {
        self.cut.second().cols() as u64
    }

    fn record_bytes(&self) -> usize {
        self.cut.second_rows() as usize
    }

    fn read(&self, first: u64, mut out: &mut [u8]) -> Result<()> {
        // Pieces end where panels do.
        let (mut row, mut pieces) = ((first * self.cut.record_bytes) as usize, Vec::new());
        while !out.is_empty() {
            let rows = PANEL_ROWS - row % PANEL_ROWS;
            let (piece, rest) = out.split_at_mut((rows * ROW_BYTES).min(out.len()));
            pieces.push((row, piece));
            (row, out) = (row + rows, rest);
        }
        pieces.into_par_iter().try_for_each_init(Workspace::default, |space, (row, piece)| {
            let (first, rows) = (row % PANEL_ROWS, piece.len() / ROW_BYTES);
            let mut into = piece.chunks_exact_mut(ROW_BYTES);
            self.panels.hint(space, row / PANEL_ROWS, first..first + rows, |h| {
                let bytes = into.next().map(|row| row.as_chunks_mut().0).unwrap_or_default();
                for (bytes, word) in bytes.iter_mut().zip(h) {
                    let [low, middle, high, _] = switch(*word, HINT_BITS).to_le_bytes();
                    *bytes = [low, middle, high];
                }
            })?;
            let done = self.done.fetch_add(rows as u64, Ordering::Relaxed) + rows as u64;
            self.out.progress("hint", done, self.total);
            Ok(())
        })
    }
}

/// Hint rows that are computed again at once: their changes take some 40 bytes for each of theirs.
const ROWS_AT_ONCE: u64 = 256;

/// Writes the new bytes of changes within the records, and the columns of the second matrix that they
/// change. `notify` is called with the changes of the second matrix, some columns at a time, ascending by (row, column).
///
/// # Errors
/// Storage errors, and those of `notify`.
pub fn update_image(
    cut: &TwoPassLayout,
    section: Section,
    changes: &[RecordChange],
    out: &dyn Sink,
    mut notify: impl FnMut(&[ByteChange]) -> Result<()>,
) -> Result<()> {
    let moved: Vec<RecordChange> = changes.iter().map(|change| moved(cut, change)).collect();
    let entries = write_changes(cut.first(), section, &moved, out)?;
    let mut blocks: Vec<u64> = entries.iter().map(|entry| u64::from(entry.row) / cut.record_bytes).collect();
    blocks.dedup();
    let hints = HintTable::new(cut, section, blocks.len() as u64 * cut.record_bytes, out)?;
    for blocks in blocks.chunks((ROWS_AT_ONCE / cut.record_bytes).max(1) as usize) {
        let mut columns = Vec::with_capacity(blocks.len());
        for run in blocks.chunk_by(|a, b| a + 1 == *b) {
            let mut bytes = vec![0; run.len() * hints.record_bytes()];
            hints.read(run.first().copied().unwrap_or_default(), &mut bytes)?;
            let column = |(record, bytes): (&u64, &[u8])| RecordChange {
                record: *record,
                offset: 0,
                bytes: bytes.to_vec(),
            };
            columns.extend(run.iter().zip(bytes.chunks_exact(hints.record_bytes())).map(column));
        }
        let place = SectionOffset { section, start: cut.first_bytes() };
        notify(&write_changes(cut.second(), place, &columns, out)?)?;
    }
    Ok(())
}

/// Converts a change of a record to one of the first matrix.
fn moved(cut: &TwoPassLayout, change: &RecordChange) -> RecordChange {
    let [column, block] = cut.place(change.record).map(u64::from);
    RecordChange {
        record: column,
        offset: block * cut.record_bytes + change.offset,
        bytes: change.bytes.clone(),
    }
}

/// The first matrix of a table, or some rows of it: the first piece of a section.
pub struct FirstPass {
    matrix: Matrix,
    query_bits: u32,
}

impl FirstPass {
    /// The rows of a part.
    pub fn new(cut: TwoPassLayout, part: PartIndex, query_bits: u32, held: PartSection) -> Self {
        let layout = RowRange::of(&cut.first(), part).layout;
        FirstPass { matrix: Matrix::new(layout, held, 0), query_bits }
    }

    /// The records of a whole table.
    pub fn records(cut: TwoPassLayout, held: PartSection) -> Box<dyn RecordSource> {
        let place = move |record| {
            let [column, block] = cut.place(record);
            (block as usize * cut.record_bytes as usize, column as usize)
        };
        Matrix::new(cut.first(), held, 0).cut_into(cut.records, cut.record_bytes as usize, place)
    }

    /// The layout of the rows.
    pub fn layout(&self) -> &PanelLayout {
        self.matrix.layout()
    }

    /// The byte planes of a first query.
    pub fn planes(&self, words: &[u64]) -> QueryPlanes {
        QueryPlanes::from_u64(words, self.query_bits.div_ceil(8) as usize, self.matrix.layout())
    }

    /// The first pass, for several queries at once: for each query, the fresh words of all rows.
    pub fn fresh(&self, queries: &[&QueryPlanes]) -> Vec<Vec<u64>> {
        let of_query = |mut y: Vec<u32>| {
            y.truncate(self.matrix.layout().rows());
            rounded(&y, self.query_bits, FRESH_BITS)
        };
        self.matrix.times_u32(queries).into_iter().map(of_query).collect()
    }
}
