//! The noise of a whole lookup, step by step, and the probability that it is too large.
//!
//! Data are whitened (see [`whiten`](crate::whitening::whiten)), so the figures of each step hold
//! for every table that was not made against the whitening stream: no row lines up with a secret by
//! chance. Of each column of a region, which is what the first dimension sums over, `written` rows
//! may have been written by somebody who knew the stream; the failure bound assumes their worst
//! values.

use crate::literal::{Literal, TableForm, Upload, digits};
use crate::rings::RingSet;
use sotto_lattice::noise::{self, steps};

/// Variances of the phase, per coefficient, in the order of the steps. The unit is 1 modulo the
/// modulus of that step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Variance of a selector of the first dimension, when the table is multiplied by it.
    pub selector: f64,
    /// Variance of a row m g_j of an RGSW ciphertext, as folding uses it.
    pub message_row: f64,
    /// Variance of a row -s m g_j of an RGSW ciphertext.
    pub secret_row: f64,
    /// Variance after the first dimension.
    pub first: f64,
    /// Variance after folding.
    pub folded: f64,
    /// Variance after packing; equal to `folded` where nothing is packed.
    pub packed: f64,
}

impl Noise {
    /// Computes the noise of a literal on its ring. Total: absurd numbers give absurd noise, not a
    /// panic.
    pub fn of(literal: &Literal, ring: &RingSet) -> Self {
        let (n, h) = (ring.n, ring.n as f64 * ring.distribution.variance());
        let (log2_q, log2_full) = (ring.log2_q(), ring.log2_full());
        let rank = literal.rank() as u32;
        let pack_error = steps::truncated(ring.sigma, lost(ring.main_bits(), literal.pack_key_bits));
        let pack_switch = steps::key_switch(n, &digits(literal.pack), log2_q, pack_error, h);

        let [mut selector, mut message_row, mut secret_row] = match literal.upload {
            Upload::Direct => {
                let sent = steps::truncated(ring.sigma, lost(ring.main_bits(), literal.query_bits));
                [sent; 3]
            }
            Upload::Expanded => {
                let error = steps::truncated(ring.sigma, lost(ring.full_bits(), literal.key_bits));
                let switch = |triple| steps::key_switch(n, &digits(triple), log2_full, error, h);
                let (left, right) = (switch(literal.expand), switch(literal.expand_right));
                let sent = steps::truncated(ring.sigma, lost(ring.full_bits(), literal.query_bits));
                let rounds =
                    |from, count: usize, each| (0..count).fold(from, |v, _| steps::expansion_round(v, each));
                let [left_rounds, right_rounds] = rounds_of(literal);
                let split = if literal.nu2 > 0 { steps::expansion_round(sent, right) } else { sent };
                let square = steps::squared(h);
                let convert = steps::key_switch(n, &digits(literal.convert), log2_full, error, square);
                let message = rounds(split, right_rounds, right);
                let values =
                    [rounds(split, left_rounds, left), message, steps::conversion(h, message, convert)];
                match ring.special {
                    Some(_) => values.map(|v| steps::lowered(v, log2_full - log2_q, h)),
                    None => values,
                }
            }
        };
        if literal.form == TableForm::Matrix {
            // Column i of a matrix ciphertext is a key switch to position i; the row of secrets is
            // the product of what was sent with them, and a key switch of their product.
            let square = steps::key_switch(n, &digits(literal.convert), log2_q, pack_error, h * h);
            secret_row = steps::conversion(h, message_row, square);
            selector += pack_switch;
            message_row += pack_switch;
        }
        // A matrix ciphertext multiplies a whole column of the unit's matrix.
        let rows = u64::from(literal.rows) * u64::from(rank);
        let first = steps::first_dimension(n, rows, literal.p_log2.into(), selector);
        let fold = &digits(literal.fold);
        let product = steps::external_product(n, rank, [fold; 2], log2_q, [secret_row, message_row], h);
        let folded = first + f64::from(literal.nu2) * product;
        let packed = match literal.form {
            TableForm::Packed => folded + f64::from(literal.n) * pack_switch,
            TableForm::Plain | TableForm::Matrix => folded,
        };
        Noise { selector, message_row, secret_row, first, folded, packed }
    }

    /// log2 of a bound on the probability that any bit of a record is wrong.
    ///
    /// Computed in units of one step of the message: half a step less the roundings that have a
    /// certain bound, against the deviation of the rest. The union bound is over every coefficient
    /// of the record, so this is the bound of the worst coefficient.
    pub fn failure_log2(&self, literal: &Literal, ring: &RingSet) -> f64 {
        let h = ring.n as f64 * ring.distribution.variance();
        let p = f64::from(literal.p_log2);
        let [mask_bits, body_bits] = literal.answer_bits.map(f64::from);
        let step = ring.log2_q() - p;
        // Rounding of b, and of q/p to an integer times the largest coefficient, where the modulus
        // is not switched.
        let body = (p - body_bits - 1.0).exp2();
        let lowered = ring.special.is_some() && literal.upload == Upload::Expanded;
        let scale = if lowered { 0.0 } else { (p - 2.0 - step).exp2() };
        let margin = 0.5 - body - scale;
        let rounding = (2.0 * (p - mask_bits)).exp2() * norm_bound(h, ring) / 12.0;
        let share = f64::from(literal.written) / f64::from(literal.rows.max(1));
        // Coefficients of magnitude p/2, where the others have a mean square of (p² + 2) / 12.
        let worst = 3.0 * share * self.first * (-2.0 * step).exp2();
        let fixed = (self.packed - share * self.first) * (-2.0 * step).exp2() + rounding;
        let coefficients = units(literal, ring.n) as f64 * literal.unit_polynomials() as f64 * ring.n as f64;
        noise::aligned_failure_log2(margin, fixed, worst, coefficients)
    }
}

/// A squared norm that a secret exceeds with probability below 2^-49: the mean plus nine
/// deviations. This is Chernoff's bound for 2048 squares of Gaussians; ternary secrets stay far
/// below.
///
/// Only rounding noise, which depends on the norm alone, needs it; elsewhere one or two percent do
/// not matter. The noise of a key switch also varies between keys by as little, except for digits
/// of one bit: half of their mean square comes from their mean of 1/2, and the noise of one key
/// deviates by 38 percent from that of another. The sets with such digits, Spiral's own, fail by
/// the rounding of answers: their noise is six bits or more below half a step in the README's
/// table.
fn norm_bound(h: f64, ring: &RingSet) -> f64 {
    // The square of a coefficient deviates from its mean by at most sqrt 2 times it (for a
    // Gaussian); less for a ternary one.
    h + 9.0 * (2.0 * ring.n as f64).sqrt() * ring.distribution.variance()
}

/// Number of bits that are not sent.
fn lost(of: u32, sent: u8) -> u32 {
    of.saturating_sub(sent.into())
}

/// Rounds of expansion after the one that separates the trees: to the selectors, and to the bits.
pub(crate) fn rounds_of(literal: &Literal) -> [usize; 2] {
    let rounds = |leaves: usize| leaves.max(1).next_power_of_two().ilog2() as usize;
    [rounds(literal.rows as usize), rounds(literal.bit_rows())]
}

/// Number of units in a record.
pub(crate) fn units(literal: &Literal, n: usize) -> u64 {
    let unit_bits = literal.unit_polynomials() * n as u64 * u64::from(literal.p_log2);
    literal.record_bytes.saturating_mul(8).div_ceil(unit_bits.max(1)).max(1)
}
