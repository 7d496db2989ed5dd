//! Reading records from a matrix: each is a column, or some rows of one. And records as columns.

use crate::pieces::PartSection;
use rayon::prelude::*;
use sotto_core::{Misuse, RecordSource, Result};
use sotto_math::matrix::PanelLayout;
use sotto_math::matrix::{GROUP_BYTES, GROUP_COLS, PANEL_ROWS};
use std::ops::Range;

/// Columns that one thread reads, panel after panel: a run of them is contiguous in a panel, and a
/// single one would take one byte of every four.
const TOGETHER: usize = 32;

/// The records of a matrix. `place` gives the first row and the column of a record.
pub(super) struct Records<P> {
    pub(super) layout: PanelLayout,
    pub(super) held: PartSection,
    /// The piece of the matrix.
    pub(super) piece: usize,
    pub(super) records: u64,
    pub(super) record_bytes: usize,
    pub(super) place: P,
}

/// The piece of a column to read: `out.len()` bytes from a row on.
struct ColumnPiece<'a> {
    row: usize,
    column: usize,
    out: &'a mut [u8],
}

impl<P: Fn(u64) -> (usize, usize) + Send + Sync> Records<P> {
    fn piece<'a>(&self, record: u64, offset: u64, out: &'a mut [u8]) -> Result<ColumnPiece<'a>> {
        if record >= self.records {
            return Err(Misuse::IndexPastEnd { index: record, len: self.records }.into());
        }
        let end = offset.saturating_add(out.len() as u64);
        let within = usize::try_from(offset).ok().filter(|_| end <= self.record_bytes as u64);
        let offset = within.ok_or(Misuse::IndexPastEnd { index: end, len: self.record_bytes as u64 })?;
        let (first, column) = (self.place)(record);
        Ok(ColumnPiece { row: first + offset, column, out })
    }

    /// Fills pieces with equal rows of consecutive columns; `None` if the section does not have
    /// them.
    fn fill(&self, pieces: &mut [ColumnPiece<'_>]) -> Option<()> {
        let Some((first, end)) = pieces.first().map(|piece| (piece.row, piece.row + piece.out.len())) else {
            return Some(());
        };
        let (mut at, matrix) = (first, self.held.piece(self.piece));
        while at < end {
            let stop = end.min((at / PANEL_ROWS + 1) * PANEL_ROWS);
            let (in_panel, requested) =
                (at % PANEL_ROWS..at % PANEL_ROWS + (stop - at), at - first..stop - first);
            for pieces in pieces.chunk_by_mut(|a, b| a.column / GROUP_COLS == b.column / GROUP_COLS) {
                let column = pieces.first()?.column;
                let start =
                    self.layout.offset(at / PANEL_ROWS * PANEL_ROWS, column / GROUP_COLS * GROUP_COLS);
                let group = matrix.get(start..)?.first_chunk::<GROUP_BYTES>()?;
                let columns = PanelLayout::columns_of_group(group);
                for piece in pieces {
                    let bytes = columns.get(piece.column % GROUP_COLS)?.get(in_panel.clone())?;
                    piece.out.get_mut(requested.clone())?.copy_from_slice(bytes);
                }
            }
            at = stop;
        }
        Some(())
    }
}

impl<P: Fn(u64) -> (usize, usize) + Send + Sync> RecordSource for Records<P> {
    fn records(&self) -> u64 {
        self.records
    }

    fn record_bytes(&self) -> usize {
        self.record_bytes
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        if !out.len().is_multiple_of(self.record_bytes) {
            return Err(Misuse::Rule("the buffer must hold whole records").into());
        }
        let records = (first..).zip(out.chunks_exact_mut(self.record_bytes));
        let pieces = records.map(|(record, out)| self.piece(record, 0, out));
        let mut pieces: Vec<_> = pieces.collect::<Result<_>>()?;
        let beside = |a: &ColumnPiece<'_>, b: &ColumnPiece<'_>| (a.row, a.column + 1) == (b.row, b.column);
        let runs: Vec<_> = pieces.chunk_by_mut(beside).flat_map(|run| run.chunks_mut(TOGETHER)).collect();
        let filled = runs.into_par_iter().map(|run| self.fill(run)).collect::<Option<()>>();
        Ok(filled.ok_or(PAST_END)?)
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> Result<()> {
        let piece = self.piece(record, offset, out)?;
        Ok(self.fill(&mut [piece]).ok_or(PAST_END)?)
    }
}

const PAST_END: Misuse = Misuse::Rule("the record must be within the image");

/// Columns of records, some to each, one after the other; zeros after a record, and past the last one.
pub struct StackedColumns<'a> {
    /// The records.
    pub rows: &'a dyn RecordSource,
    /// Records in a column.
    pub stacked: u64,
    /// Bytes from one record in a column to the next.
    pub height: usize,
}

impl RecordSource for StackedColumns<'_> {
    fn records(&self) -> u64 {
        self.rows.records().div_ceil(self.stacked)
    }

    fn record_bytes(&self) -> usize {
        self.stacked as usize * self.height
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let (first, bytes) = (first * self.stacked, self.rows.record_bytes());
        let there = self.rows.records().saturating_sub(first).min((out.len() / self.height) as u64) as usize;
        let (records, past) = out.split_at_mut(there * self.height);
        past.fill(0);
        if bytes == self.height {
            return self.rows.read(first, records);
        }
        let mut tight = vec![0; there * bytes];
        self.rows.read(first, &mut tight)?;
        for (record, bytes) in records.chunks_exact_mut(self.height).zip(tight.chunks_exact(bytes)) {
            record.fill(0);
            record.iter_mut().zip(bytes).for_each(|(out, byte)| *out = *byte);
        }
        Ok(())
    }
}

/// Some consecutive records of a table.
pub struct RecordRange<'a> {
    /// The records of the table.
    pub rows: &'a dyn RecordSource,
    /// Those in the range.
    pub range: Range<u64>,
}

impl RecordSource for RecordRange<'_> {
    fn records(&self) -> u64 {
        self.range.end - self.range.start
    }

    fn record_bytes(&self) -> usize {
        self.rows.record_bytes()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        self.rows.read(self.range.start.saturating_add(first), out)
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> Result<()> {
        self.rows.read_part(self.range.start.saturating_add(record), offset, out)
    }
}

/// The records of several buckets, which have equally many, one bucket after the other.
pub struct JoinedRecords(pub Vec<Box<dyn RecordSource>>);

impl JoinedRecords {
    /// The bucket of a record, the record's number there, and those from it on to the bucket's end.
    fn place(&self, record: u64) -> Result<(&dyn RecordSource, u64, u64)> {
        let each = self.0.first().map_or(1, |bucket| bucket.records().max(1));
        let bucket = usize::try_from(record / each).ok().and_then(|bucket| self.0.get(bucket));
        let bucket = bucket.ok_or(Misuse::IndexPastEnd { index: record, len: self.records() })?;
        Ok((bucket.as_ref(), record % each, each - record % each))
    }
}

impl RecordSource for JoinedRecords {
    fn records(&self) -> u64 {
        self.0.iter().map(|bucket| bucket.records()).sum()
    }

    fn record_bytes(&self) -> usize {
        self.0.first().map_or(1, |bucket| bucket.record_bytes())
    }

    fn read(&self, mut first: u64, mut out: &mut [u8]) -> Result<()> {
        while !out.is_empty() {
            let (bucket, record, left) = self.place(first)?;
            let bytes = (left as usize).saturating_mul(self.record_bytes()).min(out.len());
            let (now, rest) = std::mem::take(&mut out).split_at_mut(bytes);
            bucket.read(record, now)?;
            (first, out) = (first + left, rest);
        }
        Ok(())
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> Result<()> {
        let (bucket, record, _) = self.place(record)?;
        bucket.read_part(record, offset, out)
    }
}
