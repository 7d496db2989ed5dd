//! Both matrices of an open image, and the first pass.

use super::{Cut, FRESH_BITS};
use crate::lwe::ring::round;
use crate::matrix::{Matrix, Place};
use sotto_core::{Image, Result, Rows, Section};
use sotto_math::matrix::{QueryPlanes, scan_u32};
use std::sync::Arc;

/// Both matrices, from the start of a section on.
pub struct Tables {
    cut: Cut,
    first: Matrix,
    second: Matrix,
}

impl Tables {
    /// Looks up the section that holds them, and `beyond` bytes of other things after them.
    ///
    /// # Errors
    /// As [`sotto_core::Held::open`].
    pub fn open(cut: Cut, beyond: u64, section: Section, image: Arc<dyn Image>) -> Result<Self> {
        let first = Matrix::open(cut.first(), cut.second_bytes() + beyond, section, image.clone())?;
        let second = Place { section, start: cut.first_bytes() };
        let second = Matrix::open(cut.second(), beyond, second, image)?;
        Ok(Tables { cut, first, second })
    }

    /// The records.
    pub fn records(self) -> Box<dyn Rows> {
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

    /// The first pass, for several queries at once: of each query, and of each of a record's bytes, the fresh words of all
    /// blocks.
    pub fn fresh(&self, queries: &[QueryPlanes], query_bits: u32) -> Vec<Vec<Vec<u16>>> {
        let (rows, width) = (self.cut.rows() as usize, self.cut.record_bytes as usize);
        let of_query = |mut y: Vec<u32>| {
            y.truncate(rows);
            round(&mut y, query_bits, FRESH_BITS);
            let of_byte = |byte| y.iter().skip(byte).step_by(width).map(|word| *word as u16).collect();
            (0..width).map(of_byte).collect()
        };
        self.first.times(queries, 1, scan_u32).into_iter().map(of_query).collect()
    }
}
