//! Gadget decomposition of numbers into a few small signed digits.
//!
//! The gadget is `g = A (1, B, ..., B^(l-1))` with `A = 2^drop` and `B = 2^base`. A number `x`,
//! centered, is decomposed into digits `d_j` in `[-B/2, B/2]` with `|x - sum g_j d_j| <= A/2`. The
//! decomposition is exact if `A = 1`, and leaves the lowest bits of `x` to the noise otherwise
//! (Chen, Chillotti and Song, 2019; FSpiral's approximate gadget).
//!
//! No carry runs from digit to digit: `u = x + A/2 + A sum (B/2) B^j` is positive, its bits are
//! split at multiples of `base`, and `B/2` is subtracted from each piece. The highest piece keeps
//! all bits above it, so that its digit may reach `B/2` where all others are below.

use crate::modulus::Modulus;
use crate::modulus_pair::ModulusPair;
pub use crate::simd::args::gadget::Gadget;
use crate::simd::args::gadget::{GadgetDigits, PairDigits};
use crate::simd::{self, Kernels};

impl Gadget {
    /// Decomposes reduced `x` into digits, as residues, all first digits before all second ones.
    ///
    /// # Panics
    /// If the gadget does not fit the modulus, or `out` is not as long as all digits of `x`.
    pub fn decompose(&self, q: &Modulus, x: &[u64], out: &mut [u64]) {
        self.decompose_with(simd::kernels(), q, x, out);
    }

    /// Decomposes numbers modulo the product of two moduli, given by their residues, into digits,
    /// as residues modulo each.
    ///
    /// # Panics
    /// If the gadget does not fit the product, the slices of `x` differ in length, or those of
    /// `out` are not as long as all digits of `x`.
    pub fn decompose_pair(&self, pair: &ModulusPair, x: [&[u64]; 2], out: [&mut [u64]; 2]) {
        self.decompose_pair_with(simd::kernels(), pair, x, out);
    }

    pub(crate) fn decompose_with(&self, kernels: &dyn Kernels, q: &Modulus, x: &[u64], out: &mut [u64]) {
        assert!(self.fits(q.bits()), "a gadget that reaches the modulus");
        assert_eq!(out.len(), x.len() * self.digits() as usize, "an output for all digits");
        let offset = self.constant() - u128::from(q.value() / 2);
        kernels.decompose(&GadgetDigits { gadget: *self, modulus: *q, offset }, x, out);
    }

    pub(crate) fn decompose_pair_with(
        &self,
        kernels: &dyn Kernels,
        pair: &ModulusPair,
        x: [&[u64]; 2],
        out: [&mut [u64]; 2],
    ) {
        let product = pair.product();
        assert!(self.fits(u128::BITS - product.leading_zeros()), "a gadget that reaches the product");
        assert_eq!(x[0].len(), x[1].len(), "slices of one length");
        let expected = x[0].len() * self.digits() as usize;
        assert_eq!([out[0].len(), out[1].len()], [expected; 2], "an output for all digits");
        let offset = self.constant() - product / 2;
        kernels.decompose_pair(&PairDigits { gadget: *self, pair: *pair, offset }, x, out);
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

    fn composite() -> Modulus {
        Modulus::composite(prime(268369921), prime(249561089)).unwrap()
    }

    /// Numbers modulo `q` where rounding and carries may fail, then some irregular ones.
    fn numbers(q: u128) -> Vec<u128> {
        let mut numbers = vec![0, 1, 2, q - 1, q - 2, q / 2 - 1, q / 2, q / 2 + 1, q / 2 + 2, q / 3, q / 4];
        for bits in 1..127 - q.leading_zeros() {
            numbers.extend([(1 << bits) - 1, 1 << bits, q - (1 << bits)]);
        }
        numbers.extend((0..1000u64).map(|i| u128::from(mix(i)) << 64 | u128::from(mix(!i))));
        // Not a multiple of a register's length.
        numbers.truncate(numbers.len() / 8 * 8 + 3);
        numbers.into_iter().map(|x| x % q).collect()
    }

    fn centered(x: u128, q: u128) -> i128 {
        if x > q / 2 { x as i128 - q as i128 } else { x as i128 }
    }

    /// Checks that digits are in range, and their sum within A/2 of the centered number.
    fn check(g: &Gadget, x: u128, q: u128, digits: &[i64]) {
        let half = 1i64 << (g.base_log2() - 1);
        let mut error = centered(x, q);
        for (j, (&digit, power)) in digits.iter().zip(g.powers()).enumerate() {
            let top = j + 1 == digits.len();
            assert!(digit >= -half && (digit < half || top && digit == half), "{g:?}, {x} mod {q}: {digit}");
            error -= i128::from(digit) * power as i128;
        }
        assert!(error.abs() <= (1 << g.drop_log2()) / 2, "{g:?}, {x} mod {q}: left {error}");
    }

    #[test]
    fn digits_recompose() {
        let moduli = [prime(65537), prime(268369921), prime(1125899904679937), composite()];
        let gadgets =
            [(1, 17, 0), (2, 17, 16), (3, 10, 0), (4, 14, 0), (7, 8, 0), (7, 8, 3), (60, 1, 0), (28, 2, 1)];
        for q in moduli {
            for (l, base, drop) in gadgets {
                let g = Gadget::new(l, base, drop).unwrap();
                if !g.fits(q.bits()) {
                    continue;
                }
                let x: Vec<u64> = numbers(q.value().into()).into_iter().map(|x| x as u64).collect();
                let mut expected = vec![0; x.len() * l as usize];
                g.decompose_with(&crate::simd::Scalar, &q, &x, &mut expected);
                for (i, &x_i) in x.iter().enumerate() {
                    let digits: Vec<i64> =
                        (0..l as usize).map(|j| q.centered(expected[j * x.len() + i])).collect();
                    check(&g, x_i.into(), q.value().into(), &digits);
                }
                for k in available() {
                    let mut out = vec![7; expected.len()];
                    g.decompose_with(k, &q, &x, &mut out);
                    assert!(out == expected, "{g:?}, q {}, {}", q.value(), k.name());
                }
            }
        }
    }

    #[test]
    fn digits_of_pairs_recompose() {
        let (p, p2) = (prime(1125899904679937), prime(1125899906826241));
        let pairs = [
            (p, p2),
            (p2, p),
            (prime(268369921), p),
            (p, prime(16760833)),
            (composite(), prime(16760833)),
            (prime(65537), prime(12289)),
        ];
        let gadgets = [
            (2, 31, 38),
            (3, 21, 36),
            (6, 15, 0),
            (7, 15, 0),
            (8, 13, 0),
            (2, 15, 0),
            (5, 20, 0),
            (1, 52, 48),
            (2, 12, 8),
        ];
        for (q, special) in pairs {
            let pair = ModulusPair::new(q, special).unwrap();
            let product = pair.product();
            for (l, base, drop) in gadgets {
                let g = Gadget::new(l, base, drop).unwrap();
                let smallest = q.value().min(special.value());
                if !g.fits(128 - product.leading_zeros()) || smallest < 1 << base {
                    continue;
                }
                let numbers = numbers(product);
                let n = numbers.len();
                let [x, x_special] =
                    [0, 1].map(|i| numbers.iter().map(|&x| pair.residues(x)[i]).collect::<Vec<_>>());
                let empty = || vec![7; n * l as usize];
                let (mut expected, mut expected_special) = (empty(), empty());
                let out = [&mut expected[..], &mut expected_special[..]];
                g.decompose_pair_with(&crate::simd::Scalar, &pair, [&x, &x_special], out);
                for (i, &number) in numbers.iter().enumerate() {
                    let of = |q: &Modulus, out: &[u64]| -> Vec<i64> {
                        (0..l as usize).map(|j| q.centered(out[j * n + i])).collect()
                    };
                    let digits = of(&q, &expected);
                    assert_eq!(digits, of(&special, &expected_special));
                    check(&g, number, product, &digits);
                }
                for k in available() {
                    let (mut a, mut b) = (empty(), empty());
                    g.decompose_pair_with(k, &pair, [&x, &x_special], [&mut a, &mut b]);
                    assert!(a == expected && b == expected_special, "{g:?}, {pair:?}, {}", k.name());
                }
            }
        }
    }

    #[test]
    fn digits_larger_than_a_modulus_are_reduced() {
        let (q, special) = (prime(1125899904679937), prime(257));
        let pair = ModulusPair::new(q, special).unwrap();
        let g = Gadget::new(2, 30, 0).unwrap();
        let number = pair.product() / 5;
        let [x, x_special] = pair.residues(number);
        for k in available() {
            let (mut a, mut b) = ([0; 2], [0; 2]);
            g.decompose_pair_with(k, &pair, [&[x], &[x_special]], [&mut a, &mut b]);
            let digits = a.map(|a| q.centered(a));
            check(&g, number, pair.product(), &digits);
            assert_eq!(b, digits.map(|d| special.reduce_i64(d)), "{}", k.name());
        }
    }

    #[test]
    fn sizes() {
        assert!(Gadget::new(0, 8, 0).is_none());
        assert!(Gadget::new(1, 0, 0).is_none());
        assert!(Gadget::new(1, 63, 0).is_none());
        assert!(Gadget::new(7, 18, 1).is_none());
        assert!(Gadget::new(u32::MAX, 62, 0).is_none());
        assert!(Gadget::new(1, 62, u32::MAX).is_none());
        let g = Gadget::new(2, 31, 38).unwrap();
        assert_eq!((g.digits(), g.base_log2(), g.drop_log2()), (2, 31, 38));
        assert_eq!(g.powers(), [1 << 38, 1 << 69]);
        assert!(g.fits(100) && !g.fits(101));
    }
}
