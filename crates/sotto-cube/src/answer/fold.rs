//! The further dimensions.

use super::{Columns, Cube, Prepared};
use rayon::prelude::*;
use sotto_lattice::cipher::Cipher;
use sotto_lattice::scratch::Scratch;

impl<F> Cube<F> {
    /// Folds the columns of every polynomial of a unit by one bit after the other, the highest first:
    /// `CMUX(C_b, ct_0, ct_1) = ct_0 + C_b x (ct_1 - ct_0)`, one product to a pair. What is left is one
    /// ciphertext to each polynomial (or column of the matrix).
    pub fn fold(&self, columns: Columns, query: &Prepared) -> Vec<Cipher> {
        let grid = self.params.grid.columns();
        let groups = self.params.grid.layout().cols() / grid;
        let one = |group: usize| self.fold_group(&columns, group * grid, query);
        (0..groups).into_par_iter().filter_map(one).collect()
    }

    /// Folds the 2^nu2 columns from `first` on.
    fn fold_group(&self, columns: &Columns, first: usize, query: &Prepared) -> Option<Cipher> {
        let ring = &self.params.ring;
        let Some((top, rest)) = query.bits.split_last() else {
            return self.columns(columns, first..first + 1).pop();
        };
        // The first halving takes the columns straight out of the sums, so that they lie there only once.
        let half = 1usize << rest.len();
        let scratch = || Scratch::new(ring);
        let some = |scratch: &mut Scratch, from: usize| {
            let cols = first + from..first + half.min(from + TOGETHER);
            let mut zeros = self.columns(columns, cols.clone());
            let ones = self.columns(columns, cols.start + half..cols.end + half);
            zeros.iter_mut().zip(&ones).for_each(|(zero, one)| top.cmux(ring, zero, one, scratch));
            zeros
        };
        let starts = (0..half).into_par_iter().step_by(TOGETHER);
        let mut left: Vec<Cipher> = starts.map_init(scratch, some).flatten_iter().collect();
        for bit in rest.iter().rev() {
            let ones = left.split_off(left.len() / 2);
            left.par_iter_mut().zip(&ones).for_each_init(scratch, |scratch, (zero, one)| {
                bit.cmux(ring, zero, one, scratch);
            });
        }
        left.into_iter().next()
    }
}

/// Columns taken out of the sums together: eight polynomials of eight slots are a run of 512 bytes.
const TOGETHER: usize = 4;
