//! A sum of products that is reduced once, at the end.

use super::Tables;

/// A product of two factors below 2^52 adds less than 2^52 to each half, so this many
/// fit 64 bits.
const ROOM: usize = 1 << 12;

/// Slot-wise sums of products, in redundant form: the value of slot `i` is
/// `lo[i] + 2^52 hi[i]`.
///
/// These are the two halves that the 52-bit multipliers of AVX-512 IFMA return, so a
/// product costs two instructions and no reduction. What the halves hold depends on the
/// backend; only the reduced value, from [`NttPlan::take`](super::NttPlan::take), does not.
#[derive(Debug, Clone)]
pub struct Accumulator {
    lo: Vec<u64>,
    hi: Vec<u64>,
    /// Where a transform lives between its levels on the way into the sum.
    scratch: Vec<u64>,
    products: usize,
}

/// An accumulator with room for one more product.
pub(crate) struct Halves<'a> {
    pub(crate) lo: &'a mut [u64],
    pub(crate) hi: &'a mut [u64],
    pub(crate) scratch: &'a mut [u64],
}

impl Accumulator {
    pub(crate) fn new(n: usize) -> Self {
        Accumulator { lo: vec![0; n], hi: vec![0; n], scratch: vec![0; n], products: 0 }
    }

    /// Makes room for one more product per slot.
    pub(crate) fn room(&mut self, tables: &Tables) -> Halves<'_> {
        assert_eq!(self.lo.len(), tables.n, "an accumulator of the plan's length");
        if self.products == ROOM {
            for (lo, hi) in self.lo.iter_mut().zip(&mut self.hi) {
                *lo = reduced(tables, *lo, *hi);
                *hi = 0;
            }
            self.products = 1;
        }
        self.products += 1;
        Halves { lo: &mut self.lo, hi: &mut self.hi, scratch: &mut self.scratch }
    }

    pub(crate) fn take(&mut self, tables: &Tables, out: &mut [u64]) {
        assert_eq!(self.lo.len(), tables.n, "an accumulator of the plan's length");
        assert_eq!(out.len(), tables.n, "a slice of the plan's length");
        for ((out, lo), hi) in out.iter_mut().zip(&mut self.lo).zip(&mut self.hi) {
            *out = reduced(tables, *lo, *hi);
            (*lo, *hi) = (0, 0);
        }
        self.products = 0;
    }
}

fn reduced(tables: &Tables, lo: u64, hi: u64) -> u64 {
    let q = &tables.modulus;
    q.add(q.reduce(lo), q.mul(q.reduce(hi), tables.two_52))
}
