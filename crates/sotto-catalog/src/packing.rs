//! How rows lie in records, once, for every scheme.
//!
//! A record of `R` bytes holds `R / w` whole rows of `w` bytes; the rest of it is zero. Where a row is
//! wider than a record it spans `ceil(w / R)` consecutive ones, and the rest of the last is zero. So
//! every lookup of a table makes the same number of queries, whichever row it is for.
//!
//! In a table whose rows can be verified one by one, the rows that are looked up together are a *leaf*, and the last bytes of
//! its records are the nodes that prove it ([`crate::rows_root`]).

use sotto_core::{Misuse, Record, RecordIndex, Result};
use sotto_math::divide::divide;
use std::hint::black_box;
use std::ops::Range;
use subtle::{ConditionallySelectable, ConstantTimeEq, ConstantTimeLess};

/// The layout of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packing {
    rows: u64,
    row_bytes: u64,
    records: u64,
    record_bytes: u64,
    rows_per_record: u64,
    /// Bytes at the end of a leaf's records.
    path_bytes: u64,
}

/// Where a part of a row lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordSpan {
    /// In which record.
    pub record: u64,
    /// From which of its bytes on.
    pub offset: u64,
    /// Which of the row's bytes.
    pub bytes: Range<usize>,
}

impl Packing {
    /// The layout of `rows` rows in `records` records.
    ///
    /// # Errors
    /// [`Misuse::Rule`] if a size is zero; [`Misuse::IndexPastEnd`] if the rows do not fit.
    pub fn new(rows: u64, row_bytes: u64, records: u64, record_bytes: u64) -> Result<Self> {
        let sizes = [row_bytes, record_bytes].map(usize::try_from);
        if sizes.iter().any(|size| !matches!(size, Ok(1..))) {
            return Err(Misuse::Rule("rows and records have at least one byte, and fit in memory").into());
        }
        let rows_per_record = (record_bytes / row_bytes).max(1);
        let packing = Packing { rows, row_bytes, records, record_bytes, rows_per_record, path_bytes: 0 };
        packing.fitting()
    }

    /// The same records with fewer rows in each, `leaf_rows`, and `path_bytes` bytes at their end.
    ///
    /// # Errors
    /// As [`Packing::new`]; [`Misuse::Rule`] if a record does not hold them, unless one row spans several.
    pub fn with_paths(self, leaf_rows: u64, path_bytes: u64) -> Result<Self> {
        let rows = self.row_bytes.checked_mul(leaf_rows);
        let bytes = rows.and_then(|rows| rows.checked_add(path_bytes)).filter(|_| leaf_rows > 0);
        match bytes {
            Some(bytes) if leaf_rows == 1 || bytes <= self.record_bytes => {
                Packing { rows_per_record: leaf_rows, path_bytes, ..self }.fitting()
            }
            _ => Err(Misuse::Rule("a record holds the rows of a leaf and their path").into()),
        }
    }

    fn fitting(self) -> Result<Self> {
        if self.rows == 0 || self.rows > self.capacity() {
            return Err(Misuse::IndexPastEnd { index: self.rows, len: self.capacity() }.into());
        }
        Ok(self)
    }

    /// The same records with another number of rows.
    ///
    /// # Errors
    /// As [`Packing::new`].
    pub fn with_rows(&self, rows: u64) -> Result<Self> {
        Packing { rows, ..*self }.fitting()
    }

    /// The same records full of rows, as those of a table of so many equal buckets are: then the rows of a bucket begin with
    /// its first record and end with its last one, wherever they lie in it.
    ///
    /// # Errors
    /// [`Misuse::Rule`] if rows or records are no so many equal parts, or rows lie in records of two parts.
    pub fn filled(&self, buckets: u64) -> Result<Self> {
        let parts = buckets.checked_mul(self.records_per_row() as u64).filter(|parts| *parts > 0);
        if parts.is_none_or(|parts| !self.records.is_multiple_of(parts) || !self.rows.is_multiple_of(buckets))
        {
            return Err(Misuse::Rule("rows lie in the records of so many equal buckets").into());
        }
        Ok(Packing { rows: self.capacity(), ..*self })
    }

    /// Rows in the table.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes in a row.
    pub fn row_bytes(&self) -> u64 {
        self.row_bytes
    }

    /// Records of the scheme.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Bytes in a record.
    pub fn record_bytes(&self) -> u64 {
        self.record_bytes
    }

    /// Records that every lookup of a row asks for.
    pub fn records_per_row(&self) -> usize {
        usize::try_from(self.leaf_bytes().div_ceil(self.record_bytes)).unwrap_or(usize::MAX)
    }

    /// Whole rows in a record; 1 where a row spans several records.
    pub fn rows_per_record(&self) -> u64 {
        self.rows_per_record
    }

    /// Bytes of the rows that are looked up together.
    pub fn rows_bytes(&self) -> u64 {
        self.rows_per_record.saturating_mul(self.row_bytes)
    }

    /// Bytes of what proves them; 0 in tables without proofs.
    pub fn path_bytes(&self) -> u64 {
        self.path_bytes
    }

    /// Where that begins, from the start of a leaf's first record: it ends with the last one.
    pub fn path_offset(&self) -> u64 {
        (self.records_per_row() as u64).saturating_mul(self.record_bytes).saturating_sub(self.path_bytes)
    }

    /// Bytes of the rows that are looked up together, and of what proves them.
    fn leaf_bytes(&self) -> u64 {
        self.rows_bytes().saturating_add(self.path_bytes)
    }

    /// The most rows these records can hold.
    pub fn capacity(&self) -> u64 {
        (self.records / self.records_per_row() as u64).saturating_mul(self.rows_per_record())
    }

    /// The bound for a row, given the bound for a record: a row fails if any of its records does.
    pub fn failure_log2(&self, of_record: f64) -> f64 {
        of_record + (self.records_per_row() as f64).log2()
    }

    /// The records to ask for, in order; always [`Packing::lookups`] of them.
    ///
    /// A row past the end has those of row 0, so that something is asked for it: not to ask would tell the server. That there is
    /// no such row is said by [`Packing::extract`], once the answers are there, or by [`Packing::check`].
    pub fn records_of(&self, row: u64) -> Vec<RecordIndex> {
        let (record, _) = self.place(self.clamp_row(row));
        (0..self.records_per_row() as u64).map(|i| RecordIndex(record.wrapping_add(i))).collect()
    }

    /// The row, or row 0 if it is past the end.
    pub fn clamp_row(&self, row: u64) -> u64 {
        u64::conditional_select(&0, &row, row.ct_lt(&self.rows))
    }

    /// Whether there is such a row.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`].
    pub fn check(&self, row: u64) -> Result<()> {
        self.locate(row).map(drop)
    }

    /// Reads a row out of the records that [`Packing::records_of`] names.
    ///
    /// Where rows share a record, all of it is read whichever row is wanted: neither time nor memory
    /// access depends on `row`.
    ///
    /// # Errors
    /// [`Misuse`] for a row past the end, or records of another number or size.
    pub fn extract(&self, row: u64, records: &[Record]) -> Result<Vec<u8>> {
        let (_, slot) = self.locate(row)?;
        self.check_records(records)?;
        let width = self.row_bytes as usize;
        let [record] = records else {
            let mut out = Vec::with_capacity(width);
            for record in records {
                out.extend_from_slice(record.bytes());
            }
            out.truncate(width);
            return Ok(out);
        };
        let mut out = vec![0; width];
        for (i, candidate) in record.bytes().chunks_exact(width).enumerate() {
            let chosen = (i as u64).ct_eq(&slot).unwrap_u8();
            let mask = black_box(0u8.wrapping_sub(chosen));
            for (out, byte) in out.iter_mut().zip(candidate) {
                *out |= mask & byte;
            }
        }
        Ok(out)
    }

    /// What a lookup brings, whichever of its rows was wanted: the rows, and what proves them.
    ///
    /// # Errors
    /// [`Misuse`] for records of another number or size.
    pub fn leaf(&self, records: &[Record]) -> Result<(Vec<u8>, Vec<u8>)> {
        self.check_records(records)?;
        let mut rows = Vec::with_capacity(self.records_per_row().saturating_mul(self.record_bytes as usize));
        records.iter().for_each(|record| rows.extend_from_slice(record.bytes()));
        let path = rows.split_off(rows.len().min(self.path_offset() as usize));
        rows.truncate(self.rows_bytes() as usize);
        Ok((rows, path))
    }

    /// Which leaf a row is of; that of row 0 for a row past the end, as in [`Packing::records_of`].
    pub fn leaf_index(&self, row: u64) -> u64 {
        divide(self.clamp_row(row), self.rows_per_record).0
    }

    fn check_records(&self, records: &[Record]) -> Result<()> {
        let sized = |record: &Record| record.bytes().len() as u64 == self.record_bytes;
        if records.len() != self.records_per_row() || !records.iter().all(sized) {
            return Err(Misuse::Rule("as many records as lookups(), each of record_bytes()").into());
        }
        Ok(())
    }

    /// Where the bytes of a row lie, for an encoder. Rows up to [`Packing::capacity`] have places.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`].
    pub fn places(&self, row: u64) -> Result<Vec<RecordSpan>> {
        let (record, slot) = Packing { rows: self.capacity(), ..*self }.locate(row)?;
        Ok(self.split(record, slot * self.row_bytes, self.row_bytes as usize))
    }

    /// Where bytes of a leaf's records lie, from byte `offset` of the first on.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`].
    pub fn leaf_places(&self, leaf: u64, offset: u64, bytes: usize) -> Result<Vec<RecordSpan>> {
        let leaves = self.records / self.records_per_row() as u64;
        let end = offset.saturating_add(bytes as u64);
        if leaf >= leaves || end > (self.records_per_row() as u64).saturating_mul(self.record_bytes) {
            return Err(Misuse::IndexPastEnd { index: leaf, len: leaves }.into());
        }
        Ok(self.split(leaf * self.records_per_row() as u64, offset, bytes))
    }

    /// Cuts bytes that begin at `offset` from the start of a record, and may go on in the next ones.
    fn split(&self, record: u64, offset: u64, bytes: usize) -> Vec<RecordSpan> {
        let (mut places, mut done, mut at) = (Vec::new(), 0, offset);
        while done < bytes {
            let (further, offset) = (at / self.record_bytes, at % self.record_bytes);
            let length = (bytes - done).min((self.record_bytes - offset) as usize);
            places.push(RecordSpan { record: record + further, offset, bytes: done..done + length });
            done += length;
            at += length as u64;
        }
        places
    }

    /// The first record of a row, and which of the record's rows it is.
    fn locate(&self, row: u64) -> Result<(u64, u64)> {
        if row >= self.rows {
            return Err(Misuse::IndexPastEnd { index: row, len: self.rows }.into());
        }
        Ok(self.place(row))
    }

    fn place(&self, row: u64) -> (u64, u64) {
        let (record, slot) = divide(row, self.rows_per_record());
        (record.wrapping_mul(self.records_per_row() as u64), slot)
    }
}
