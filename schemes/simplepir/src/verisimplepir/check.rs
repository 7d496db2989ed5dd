//! C, Z = C D, and the comparison that accepts an answer.
//!
//! An answer v' that is not v = D c differs from it at some row r, by d != 0 modulo the prime Q.
//! One equation `Z c = C v'` then fixes the entry of C at r, given all its other entries: the drawn
//! entry has that value with probability at most 1/Q + 2^-64 (see [`Combinations::draw`]). Four
//! rows of C are independent. So v' passes with at most `(1/Q + 2^-64)^4 < 2^-127.99`, and any of T
//! tries of a server that saw the outcomes of all before with at most T times that: until one
//! passes, the outcomes are known beforehand.

use super::literal::{EQUATIONS, ParamsLiteral};
use sotto_core::{CryptoRng, Result};
use sotto_math::matrix::dot_rows_many;
use sotto_math::matrix::layout::PANEL_ROWS;
use sotto_silent::lwe::ring::{self, WideSum};
use std::io;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Words of C that are multiplied by one panel.
const PANEL_WORDS: usize = EQUATIONS * PANEL_ROWS;

/// Columns of a group of four, which are stored together in a panel.
const GROUP: usize = 4;

/// The value of one side of the equations.
pub(crate) type CheckSums = Zeroizing<[u64; EQUATIONS]>;

/// The matrix C: four secret combinations of the rows of a matrix.
pub struct Combinations {
    /// For each panel its 64 words of each row of C, one row after the other.
    words: Zeroizing<Vec<u32>>,
}

impl Combinations {
    /// Draws C.
    ///
    /// A word is 64 random bits modulo Q: none of the residues is more likely than 1/Q + 2^-64.
    pub fn draw(params: &ParamsLiteral, rng: &mut dyn CryptoRng) -> Self {
        let panels = (params.record_bytes as usize).div_ceil(PANEL_ROWS);
        let mut words = Zeroizing::new(Vec::with_capacity(panels * PANEL_WORDS));
        let mut wide = Zeroizing::new([0; PANEL_WORDS * 8]);
        for _ in 0..panels {
            rng.fill_bytes(wide.as_mut());
            words.extend(
                wide.as_chunks().0.iter().map(|wide| ring::remainder(u64::from_le_bytes(*wide)) as u32),
            );
        }
        Combinations { words }
    }

    /// The words of C for one panel: four rows of 64.
    fn panel(&self, panel: usize) -> &[u32] {
        self.words.get(panel * PANEL_WORDS..).and_then(|rest| rest.get(..PANEL_WORDS)).unwrap_or_default()
    }

    /// The word of C in this row, for this row of the matrix.
    #[cfg(test)]
    pub(crate) fn entry(&self, row: usize, r: usize) -> u32 {
        self.panel(r / PANEL_ROWS)[row * PANEL_ROWS + r % PANEL_ROWS]
    }

    /// The product C v.
    pub(crate) fn times(&self, v: &[u64]) -> CheckSums {
        let mut sums = [WideSum::default(); EQUATIONS];
        for (panel, v) in self.words.chunks_exact(PANEL_WORDS).zip(v.chunks(PANEL_ROWS)) {
            for (sum, row) in sums.iter_mut().zip(panel.chunks_exact(PANEL_ROWS)) {
                sum.add(row, v);
            }
        }
        Zeroizing::new(sums.map(WideSum::residue))
    }
}

/// Sums up Z, panel by panel.
pub(crate) struct DigestBuilder {
    /// For each column its four sums, not reduced: at most 2^20 rows of words below 2^32 times
    /// signed bytes, so below 2^59.
    sums: Zeroizing<Vec<[i64; EQUATIONS]>>,
}

impl DigestBuilder {
    /// Room for the sums of every column, padding included.
    pub(crate) fn new(columns: usize) -> Result<Self> {
        let mut sums = Zeroizing::new(Vec::new());
        sums.try_reserve_exact(columns).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        sums.resize(columns, [0; EQUATIONS]);
        Ok(DigestBuilder { sums })
    }

    /// Adds a piece of a panel, whose first column is `first`: `C D` over its 64 rows.
    pub(crate) fn add(&mut self, c: &Combinations, panel: usize, first: usize, piece: &[u8]) {
        let c = c.panel(panel);
        let groups = self.sums.get_mut(first..).unwrap_or_default().chunks_exact_mut(GROUP);
        for (sums, group) in groups.zip(piece.chunks_exact(GROUP * PANEL_ROWS)) {
            let mut columns = [[0i32; PANEL_ROWS]; GROUP];
            let [w, x, y, z] = &mut columns;
            for ((((cell, w), x), y), z) in group.as_chunks::<GROUP>().0.iter().zip(w).zip(x).zip(y).zip(z) {
                [*w, *x, *y, *z] = cell.map(|byte| i32::from(byte as i8));
            }
            let mut added = [[0i64; EQUATIONS]; GROUP];
            let [w, x, y, z] = &mut added;
            dot_rows_many(c, PANEL_ROWS, &columns.each_ref().map(|column| &column[..]), &mut [w, x, y, z]);
            for (sums, added) in sums.iter_mut().zip(&added) {
                sums.iter_mut().zip(added).for_each(|(sum, added)| *sum += added);
            }
        }
    }

    /// Z, after all panels were added: four rows of `m` words.
    pub(crate) fn finish(self, m: usize) -> Digest {
        let mut words = Zeroizing::new(Vec::with_capacity(EQUATIONS * m));
        for row in 0..EQUATIONS {
            words.extend(
                self.sums
                    .iter()
                    .take(m)
                    .filter_map(|sums| sums.get(row))
                    .map(|sum| ring::reduce(*sum) as u32),
            );
        }
        Digest { words, m }
    }
}

/// The matrix Z = C D modulo Q.
pub struct Digest {
    /// The words of Z, four rows of m.
    words: Zeroizing<Vec<u32>>,
    m: usize,
}

impl Digest {
    /// The words of Z.
    #[cfg(test)]
    pub(crate) fn words(&self) -> &[u32] {
        &self.words
    }

    /// The product Z c.
    pub(crate) fn times(&self, c: &[u64]) -> CheckSums {
        let mut sums = [WideSum::default(); EQUATIONS];
        for (sum, row) in sums.iter_mut().zip(self.words.chunks_exact(self.m)) {
            sum.add(row, c);
        }
        Zeroizing::new(sums.map(WideSum::residue))
    }
}

/// Whether all equations hold. Nothing else is revealed, in time or otherwise.
pub(crate) fn holds(left: &CheckSums, right: &CheckSums) -> bool {
    left.ct_eq(&right[..]).into()
}
