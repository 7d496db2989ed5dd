//! Pairs of moduli: numbers modulo `Q = q q'` as their residues, and division by one modulus with
//! rounding.
//!
//! A number modulo `Q` is stored as its residues modulo `q` and modulo the *special* modulus `q'`.
//! Switching to `q` divides by the special modulus: the ciphertext `c` modulo `Q` becomes
//! `round(c / q')` modulo `q`, which shrinks the noise with it. In residues that is
//! `(c - [c]) / q'` modulo `q`, where `[c]` is the residue modulo `q'` *centered*; the paper's code
//! takes it from `0..q'`, which rounds down instead and costs a bit of noise (design notes on
//! FSpiral, section 1.1). In slots: the inverse transform of the special residues,
//! [`ModulusPair::centered`], the forward transform modulo `q`, [`ModulusPair::lower`].

use crate::modulus::Modulus;
pub use crate::simd::args::{ModulusPair, ResidueLift};
use crate::simd::{self, Kernels};

impl ModulusPair {
    /// Converts residues modulo the special modulus, each as the number nearest to zero, to
    /// residues modulo `q`.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn centered(&self, x_special: &[u64], out: &mut [u64]) {
        self.centered_with(simd::kernels(), x_special, out);
    }

    /// Converts residues modulo the special modulus, each as a number in `0..q'`, to residues
    /// modulo `q`.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn carried(&self, x_special: &[u64], out: &mut [u64]) {
        self.carried_with(simd::kernels(), x_special, out);
    }

    /// Computes `x = (x - correction) / q'` modulo `q`, slot by slot or coefficient by coefficient.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn lower(&self, x: &mut [u64], correction: &[u64]) {
        self.lower_with(simd::kernels(), x, correction);
    }

    pub(crate) fn centered_with(&self, kernels: &dyn Kernels, x_special: &[u64], out: &mut [u64]) {
        assert_eq!(x_special.len(), out.len(), "slices of one length");
        kernels.centered(self, x_special, out);
    }

    pub(crate) fn carried_with(&self, kernels: &dyn Kernels, x_special: &[u64], out: &mut [u64]) {
        assert_eq!(x_special.len(), out.len(), "slices of one length");
        kernels.carried(self, x_special, out);
    }

    pub(crate) fn lower_with(&self, kernels: &dyn Kernels, x: &mut [u64], correction: &[u64]) {
        assert_eq!(x.len(), correction.len(), "slices of one length");
        kernels.lower(self, x, correction);
    }
}

/// Computes `round(x 2^bits / q)` modulo 2^bits, exactly, as an answer sends each coefficient.
///
/// # Panics
/// If the slices differ in length, or `bits` is more than 63.
pub fn round_to_bits(q: &Modulus, x: &[u64], bits: u32, out: &mut [u64]) {
    assert_eq!(x.len(), out.len(), "slices of one length");
    assert!(bits < 64, "at most 63 bits");
    let reciprocal = (1 << (bits + 64)) / u128::from(q.value());
    let half = q.value() / 2;
    for (out, &x) in out.iter_mut().zip(x) {
        // q is odd, so no quotient is halfway: rounding is floor((x 2^bits + q/2) / q). The
        // estimate omits less than 1/16 by the reciprocal, 1 by rounding down and 1/2 by q/2, so it
        // is at most one too low.
        let estimate = ((u128::from(x) * reciprocal) >> 64) as u64;
        let numerator = (x << bits).wrapping_add(half);
        let remainder = numerator.wrapping_sub(estimate.wrapping_mul(q.value()));
        *out = (estimate + u64::from(remainder >= q.value())) & ((1 << bits) - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::mix;
    use crate::simd::available;

    fn prime(q: u64) -> Modulus {
        Modulus::new(q).unwrap()
    }

    fn pairs() -> Vec<ModulusPair> {
        let composite = Modulus::composite(prime(268369921), prime(249561089)).unwrap();
        let of = |a, b| ModulusPair::new(a, b).unwrap();
        let (p, p2) = (prime(1125899904679937), prime(1125899906826241));
        vec![
            of(p, p2),
            of(p2, p),
            of(prime(3), prime(5)),
            of(prime(257), p),
            of(p, prime(257)),
            of(composite, prime(16760833)),
            of(prime(16760833), composite),
            of(composite, p),
            of(prime(134176769), prime(268369921)),
            of(prime(268369921), prime(268361729)),
        ]
    }

    fn numbers(q: u128) -> Vec<u128> {
        let edges = [0, 1, q - 1, q / 2, q / 2 + 1, q / 3];
        let others = (0..201u64).map(|i| u128::from(mix(i)) << 64 | u128::from(mix(!i)));
        edges.into_iter().chain(others).map(|x| x % q).collect()
    }

    #[test]
    fn refuses_what_is_not_coprime_or_too_large() {
        let composite = Modulus::composite(prime(268369921), prime(249561089)).unwrap();
        let large = Modulus::composite(prime(1073741789), prime(1073741783)).unwrap();
        assert!(ModulusPair::new(composite, composite).is_none());
        assert!(ModulusPair::new(composite, prime(268369921)).is_none());
        assert!(ModulusPair::new(prime(249561089), composite).is_none());
        assert!(ModulusPair::new(large, composite).is_none());
        assert!(ModulusPair::new(large, prime(1125899904679937)).is_some());
    }

    #[test]
    fn lifting_inverts_residues() {
        for pair in pairs() {
            for x in numbers(pair.product()) {
                let [r, r_special] = pair.residues(x);
                assert_eq!(pair.lift(r, r_special), x, "{pair:?}");
            }
        }
    }

    #[test]
    fn switching_rounds() {
        for pair in pairs() {
            let (q, special) = (pair.modulus(), pair.special());
            let numbers = numbers(pair.product());
            let residues: Vec<[u64; 2]> = numbers.iter().map(|&x| pair.residues(x)).collect();
            let [x, x_special] = [0, 1].map(|i| residues.iter().map(|r| r[i]).collect::<Vec<_>>());
            let rounded = |&x: &u128| {
                let special = u128::from(special.value());
                q.reduce_u128((x + special / 2) / special)
            };
            let expected: Vec<u64> = numbers.iter().map(rounded).collect();
            for k in available() {
                let mut correction = vec![7; x.len()];
                pair.centered_with(k, &x_special, &mut correction);
                let mut out = x.clone();
                pair.lower_with(k, &mut out, &correction);
                assert_eq!(out, expected, "{pair:?}, {}", k.name());
            }
        }
    }

    #[test]
    fn numbers_are_carried_as_they_are() {
        for pair in pairs() {
            let (q, special) = (pair.modulus(), pair.special().value());
            let numbers: Vec<u64> = numbers(u128::from(special)).into_iter().map(|x| x as u64).collect();
            let edges =
                [q.value() - 1, q.value(), 2 * q.value() - 1, 2 * q.value()].map(|x| x.min(special - 1));
            let numbers: Vec<u64> = numbers.into_iter().chain(edges).collect();
            let expected: Vec<u64> = numbers.iter().map(|x| x % q.value()).collect();
            for k in available() {
                let mut out = vec![7; numbers.len()];
                pair.carried_with(k, &numbers, &mut out);
                assert_eq!(out, expected, "{pair:?}, {}", k.name());
            }
        }
    }

    #[test]
    fn rounding_to_bits() {
        for pair in pairs() {
            let q = pair.modulus();
            let value = u128::from(q.value());
            let x: Vec<u64> = numbers(value).into_iter().map(|x| x as u64).collect();
            for bits in [0, 1, 2, 8, 18, 26, 49, 50, 60, 63] {
                let mut out = vec![7; x.len()];
                round_to_bits(q, &x, bits, &mut out);
                for (&x, &out) in x.iter().zip(&out) {
                    let expected = ((u128::from(x) << bits) + value / 2) / value % (1 << bits);
                    assert_eq!(u128::from(out), expected, "{x} mod {value} to {bits} bits");
                }
            }
        }
    }
}
