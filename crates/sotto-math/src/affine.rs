//! Evaluation of many lines at one point: `factor x + term` modulo 2^32, for lists of factors and
//! terms.

use crate::simd::{self, Kernels};

/// Writes `factors[i] x + terms[i]` modulo 2^32 to `out[i]`.
///
/// # Panics
/// Unless all three are of one length.
pub fn affine(factors: &[u32], terms: &[u32], x: u32, out: &mut [u32]) {
    affine_with(simd::kernels(), factors, terms, x, out);
}

fn affine_with(kernels: &dyn Kernels, factors: &[u32], terms: &[u32], x: u32, out: &mut [u32]) {
    assert!(factors.len() == out.len() && terms.len() == out.len(), "lists of one length");
    kernels.affine(factors, terms, x, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::mix;

    #[test]
    fn every_backend_gives_the_same_numbers() {
        for len in [0, 1, 7, 8, 15, 16, 17, 33, 100] {
            let list = |seed: u64| (0..len).map(|i| mix(seed << 32 | i) as u32).collect::<Vec<_>>();
            let (factors, terms, x) = (list(1), list(2), mix(len) as u32);
            let line =
                |(f, t): (&u32, &u32)| ((u64::from(*f) * u64::from(x) + u64::from(*t)) % (1 << 32)) as u32;
            let expected: Vec<u32> = factors.iter().zip(&terms).map(line).collect();
            for kernels in simd::available() {
                let mut out = vec![7; len as usize];
                affine_with(kernels, &factors, &terms, x, &mut out);
                assert_eq!(out, expected, "{}, {len}", kernels.name());
            }
        }
    }
}
