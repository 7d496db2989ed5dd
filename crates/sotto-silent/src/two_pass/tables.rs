//! The two matrices of an open image, and the first pass.

use super::{FRESH_BITS, TwoPassLayout};
use crate::lwe::ring::round;
use crate::matrix::{Matrix, SectionOffset};
use sotto_core::{Image, RecordSource, Result, Section};
use sotto_math::matrix::{PanelLayout, QueryPlanes, scan_u32};
use std::sync::Arc;

/// The two matrices of a table, or some rows of each, from the start of a section on.
pub struct TwoPassTables {
    cut: TwoPassLayout,
    first: Matrix,
    second: Matrix,
}

impl TwoPassTables {
    /// Opens the section of both matrices, which has `beyond` bytes of other data after them.
    ///
    /// # Errors
    /// Those of [`sotto_core::ImageSection::open`].
    pub fn open(cut: TwoPassLayout, beyond: u64, section: Section, image: Arc<dyn Image>) -> Result<Self> {
        Self::open_some(cut, [cut.first(), cut.second()], beyond, section, image)
    }

    /// Opens a section with some rows of each matrix, in these layouts, and `beyond` bytes of other
    /// data after them.
    ///
    /// # Errors
    /// Those of [`sotto_core::ImageSection::open`].
    pub fn open_some(
        cut: TwoPassLayout,
        [first, second]: [PanelLayout; 2],
        beyond: u64,
        section: Section,
        image: Arc<dyn Image>,
    ) -> Result<Self> {
        let start = first.bytes() as u64;
        let first = Matrix::open(first, second.bytes() as u64 + beyond, section, image.clone())?;
        let second = Matrix::open(second, beyond, SectionOffset { section, start }, image)?;
        Ok(TwoPassTables { cut, first, second })
    }

    /// The records.
    pub fn records(self) -> Box<dyn RecordSource> {
        let cut = self.cut;
        let place = move |record| {
            let [column, block] = cut.place(record);
            (block as usize * cut.record_bytes as usize, column as usize)
        };
        self.first.cut_into(cut.records, cut.record_bytes as usize, place)
    }

    /// The second matrix.
    pub fn second(&self) -> &Matrix {
        &self.second
    }

    /// The byte planes of a first query.
    pub fn planes(&self, words: &[u32], query_bits: u32) -> QueryPlanes {
        QueryPlanes::from_u32(words, query_bits.div_ceil(8) as usize, self.first.layout())
    }

    /// The first pass, for several queries at once: for each query, the fresh words of all rows.
    pub fn fresh(&self, queries: &[QueryPlanes], query_bits: u32) -> Vec<Vec<u16>> {
        let of_query = |mut y: Vec<u32>| {
            y.truncate(self.first.layout().rows());
            round(&mut y, query_bits, FRESH_BITS);
            y.into_iter().map(|word| word as u16).collect()
        };
        self.first.times(queries, 1, scan_u32).into_iter().map(of_query).collect()
    }
}
