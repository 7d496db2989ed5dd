//! Positions of records in the image: unit, polynomial, row and column.
//!
//! Record r is at column `r mod 2^nu2` of row `r / 2^nu2`. A record is split into parts of one
//! polynomial each, with log2 p bits in a coefficient; n² consecutive parts are a unit. Every unit
//! has a region of the image of its own, in the order of the units, so that a record can be
//! answered unit by unit from the start.
//!
//! In the plain and packed forms a region holds `rows` by `n² 2^nu2` polynomials: polynomial k of a
//! record's unit is in column `k 2^nu2 + column`. In the matrix form it holds `rows n` by
//! `n 2^nu2`: entry (i, j) of the unit's matrix is in row `row n + i` and column
//! `j 2^nu2 + column`.

use crate::literal::{Literal, TableForm};
use crate::noise;
use crate::rings::RingSet;
use sotto_core::{ParamsError, Result};
use sotto_math::tiles::TileLayout;
use std::ops::Range;

/// The positions of a table's records.
#[derive(Debug, Clone)]
pub struct Grid {
    layout: TileLayout,
    units: u64,
    part_bytes: u64,
    record_bytes: u64,
    records: u64,
    form: TableForm,
    n: usize,
    nu2: u32,
    rows: usize,
}

/// The position of a polynomial in its unit's region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Row of the region.
    pub row: usize,
    /// Column of the region.
    pub col: usize,
}

/// Largest image in bytes, far below where offsets could overflow.
const MAX_BYTES: u64 = 1 << 46;

impl Grid {
    pub(crate) fn new(literal: &Literal, set: &RingSet) -> Result<Self> {
        let bad = |field, why: &str| ParamsError::Field { field, why: why.into() };
        let (degree, n) = (set.n, usize::from(literal.n));
        let (records, record_bytes) = (literal.records, literal.record_bytes);
        if records == 0 || records.div_ceil(1 << literal.nu2) != u64::from(literal.rows) {
            return Err(bad("records", "must fill the rows, and no fewer rows").into());
        }
        if record_bytes == 0 || usize::try_from(record_bytes).is_err() {
            return Err(bad("record_bytes", "must be at least 1, and fit in memory").into());
        }
        // Degrees are multiples of 64.
        let part_bytes = degree as u64 * u64::from(literal.p_log2) / 8;
        let unit_bytes = part_bytes * literal.unit_polynomials();
        if record_bytes > unit_bytes && !record_bytes.is_multiple_of(unit_bytes) {
            return Err(bad("record_bytes", "must be a multiple of the bytes of a unit, if above it").into());
        }
        let (rows, cols) = match literal.form {
            TableForm::Plain | TableForm::Packed => (literal.rows as usize, n * n),
            TableForm::Matrix => (literal.rows as usize * n, n),
        };
        let units = noise::units(literal, degree);
        let layout = TileLayout::new(set.packing(), degree, rows, cols << literal.nu2)
            .filter(|layout| layout.bytes().checked_mul(units).is_some_and(|bytes| bytes <= MAX_BYTES))
            .ok_or_else(|| bad("records, record_bytes", "must make an image of at most 2^46 bytes"))?;
        Ok(Grid {
            layout,
            units,
            part_bytes,
            record_bytes,
            records,
            form: literal.form,
            n,
            nu2: literal.nu2.into(),
            rows: literal.rows as usize,
        })
    }

    /// The layout of one unit's region.
    pub fn layout(&self) -> &TileLayout {
        &self.layout
    }

    /// Number of units in a record.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// Bytes of data in a polynomial.
    pub fn part_bytes(&self) -> usize {
        self.part_bytes as usize
    }

    /// Bytes of a record in one unit; the last unit may have fewer.
    pub fn unit_bytes(&self) -> usize {
        self.part_bytes() * self.polynomials()
    }

    /// The bytes of a record that a unit holds.
    pub fn bytes_of_unit(&self, unit: u64) -> Range<usize> {
        self.record_range(unit, self.unit_bytes() as u64)
    }

    /// The bytes of a record that a part holds, cut off at the record's end.
    pub fn bytes_of_part(&self, part: u64) -> Range<usize> {
        self.record_range(part, self.part_bytes)
    }

    /// The number of polynomial `k` of a unit, among all parts of the record.
    pub fn part(&self, unit: u64, k: usize) -> u64 {
        unit * self.polynomials() as u64 + k as u64
    }

    fn record_range(&self, i: u64, bytes: u64) -> Range<usize> {
        let start = i.saturating_mul(bytes).min(self.record_bytes);
        start as usize..start.saturating_add(bytes).min(self.record_bytes) as usize
    }

    /// Bytes of the whole image.
    pub fn bytes(&self) -> u64 {
        self.layout.bytes() * self.units
    }

    /// The offset of a unit's region in the image.
    pub fn region(&self, unit: u64) -> u64 {
        self.layout.bytes() * unit
    }

    /// The offset in the image of the region of a part's unit.
    pub fn region_of(&self, part: u64) -> u64 {
        self.region(part / self.polynomials() as u64)
    }

    /// Number of records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Number of records in a row: 2^nu2.
    pub fn columns(&self) -> usize {
        1 << self.nu2
    }

    /// Number of rows of records.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of polynomials in a unit: n².
    pub fn polynomials(&self) -> usize {
        self.n * self.n
    }

    /// Row and column of a record.
    pub fn place(&self, record: u64) -> (usize, usize) {
        ((record >> self.nu2) as usize, (record & ((1 << self.nu2) - 1)) as usize)
    }

    /// The record at a row and column; past the end where the last row is not full.
    pub fn record(&self, row: usize, column: usize) -> u64 {
        ((row as u64) << self.nu2) | column as u64
    }

    /// The group of parts that share cache lines: those whose unit, first row and column are equal.
    pub fn bunch(&self, record: u64, part: u64) -> (u64, usize, usize) {
        let cell = self.cell_of(record, part);
        (part / self.polynomials() as u64, self.layout.sharing(cell.row).start, cell.col)
    }

    /// The group of parts that are contiguous in every block: those of one unit's region, tile of
    /// rows and group of columns.
    pub fn run(&self, record: u64, part: u64) -> (u64, usize, usize) {
        let Cell { row, col } = self.cell_of(record, part);
        (part / self.polynomials() as u64, row / TileLayout::TILE_ROWS, col / TileLayout::GROUP_COLS)
    }

    /// The position of a part of a record in its unit's region.
    pub fn cell_of(&self, record: u64, part: u64) -> Cell {
        let (row, column) = self.place(record);
        self.cell(row, column, (part % self.polynomials() as u64) as usize)
    }

    /// The record, and the polynomial of its unit, that a cell of a region holds. The record may be
    /// past the end.
    pub fn owner(&self, row: usize, col: usize) -> (u64, usize) {
        let (part, column) = (col >> self.nu2, col & (self.columns() - 1));
        match self.form {
            TableForm::Plain | TableForm::Packed => (self.record(row, column), part),
            TableForm::Matrix => (self.record(row / self.n, column), row % self.n * self.n + part),
        }
    }

    /// The position of polynomial `k` of the unit of the record at (row, column).
    pub fn cell(&self, row: usize, column: usize, k: usize) -> Cell {
        match self.form {
            TableForm::Plain | TableForm::Packed => Cell { row, col: (k << self.nu2) + column },
            TableForm::Matrix => {
                Cell { row: row * self.n + k / self.n, col: ((k % self.n) << self.nu2) + column }
            }
        }
    }
}
