//! The first matrix of an open image, and the first pass.

use super::{FRESH_BITS, TwoPassLayout};
use crate::lwe::ring::rounded;
use crate::matrix::{Matrix, RowRange, SectionOffset};
use sotto_core::{Image, PartIndex, RecordSource, Result, Section};
use sotto_math::matrix::{PanelLayout, QueryPlanes, scan_u32};
use std::sync::Arc;

/// The first matrix of a table, or some rows of it, at the start of a section.
pub struct FirstPass {
    matrix: Matrix,
    query_bits: u32,
}

impl FirstPass {
    /// Opens a part's rows, which have `beyond` bytes of other data after them. Returns the offset of
    /// that data, too.
    ///
    /// # Errors
    /// Those of [`sotto_core::ImageSection::open`].
    pub fn open(
        cut: TwoPassLayout,
        part: PartIndex,
        (query_bits, beyond): (u32, u64),
        image: Arc<dyn Image>,
    ) -> Result<(Self, SectionOffset)> {
        let layout = RowRange::of(&cut.first(), part).layout;
        let matrix = Matrix::open(layout, beyond, Section::Resident, image)?;
        let after = SectionOffset { section: Section::Resident, start: layout.bytes() as u64 };
        Ok((FirstPass { matrix, query_bits }, after))
    }

    /// The records of a whole table, which has `beyond` bytes of other data after its first matrix.
    ///
    /// # Errors
    /// Those of [`sotto_core::ImageSection::open`].
    pub fn records(cut: TwoPassLayout, beyond: u64, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        let place = move |record| {
            let [column, block] = cut.place(record);
            (block as usize * cut.record_bytes as usize, column as usize)
        };
        let matrix = Matrix::open(cut.first(), beyond, Section::Resident, image)?;
        Ok(matrix.cut_into(cut.records, cut.record_bytes as usize, place))
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
        self.matrix.times(queries, 1, scan_u32).into_iter().map(of_query).collect()
    }
}
