//! Arithmetic between polynomials in slot form.

use super::{Automorphism, NttPlan};
use crate::simd::{self, Kernels};

/// Largest number of products that can be summed in one call.
const MAX_PRODUCTS: usize = 1 << 11;

/// Largest number of products with pairs that can be summed: their sum is below 2^63.
const MAX_PAIRED: usize = 8;

impl NttPlan {
    /// Makes the automorphism X -> X^k as a permutation of slots; `None` unless `k` is odd and
    /// below `2n`.
    pub fn automorphism(&self, k: usize) -> Option<Automorphism> {
        Automorphism::new(self.n(), k)
    }

    /// Computes the slots of X^e; a negative `e` is a division.
    pub fn monomial(&self, e: i64) -> Vec<u64> {
        let (n, q) = (self.n(), self.modulus());
        // The root has order 2n, a power of two.
        let order = 2 * n as u64 - 1;
        let base = q.pow(self.root(), e as u64 & order);
        let square = q.mul(base, base);
        // Powers of the square by the number whose reversal is the slot: the slot's exponent
        // is 2 r + 1.
        let mut odd_powers = vec![base; n];
        for r in 1..n {
            odd_powers[r] = q.mul(odd_powers[r - 1], square);
        }
        (0..n).map(|slot| odd_powers[self.exponent(slot) / 2]).collect()
    }

    /// Computes `x + y`, slot by slot, all reduced.
    ///
    /// # Panics
    /// If a slice is not `n` long.
    pub fn add(&self, x: &mut [u64], y: &[u64]) {
        self.check_all(&[x, y]);
        simd::kernels().add(&self.tables, x, y);
    }

    /// Computes `x - y`, slot by slot, all reduced.
    ///
    /// # Panics
    /// If a slice is not `n` long.
    pub fn sub(&self, x: &mut [u64], y: &[u64]) {
        self.check_all(&[x, y]);
        simd::kernels().sub(&self.tables, x, y);
    }

    /// Computes `x y`, slot by slot, all reduced.
    ///
    /// # Panics
    /// If a slice is not `n` long.
    pub fn mul(&self, x: &mut [u64], y: &[u64]) {
        self.check_all(&[x, y]);
        simd::kernels().mul(&self.tables, x, y);
    }

    /// Computes `odd = (c - t) m` and `c = c + t`, slot by slot, all reduced.
    ///
    /// With `t` the key switch of `c` under an automorphism and `m` a monomial, this is a step of
    /// Spiral's query expansion with one key switch instead of two (design notes, section 4.1): the
    /// automorphism negates the monomial, so both children come from the same `t`.
    ///
    /// # Panics
    /// If a slice is not `n` long.
    pub fn split(&self, c: &mut [u64], t: &[u64], m: &[u64], odd: &mut [u64]) {
        self.check_all(&[c, t, m, odd]);
        simd::kernels().split(&self.tables, c, t, m, odd);
    }

    /// Computes `out = a[0] b[0] + a[1] b[1] + ...`, slot by slot, all reduced.
    ///
    /// # Panics
    /// If a slice is not `n` long, or there are not as many `a` as `b`, or more than 2^11.
    pub fn sum_of_products(&self, a: &[&[u64]], b: &[&[u64]], out: &mut [u64]) {
        self.sum_of_products_with(simd::kernels(), a, b, false, out);
    }

    /// Computes `out = out + a[0] b[0] + a[1] b[1] + ...`, slot by slot, all reduced.
    ///
    /// # Panics
    /// If a slice is not `n` long, or there are not as many `a` as `b`, or more than 2^11.
    pub fn add_sum_of_products(&self, a: &[&[u64]], b: &[&[u64]], out: &mut [u64]) {
        self.sum_of_products_with(simd::kernels(), a, b, true, out);
    }

    /// Computes `out[k] = a[0] b[0][k] + a[1] b[1][k] + ...`, slot by slot, all reduced, for slots
    /// of `b` that are pairs: number 0 in the lower half of a word, number 1 in the upper.
    ///
    /// # Panics
    /// If a slice is not `n` long, there are not as many `a` as `b` or more than 8, or the modulus
    /// has more than 30 bits.
    pub fn sum_of_paired_products(&self, a: &[&[u64]], b: &[&[u64]], out: [&mut [u64]; 2]) {
        self.sum_of_paired_products_with(simd::kernels(), a, b, out);
    }

    pub(crate) fn sum_of_paired_products_with(
        &self,
        kernels: &dyn Kernels,
        a: &[&[u64]],
        b: &[&[u64]],
        out: [&mut [u64]; 2],
    ) {
        assert!(a.len() == b.len() && a.len() <= MAX_PAIRED, "as many factors on both sides, at most 8");
        assert!(self.modulus().bits() <= 30, "a modulus below 2^30");
        self.check_all(a);
        self.check_all(b);
        self.check_all(&[&*out[0], &*out[1]]);
        kernels.paired_products(&self.tables, a, b, out);
    }

    pub(crate) fn sum_of_products_with(
        &self,
        kernels: &dyn Kernels,
        a: &[&[u64]],
        b: &[&[u64]],
        add: bool,
        out: &mut [u64],
    ) {
        assert_eq!(a.len(), b.len(), "as many factors on both sides");
        assert!(a.len() <= MAX_PRODUCTS, "at most 2048 products");
        self.check_all(a);
        self.check_all(b);
        self.check(out.len());
        kernels.sum_of_products(&self.tables, a, b, add, out);
    }

    fn check_all(&self, slices: &[&[u64]]) {
        slices.iter().for_each(|slice| self.check(slice.len()));
    }
}

impl Automorphism {
    /// Writes the slots of `f(X^k)` for the slots `x` of `f`.
    ///
    /// # Panics
    /// If `x` or `out` is not of the plan's length.
    pub fn apply(&self, x: &[u64], out: &mut [u64]) {
        self.apply_with(simd::kernels(), x, out);
    }

    pub(crate) fn apply_with(&self, kernels: &dyn Kernels, x: &[u64], out: &mut [u64]) {
        assert_eq!(x.len(), 64 * self.squares.len(), "a slice of the plan's length");
        assert_eq!(out.len(), 64 * self.squares.len(), "a slice of the plan's length");
        kernels.permute(self, x, out);
    }
}

/// Computes `f(X^k)` for the signed coefficients `x` of `f`, modulo `X^n + 1`.
///
/// # Panics
/// If `k` is even, or the length of `x` is no power of two.
pub fn substitute(k: usize, x: &[i32]) -> Vec<i32> {
    let n = x.len();
    assert!(n.is_power_of_two() && k % 2 == 1, "an odd power, and a power of two as length");
    let mut out = vec![0; n];
    for (i, &x) in x.iter().enumerate() {
        // X^n = -1, so exponents count modulo 2n, and the upper half is negative.
        let at = i * (k % (2 * n)) % (2 * n);
        out[at % n] = if at < n { x } else { -x };
    }
    out
}
