//! The noise of a MulPIR answer, and the probability that it is too large.
//!
//! Figures are variance proxies of the coefficients of an error, after Fan and Vercauteren (2012)
//! for the product, and for the worst data: every coefficient of the table is as far from zero as
//! possible. Errors have the deviation [`SIGMA`], and secrets are ternary.

use super::context::RingContext;
use super::keys::{Compression, elements};
use super::shape::EntryShape;
use crate::rings::SIGMA;
use sotto_core::ParamsError;
use sotto_core::params::REQUIRED_FAILURE_LOG2;
use sotto_lattice::bgv::SlotRing;
use sotto_lattice::noise::{failure_log2, uniform};

impl RingContext {
    /// log2 of the probability that any coefficient of an answer is read wrongly, if its two
    /// polynomials are sent without `dropped` low bits.
    pub fn failure_log2(&self, shape: &EntryShape, compression: Compression, dropped: [u32; 2]) -> f64 {
        let ring = self.ring();
        let (n, t) = (self.degree() as f64, ring.ring().plain() as f64);
        let primes: Vec<f64> = ring.plans(ring.full()).map(|plan| plan.modulus().value() as f64).collect();
        let [first, second, special] = primes.as_array().copied().unwrap_or([1.0; 3]);
        // A secret's squared norm; rounding of both parts of a ciphertext, which the secret
        // multiplies.
        let secret = n * 2.0 / 3.0;
        let rounding = uniform(1.0) * (1.0 + secret);
        let digits = (first.powi(2) + second.powi(2)) / 3.0;
        let switch = digits * n * SIGMA.powi(2) / special.powi(2) + rounding;
        // Every round doubles the noise, and adds as many key switches as the keys require.
        let elements = elements(self.degree(), shape.outputs(), compression);
        let rounds = shape.outputs().min(self.degree()).next_power_of_two().ilog2();
        let selector = (0..rounds).fold(SIGMA.powi(2), |variance, round| {
            let exponent = self.degree().ilog2() - round;
            let powers = elements.iter().map(|element| element.ilog2());
            let power = powers.filter(|power| *power <= exponent).max().unwrap_or(exponent);
            2.0 * variance + f64::from(exponent - power).exp2() * switch
        });
        let [rows, columns] = shape.dimensions().map(|dimension| dimension as f64);
        let sum = rows * n * (t / 2.0).powi(2) * selector;
        // The multiple of q in a phase times the other's error, and t times that; and the messages
        // times errors.
        let product = n * (t.powi(2) * rounding * (sum + selector) + sum + (t / 2.0).powi(2) * selector);
        let all = columns * product + t.powi(2) * rounding + switch;
        let low = 4f64.powi(dropped[1] as i32) / 3.0 * secret;
        let variance = all / second.powi(2) + rounding + low;
        let margin = first / (2.0 * t) - f64::from(dropped[0]).exp2() - 1.0;
        failure_log2(margin, variance, n * (shape.chunks() * shape.batch()) as f64)
    }

    /// Checks that a lookup in tables of this shape fails rarely enough.
    ///
    /// # Errors
    /// [`ParamsError::Unreliable`] above 2^-40, with the figure.
    pub fn check(
        &self,
        shape: &EntryShape,
        compression: Compression,
        dropped: [u32; 2],
    ) -> Result<(), ParamsError> {
        let (log2, required) = (self.failure_log2(shape, compression, dropped), REQUIRED_FAILURE_LOG2);
        if log2 <= f64::from(required) { Ok(()) } else { Err(ParamsError::Unreliable { log2, required }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(t: u64, dimensions: [usize; 2], dropped: [u32; 2]) -> f64 {
        let context = RingContext::new(4096, t, &[134176769, 268369921, 268361729]).unwrap();
        let bytes = context.plaintext_bytes();
        let shape = EntryShape::new(dimensions[0] * dimensions[1], bytes, bytes, dimensions, 2).unwrap();
        let kinds = [Compression::None, Compression::Hybrid, Compression::Most];
        let failures = kinds.map(|kind| context.failure_log2(&shape, kind, dropped));
        assert!(failures.is_sorted(), "fewer keys, more noise");
        for (kind, failure) in kinds.into_iter().zip(failures) {
            assert_eq!(context.check(&shape, kind, dropped).is_ok(), failure <= -40.0);
        }
        failures[0]
    }

    #[test]
    fn small_plain_modulus_large_tables() {
        assert!(failure(17, [467, 43], [19, 11]) < -40.0);
        assert!(failure(17, [1500, 400], [19, 11]) < -40.0);
        assert!(failure(37, [467, 43], [18, 10]) < -40.0);
        assert!(failure(17, [2, 2], [22, 11]) > -40.0, "bits that are needed");
    }

    #[test]
    fn large_plain_moduli_leave_no_room_for_a_product() {
        assert!(failure(4099, [2, 1], [11, 3]) > -1.0);
        assert!(failure(65537, [1, 1], [8, 0]) > -1.0);
    }
}
