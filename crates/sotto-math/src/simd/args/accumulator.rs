//! Accumulators: sums of products that are reduced once, at the end.

use super::ntt::Tables;

/// Number of products that fit 64 bits: a product of two factors below 2^52 adds less than 2^52 to
/// each half.
const MAX_PRODUCTS: usize = 1 << 12;

/// Number of products that fit 128 bits: a product of two factors below 2^60 is below 2^120.
const MAX_WIDE_PRODUCTS: usize = 1 << 8;

/// Slot-wise sums of products, in redundant form.
///
/// The value of a slot is `lo + 2^52 hi`. These are the two halves that the 52-bit multipliers of
/// AVX-512 IFMA return, so a product costs two instructions and no reduction. Modulo a product of
/// primes of 2^50 or more it is `lo + 2^64 hi`. The contents of the halves depend on the backend;
/// only the reduced value, from [`NttPlan::take`](crate::ntt::NttPlan::take), does not.
#[derive(Debug, Clone)]
pub struct Accumulator {
    cells: Vec<Cell>,
    /// Buffer of a transform between its levels, before it is added to the sum.
    scratch: Vec<u64>,
    products: usize,
}

/// Both halves of eight slots, each half a cache line.
#[derive(Debug, Clone, Default)]
#[repr(C, align(64))]
pub(crate) struct Cell {
    pub(crate) lo: [u64; 8],
    pub(crate) hi: [u64; 8],
}

/// An accumulator that can take one more product.
pub(crate) struct AccumulatorMut<'a> {
    pub(crate) cells: &'a mut [Cell],
    pub(crate) scratch: &'a mut [u64],
}

impl Accumulator {
    pub(crate) fn new(n: usize) -> Self {
        // Seven words more than needed, to start on a cache line wherever the vector is.
        Accumulator { cells: vec![Cell::default(); n / 8], scratch: vec![0; n + 7], products: 0 }
    }

    /// Makes sure that one more product per slot fits, by reducing if necessary.
    pub(crate) fn reserve(&mut self, tables: &Tables) -> AccumulatorMut<'_> {
        assert_eq!(self.cells.len(), tables.n / 8, "an accumulator of the plan's length");
        if self.products == if tables.wide { MAX_WIDE_PRODUCTS } else { MAX_PRODUCTS } {
            for cell in &mut self.cells {
                *cell = Cell { lo: cell.reduced(tables), hi: [0; 8] };
            }
            // The reduced sum is below q, like one product at most.
            self.products = 1;
        }
        self.products += 1;
        // Without an answer from align_offset the scratch is only not aligned.
        let start = self.scratch.as_ptr().align_offset(64).min(7);
        AccumulatorMut { cells: &mut self.cells, scratch: &mut self.scratch[start..start + tables.n] }
    }

    pub(crate) fn take(&mut self, tables: &Tables, out: &mut [u64]) {
        assert_eq!(self.cells.len(), tables.n / 8, "an accumulator of the plan's length");
        assert_eq!(out.len(), tables.n, "a slice of the plan's length");
        for (out, cell) in out.as_chunks_mut::<8>().0.iter_mut().zip(&mut self.cells) {
            *out = std::mem::take(cell).reduced(tables);
        }
        self.products = 0;
    }
}

impl Cell {
    fn reduced(&self, tables: &Tables) -> [u64; 8] {
        let bits = if tables.wide { 64 } else { 52 };
        let mut out = self.lo;
        for (out, &hi) in out.iter_mut().zip(&self.hi) {
            // The sum itself, not modulo 2^128: products are below 2^104 or 2^120, and counted.
            *out = tables.reduce((u128::from(hi) << bits) + u128::from(*out));
        }
        out
    }
}
