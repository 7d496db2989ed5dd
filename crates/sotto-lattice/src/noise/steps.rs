//! The variance that each step of a ring protocol adds: an executable model, one function for each
//! step.
//!
//! A figure is the variance of a coefficient of the phase, averaged over the N coefficients.
//! Averages are enough: whatever multiplies such a polynomial afterwards (digits of uniform masks,
//! whitened data) weighs all its coefficients alike, even where expansion leaves the noise in few
//! of them. Throughout, digits of uniform values count as independent and uniform, as in Spiral
//! (section 5) and in the works it follows. The tests measure every step with the secret key.
//!
//! Letters: `n` the degree, `h` the mean squared norm of the secret, B, A and l the gadget's.

/// A gadget A (1, B, ..., B^(l-1)), by the numbers that noise depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GadgetNoise {
    /// l: number of digits.
    pub count: u32,
    /// log2 B.
    pub base_log2: u32,
    /// log2 A: number of dropped bits.
    pub drop_log2: u32,
}

impl GadgetNoise {
    /// Sum of the second moments of the digits of a uniform number modulo 2^`log2_modulus`.
    ///
    /// A balanced digit is uniform in [-B/2, B/2): its second moment is (B² + 2) / 12. The top one spans
    /// only what the modulus leaves it.
    pub fn second_moment(&self, log2_modulus: f64) -> f64 {
        let full = (f64::from(2 * self.base_log2).exp2() + 2.0) / 12.0;
        let below = self.drop_log2 + self.base_log2 * self.count.saturating_sub(1);
        let span = (log2_modulus - f64::from(below)).exp2();
        f64::from(self.count.saturating_sub(1)) * full + full.min((span * span + 2.0) / 12.0)
    }

    /// Variance of the dropped part of a number: uniform in [-A/2, A/2).
    pub fn dropped(&self) -> f64 {
        if self.drop_log2 == 0 { 0.0 } else { f64::from(2 * self.drop_log2).exp2() / 12.0 }
    }
}

/// Variance of an error of variance `sigma²` in a word whose `dropped` lowest bits were not sent.
pub fn truncated(sigma: f64, dropped: u32) -> f64 {
    let lost = if dropped == 0 { 0.0 } else { f64::from(2 * dropped).exp2() / 12.0 };
    sigma * sigma + lost
}

/// Variance that one key switch adds: l digits times as many key errors, and the gadget's dropped
/// part times a source of squared norm `source` (`h` for a secret, [`squared`] of it for its
/// square).
pub fn key_switch(n: usize, digits: &GadgetNoise, log2_modulus: f64, key_error: f64, source: f64) -> f64 {
    n as f64 * digits.second_moment(log2_modulus) * key_error + source * digits.dropped()
}

/// Mean squared norm of s², for a secret of independent centered coefficients: each coefficient of s² is a
/// sum of N products of which N/2 pairs are equal, so its variance is twice that of independent ones.
pub fn squared(h: f64) -> f64 {
    2.0 * h * h
}

/// Variance after one round of expansion: c + KS(tau(c)) holds twice the variance, and that of one
/// key switch.
pub fn expansion_round(before: f64, key_switch: f64) -> f64 {
    2.0 * before + key_switch
}

/// Variance of the row -s m of an RGSW ciphertext, made from RLWE(m): the error times s, and one
/// key switch of s².
pub fn conversion(h: f64, row: f64, key_switch_of_square: f64) -> f64 {
    h * row + key_switch_of_square
}

/// Variance after modulus switching with true rounding: both components are off by a uniform number
/// in [-1/2, 1/2), one of them times s.
pub fn lowered(before: f64, log2_divisor: f64, h: f64) -> f64 {
    before * (-2.0 * log2_divisor).exp2() + (h + 1.0) / 12.0
}

/// Variance that one external product at rank `k` adds: digits of the mask times the rows of -s m,
/// digits of the `k` other components times the rows of m; and for approximate gadgets the dropped
/// part times a bit m.
pub fn external_product(
    n: usize,
    k: u32,
    [mask, bodies]: [&GadgetNoise; 2],
    log2_modulus: f64,
    [secret_row, message_row]: [f64; 2],
    h: f64,
) -> f64 {
    let rows = |digits: &GadgetNoise, row: f64| key_switch(n, digits, log2_modulus, row, 0.0);
    let dropped = h * mask.dropped() + bodies.dropped();
    rows(mask, secret_row) + f64::from(k) * rows(bodies, message_row) + dropped
}

/// Variance after the first dimension: `rows` products with polynomials of uniform coefficients in
/// [-p/2, p/2).
pub fn first_dimension(n: usize, rows: u64, p_log2: u32, selector: f64) -> f64 {
    rows as f64 * n as f64 * (f64::from(2 * p_log2).exp2() + 2.0) / 12.0 * selector
}

/// Variance that packing `k` ciphertexts into one of rank `k` adds to each message: the rows of all
/// packing keys meet at every position, but only one of them has a source there.
pub fn packing(n: usize, k: u32, digits: &GadgetNoise, log2_modulus: f64, key_error: f64, h: f64) -> f64 {
    f64::from(k) * key_switch(n, digits, log2_modulus, key_error, 0.0) + h * digits.dropped()
}

/// Variance that packing `n` samples by InspiRING adds to each: the errors of `n - 1` key switches,
/// which no step multiplies.
pub fn inspiring(n: usize, digits: &GadgetNoise, log2_modulus: f64, key_error: f64, h: f64) -> f64 {
    inspiring_few(n, n, digits, log2_modulus, key_error, h)
}

/// Variance that packing a given number of samples by InspiRING adds to each: the errors of one key
/// switch fewer than samples.
pub fn inspiring_few(
    n: usize,
    samples: usize,
    digits: &GadgetNoise,
    log2_modulus: f64,
    key_error: f64,
    h: f64,
) -> f64 {
    samples.saturating_sub(1) as f64 * key_switch(n, digits, log2_modulus, key_error, h)
}

/// Variance that packing `n` samples by CDKS adds to each, from what a key switch of each level of
/// merges adds: every merge doubles the noise before it. With the same switch in all levels that is
/// (n² - 1) / 3 of them.
pub fn cdks(switches: impl Iterator<Item = f64>) -> f64 {
    switches.fold(0.0, |before, switch| 4.0 * before + switch)
}
