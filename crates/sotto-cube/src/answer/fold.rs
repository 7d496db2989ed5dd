//! Folding: the dimensions after the first.

use super::{ColumnSums, CubeTable, ExpandedQuery};
use rayon::prelude::*;
use sotto_lattice::ciphertext::Ciphertext;
use sotto_lattice::rgsw::RgswCiphertext;
use sotto_lattice::ring::Ring;
use sotto_lattice::scratch::Scratch;

impl<F> CubeTable<F> {
    /// Folds the columns of every polynomial of a unit by one bit after the other, the lowest
    /// first: `CMUX(C_b, ct_0, ct_1) = ct_0 + C_b x (ct_1 - ct_0)`, one product for each pair. One
    /// ciphertext for each polynomial (or column of the matrix) is left; of a part, one for each of
    /// its pieces.
    pub fn fold(&self, columns: ColumnSums, query: &ExpandedQuery) -> Vec<Ciphertext> {
        let levels = self.share.levels;
        let groups = self.share.layout.cols() >> levels;
        let bits = query.bits.get(..levels).unwrap_or_default();
        let one = |group: usize| self.fold_group(&columns, group << levels, bits);
        (0..groups).into_par_iter().filter_map(one).collect()
    }

    /// Folds the columns from `first` on, as many as the bits distinguish.
    fn fold_group(&self, columns: &ColumnSums, first: usize, bits: &[RgswCiphertext]) -> Option<Ciphertext> {
        let ring = &self.params.ring;
        let Some((lowest, rest)) = bits.split_first() else {
            return self.columns(columns, first..first + 1).pop();
        };
        // The first halving takes the columns directly from the sums, so that they are in memory
        // only once.
        let end = first + (1usize << bits.len());
        let some = |scratch: &mut Scratch, from: usize| {
            let mut pairs = self.columns(columns, from..end.min(from + TOGETHER));
            pairs.chunks_exact_mut(2).for_each(|pair| fold_pair(ring, lowest, pair, scratch));
            firsts(&mut pairs);
            pairs
        };
        let starts = (first..end).into_par_iter().step_by(TOGETHER);
        let left = starts.map_init(|| Scratch::new(ring), some).flatten_iter().collect();
        halve(ring, left, rest)
    }
}

/// Folds ciphertexts, as many as the bits distinguish, by one bit after the other, the lowest
/// first.
pub(super) fn halve(ring: &Ring, mut left: Vec<Ciphertext>, bits: &[RgswCiphertext]) -> Option<Ciphertext> {
    for bit in bits {
        let scratch = || Scratch::new(ring);
        left.par_chunks_exact_mut(2)
            .for_each_init(scratch, |scratch, pair| fold_pair(ring, bit, pair, scratch));
        firsts(&mut left);
    }
    left.into_iter().next()
}

/// Overwrites the first of two neighbors with the one that the bit selects.
fn fold_pair(ring: &Ring, bit: &RgswCiphertext, pair: &mut [Ciphertext], scratch: &mut Scratch) {
    if let [zero, one] = pair {
        bit.cmux(ring, zero, one, scratch);
    }
}

/// Keeps the first of every two neighbors.
fn firsts(pairs: &mut Vec<Ciphertext>) {
    let mut first = false;
    pairs.retain(|_| {
        first = !first;
        first
    });
}

/// Columns that are extracted from the sums together: their sixteen polynomials of eight slots are
/// 1,024 contiguous bytes.
const TOGETHER: usize = 8;
