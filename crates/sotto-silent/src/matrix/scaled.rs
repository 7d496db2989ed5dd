//! Matrices with several records in a column, each at a [scale](crate::plain_modulus::PlainModulus) of
//! its own. Panels of 64 rows of the records take turns: panel `p` of the record at scale `k` of `s` is
//! panel `s p + k` of the matrix, so that the rows of a group are consecutive. Record `r` is in column
//! `r / s`, at scale `r` modulo `s`.

use sotto_core::{Misuse, RecordSource, Result};
use sotto_math::matrix::{PANEL_ROWS, PanelLayout};

/// The layout of a matrix, and the records in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScaledLayout {
    /// The layout of the matrix.
    pub matrix: PanelLayout,
    /// Records in a column, each at a scale of its own; 1 if a column is a record.
    pub scales: u32,
}

impl ScaledLayout {
    /// Rows of a record, with padding where there are several scales.
    pub(super) fn record_rows(&self) -> usize {
        self.matrix.rows() / self.scales as usize
    }

    /// Number of records that there is space for.
    pub(super) fn records(&self) -> usize {
        self.matrix.cols() * self.scales as usize
    }
}

impl From<PanelLayout> for ScaledLayout {
    /// A layout whose columns are records.
    fn from(matrix: PanelLayout) -> Self {
        ScaledLayout { matrix, scales: 1 }
    }
}

/// Bytes of a column of some records.
const fn column_bytes(record_bytes: usize, scales: usize) -> usize {
    scales * record_bytes.next_multiple_of(PANEL_ROWS)
}

/// The columns of a matrix, from records: zeros after a record, and past the last one.
pub struct ScaledColumns<'a> {
    /// The records.
    pub rows: &'a dyn RecordSource,
    /// Records in a column.
    pub scales: usize,
}

impl RecordSource for ScaledColumns<'_> {
    fn records(&self) -> u64 {
        self.rows.records().div_ceil(self.scales as u64)
    }

    fn record_bytes(&self) -> usize {
        column_bytes(self.rows.record_bytes(), self.scales)
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let (scales, height, bytes) = (self.scales, self.record_bytes(), self.rows.record_bytes());
        let first = first.saturating_mul(scales as u64);
        let left = self.rows.records().saturating_sub(first);
        let there = left.min((out.len() / height * scales) as u64) as usize;
        let mut records = vec![0; there * bytes];
        self.rows.read(first, &mut records)?;
        out.fill(0);
        for (column, records) in out.chunks_exact_mut(height).zip(records.chunks(scales * bytes)) {
            for (scale, record) in records.chunks_exact(bytes).enumerate() {
                let panels = column.chunks_exact_mut(PANEL_ROWS).skip(scale).step_by(scales);
                for (panel, bytes) in panels.zip(record.chunks(PANEL_ROWS)) {
                    panel.iter_mut().zip(bytes).for_each(|(out, byte)| *out = *byte);
                }
            }
        }
        Ok(())
    }
}

/// The records of a matrix with several to a column.
pub struct ScaledRecords {
    /// The columns.
    pub columns: Box<dyn RecordSource>,
    /// Records in a column.
    pub scales: usize,
    /// Number of records.
    pub records: u64,
    /// Bytes in a record.
    pub record_bytes: usize,
}

impl RecordSource for ScaledRecords {
    fn records(&self) -> u64 {
        self.records
    }

    fn record_bytes(&self) -> usize {
        self.record_bytes
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let (scales, height) = (self.scales as u64, self.columns.record_bytes());
        let end = first.saturating_add((out.len() / self.record_bytes) as u64);
        if end > self.records {
            return Err(Misuse::IndexPastEnd { index: end, len: self.records }.into());
        }
        let columns = first / scales..end.div_ceil(scales);
        let mut bytes = vec![0; (columns.end - columns.start) as usize * height];
        self.columns.read(columns.start, &mut bytes)?;
        let places = (first % scales) as usize..;
        for (place, record) in places.zip(out.chunks_exact_mut(self.record_bytes)) {
            let column = bytes.chunks_exact(height).nth(place / self.scales).unwrap_or_default();
            let panels = column.chunks_exact(PANEL_ROWS).skip(place % self.scales).step_by(self.scales);
            for (out, panel) in record.chunks_mut(PANEL_ROWS).zip(panels) {
                out.iter_mut().zip(panel).for_each(|(out, byte)| *out = *byte);
            }
        }
        Ok(())
    }
}
