//! Packing of rows into records, shared by all schemes.
//!
//! A record of `R` bytes holds `R / w` whole rows of `w` bytes; the rest of it is zero. A row that
//! is wider than a record spans `ceil(w / R)` consecutive records, and the rest of the last one is
//! zero. So every lookup of a table makes the same number of queries, whichever row it is for.
//!
//! In a table whose rows can be verified one by one, the rows that are looked up together are a
//! *leaf*, and the last bytes of its records are the nodes that prove it ([`crate::rows_root`]).

use sotto_core::{Misuse, Record, RecordIndex, Result};
use sotto_math::modulus::divide;
use std::hint::black_box;
use std::ops::Range;
use subtle::{ConditionallySelectable, ConstantTimeEq, ConstantTimeLess};

/// Layout of a table's rows in records.
///
/// ```
/// use sotto_catalog::Packing;
/// use sotto_core::{Record, RecordIndex};
///
/// // 100 rows of 10 bytes, three to a record of 32 bytes.
/// let packing = Packing::new(100, 10, 34, 32)?;
/// assert_eq!((packing.rows_per_record(), packing.records_per_row()), (3, 1));
/// assert_eq!(packing.records_of(50), [RecordIndex(16)]);
///
/// // Row 50 is the last of its record.
/// let mut record = vec![0; 32];
/// record[20..30].copy_from_slice(b"ten bytes!");
/// assert_eq!(packing.extract(50, &[Record::new(record)])?, b"ten bytes!");
/// # Ok::<(), sotto_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packing {
    rows: u64,
    row_bytes: u64,
    records: u64,
    record_bytes: u64,
    rows_per_record: u64,
    /// Bytes of the path at the end of a leaf's records.
    path_bytes: u64,
}

/// Range of bytes in a record that holds a part of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordSpan {
    /// Number of the record.
    pub record: u64,
    /// Offset of the range in the record.
    pub offset: u64,
    /// Bytes of the row that the range holds.
    pub bytes: Range<usize>,
}

impl Packing {
    /// Layout of `rows` rows in `records` records.
    ///
    /// # Errors
    /// [`Misuse::Rule`] if a size is zero; [`Misuse::IndexPastEnd`] if the rows do not fit.
    pub fn new(rows: u64, row_bytes: u64, records: u64, record_bytes: u64) -> Result<Self> {
        let sizes = [row_bytes, record_bytes].map(usize::try_from);
        if sizes.iter().any(|size| !matches!(size, Ok(1..))) {
            return Err(Misuse::Rule("rows or records have no bytes, or do not fit in memory").into());
        }
        let rows_per_record = (record_bytes / row_bytes).max(1);
        let packing = Packing { rows, row_bytes, records, record_bytes, rows_per_record, path_bytes: 0 };
        packing.fitting()
    }

    /// Changes the layout such that a record holds `leaf_rows` rows and ends with `path_bytes`
    /// bytes.
    ///
    /// # Errors
    /// The errors of [`Packing::new`]; [`Misuse::Rule`] if a record does not hold them, unless one
    /// row spans several.
    pub fn with_paths(self, leaf_rows: u64, path_bytes: u64) -> Result<Self> {
        let rows = self.row_bytes.checked_mul(leaf_rows);
        let bytes = rows.and_then(|rows| rows.checked_add(path_bytes)).filter(|_| leaf_rows > 0);
        match bytes {
            Some(bytes) if leaf_rows == 1 || bytes <= self.record_bytes => {
                Packing { rows_per_record: leaf_rows, path_bytes, ..self }.fitting()
            }
            _ => Err(Misuse::Rule("a record does not hold the rows of a leaf and their path").into()),
        }
    }

    fn fitting(self) -> Result<Self> {
        if self.rows == 0 || self.rows > self.capacity() {
            return Err(Misuse::IndexPastEnd { index: self.rows, len: self.capacity() }.into());
        }
        Ok(self)
    }

    /// Changes the number of rows and keeps the records.
    ///
    /// # Errors
    /// The errors of [`Packing::new`].
    pub fn with_rows(&self, rows: u64) -> Result<Self> {
        Packing { rows, ..*self }.fitting()
    }

    /// Fills the records with rows, as those of a table of `buckets` equal buckets are. The rows of
    /// a bucket then begin with its first record and end with its last one, wherever they are in
    /// it.
    ///
    /// # Errors
    /// [`Misuse::Rule`] if rows or records cannot be divided into that many equal parts, or rows
    /// are in records of two parts.
    pub fn filled(&self, buckets: u64) -> Result<Self> {
        let parts = buckets.checked_mul(self.records_per_row() as u64).filter(|parts| *parts > 0);
        if parts.is_none_or(|parts| !self.records.is_multiple_of(parts) || !self.rows.is_multiple_of(buckets))
        {
            return Err(Misuse::Rule("rows or records do not divide into equal buckets").into());
        }
        Ok(Packing { rows: self.capacity(), ..*self })
    }

    /// Number of rows in the table.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes in a row.
    pub fn row_bytes(&self) -> u64 {
        self.row_bytes
    }

    /// Number of records of the scheme.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Bytes in a record.
    pub fn record_bytes(&self) -> u64 {
        self.record_bytes
    }

    /// Number of records that every lookup of a row fetches.
    pub fn records_per_row(&self) -> usize {
        usize::try_from(self.leaf_bytes().div_ceil(self.record_bytes)).unwrap_or(usize::MAX)
    }

    /// Number of whole rows in a record; 1 where a row spans several records.
    pub fn rows_per_record(&self) -> u64 {
        self.rows_per_record
    }

    /// Bytes of the rows that are looked up together.
    pub fn rows_bytes(&self) -> u64 {
        self.rows_per_record.saturating_mul(self.row_bytes)
    }

    /// Bytes of the path that proves the rows of a leaf; 0 in tables without proofs.
    pub fn path_bytes(&self) -> u64 {
        self.path_bytes
    }

    /// Offset of the path from the start of a leaf's first record: the path ends with the leaf's
    /// last record.
    pub fn path_offset(&self) -> u64 {
        (self.records_per_row() as u64).saturating_mul(self.record_bytes).saturating_sub(self.path_bytes)
    }

    /// Bytes of the rows that are looked up together, and of their path.
    fn leaf_bytes(&self) -> u64 {
        self.rows_bytes().saturating_add(self.path_bytes)
    }

    /// Largest number of rows that the records can hold.
    pub fn capacity(&self) -> u64 {
        (self.records / self.records_per_row() as u64).saturating_mul(self.rows_per_record())
    }

    /// Base-2 logarithm of the failure bound of a row, given that of a record: a row fails if any
    /// of its records does.
    pub fn failure_log2(&self, of_record: f64) -> f64 {
        of_record + (self.records_per_row() as f64).log2()
    }

    /// Records that a lookup of a row fetches, in order; always [`Packing::records_per_row`] of
    /// them.
    ///
    /// A row past the end has the records of row 0, so that a query is sent for it: a missing query
    /// would tell the server. The error for such a row comes from [`Packing::extract`] after the
    /// answers, or from [`Packing::check`].
    pub fn records_of(&self, row: u64) -> Vec<RecordIndex> {
        let (record, _) = self.place(self.clamp_row(row));
        (0..self.records_per_row() as u64).map(|i| RecordIndex(record.wrapping_add(i))).collect()
    }

    /// The given row, or row 0 if it is past the end.
    pub fn clamp_row(&self, row: u64) -> u64 {
        u64::conditional_select(&0, &row, row.ct_lt(&self.rows))
    }

    /// Checks that a row exists.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`].
    pub fn check(&self, row: u64) -> Result<()> {
        self.locate(row).map(drop)
    }

    /// Reads a row out of the records that [`Packing::records_of`] names.
    ///
    /// Where rows share a record, the whole record is read for every row: neither time nor memory
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

    /// Splits the records of a lookup into the rows of the leaf and their path, independent of the
    /// requested row.
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

    /// Index of the leaf that contains a row; that of row 0 for a row past the end, as in
    /// [`Packing::records_of`].
    pub fn leaf_index(&self, row: u64) -> u64 {
        divide(self.clamp_row(row), self.rows_per_record).0
    }

    fn check_records(&self, records: &[Record]) -> Result<()> {
        let sized = |record: &Record| record.bytes().len() as u64 == self.record_bytes;
        if records.len() != self.records_per_row() || !records.iter().all(sized) {
            return Err(Misuse::Rule("expected lookups() records, each of record_bytes()").into());
        }
        Ok(())
    }

    /// Places of a row's bytes, for an encoder. Rows up to [`Packing::capacity`] have places.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`].
    pub fn places(&self, row: u64) -> Result<Vec<RecordSpan>> {
        let (record, slot) = Packing { rows: self.capacity(), ..*self }.locate(row)?;
        Ok(self.split(record, slot * self.row_bytes, self.row_bytes as usize))
    }

    /// Places of bytes of a leaf's records, from byte `offset` of the first record on.
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

    /// Divides a range of bytes, which starts at `offset` of a record and may extend into the next
    /// ones, at the ends of records.
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

    /// First record of a row, and the row's index among the record's rows.
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
