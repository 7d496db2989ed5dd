//! Arithmetic modulo a prime below 2^50, or modulo the product of two primes.
//!
//! [`divide`] divides a secret number by a public one, in time that does not depend on the secret:
//! a processor's divide instruction may take longer for larger quotients, and the row that a client
//! looks up must stay secret. Multiplying by a reciprocal takes the same time for every row
//! (Granlund and Montgomery, "Division by invariant integers using multiplication", 1994).

use std::hint::black_box;

/// A modulus, a prime below 2^50 or a product of two below 2^60, with constants for fast reduction.
///
/// The limit of primes leaves two bits of headroom in the 52-bit multipliers of AVX-512 IFMA, that
/// of products four in 64-bit words.
///
/// ```
/// use sotto_math::modulus::Modulus;
///
/// let q = Modulus::new(268_369_921).ok_or("not a prime")?;
/// assert_eq!(q.mul(q.inv(3), 3), 1);
/// assert_eq!(q.centered(q.neg(5)), -5);
/// assert!(Modulus::new(15).is_none());
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modulus {
    q: u64,
    bits: u32,
    /// floor(2^(2 bits) / q), the constant of Barrett's reduction.
    mu: u64,
    factors: Option<[u64; 2]>,
    /// The exponent of the group of units: every unit to this power is 1.
    exponent: u64,
}

impl Modulus {
    /// Makes the modulus `q`; `None` unless it is an odd prime below 2^50.
    pub fn new(q: u64) -> Option<Self> {
        if q >= 1 << 50 || q.is_multiple_of(2) || !is_prime(q) {
            return None;
        }
        Some(Self::with_exponent(q, None, q - 1))
    }

    /// Makes the product of two primes; `None` unless they are distinct and it is below 2^60.
    ///
    /// A transform modulo the product is two transforms modulo primes in one (FSpiral, section 1.1
    /// of the design notes: the "composite NTT").
    pub fn composite(q1: Modulus, q2: Modulus) -> Option<Self> {
        let q = q1.q.checked_mul(q2.q)?;
        if q >= 1 << 60 || q1.q == q2.q || q1.factors.is_some() || q2.factors.is_some() {
            return None;
        }
        // Carmichael's function of q1 q2: the least common multiple.
        let exponent = (q1.q - 1) / gcd(q1.q - 1, q2.q - 1) * (q2.q - 1);
        Some(Self::with_exponent(q, Some([q1.q, q2.q]), exponent))
    }

    fn with_exponent(q: u64, factors: Option<[u64; 2]>, exponent: u64) -> Self {
        let bits = 64 - q.leading_zeros();
        // Below 2^(bits + 1), so the cast keeps everything.
        let mu = ((1u128 << (2 * bits)) / u128::from(q)) as u64;
        Modulus { q, bits, mu, factors, exponent }
    }

    /// The modulus itself.
    pub fn value(&self) -> u64 {
        self.q
    }

    /// Number of bits of the modulus.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The two primes of a product, in the given order; `None` for a prime.
    pub fn factors(&self) -> Option<[u64; 2]> {
        self.factors
    }

    /// Computes `a + b` for reduced operands.
    #[inline]
    pub fn add(&self, a: u64, b: u64) -> u64 {
        self.once(a + b)
    }

    /// Computes `a - b` for reduced operands.
    #[inline]
    pub fn sub(&self, a: u64, b: u64) -> u64 {
        self.once(a + self.q - b)
    }

    /// Computes `-a` for a reduced operand.
    #[inline]
    pub fn neg(&self, a: u64) -> u64 {
        self.once(self.q - a)
    }

    /// Computes `a * b` for reduced operands.
    ///
    /// Barrett's reduction: Handbook of Applied Cryptography, algorithm 14.42, in base 2.
    #[inline]
    pub fn mul(&self, a: u64, b: u64) -> u64 {
        let x = u128::from(a) * u128::from(b);
        let top = (x >> (self.bits - 1)) as u64;
        let quotient = ((u128::from(top) * u128::from(self.mu)) >> (self.bits + 1)) as u64;
        let r = (x as u64).wrapping_sub(quotient.wrapping_mul(self.q));
        // r is below 3q by the algorithm's bound.
        self.once(self.once_from(r, 2 * self.q))
    }

    /// Computes `a` to the power `e`, for a reduced `a`.
    pub fn pow(&self, a: u64, mut e: u64) -> u64 {
        let (mut base, mut out) = (a, 1);
        while e > 0 {
            if e & 1 == 1 {
                out = self.mul(out, base);
            }
            base = self.mul(base, base);
            e >>= 1;
        }
        out
    }

    /// Computes the inverse of a reduced `a`, or zero if `a` is zero.
    ///
    /// Modulo a product, multiples of one of the primes have no inverse; the result for them is
    /// reduced and has no meaning.
    pub fn inv(&self, a: u64) -> u64 {
        self.pow(a, self.exponent - 1)
    }

    /// Reduces any 64-bit number.
    pub fn reduce(&self, a: u64) -> u64 {
        a % self.q
    }

    /// Reduces any signed number to its representative in `0..q`.
    pub fn reduce_i64(&self, a: i64) -> u64 {
        // The modulus is below 2^60, so both casts are exact.
        a.rem_euclid(self.q as i64) as u64
    }

    /// Reduces any 128-bit number.
    pub fn reduce_u128(&self, a: u128) -> u64 {
        (a % u128::from(self.q)) as u64
    }

    /// The representative of a reduced `a` that is nearest to zero.
    pub fn centered(&self, a: u64) -> i64 {
        let a = a as i64;
        let q = self.q as i64;
        a - q * i64::from(a > q / 2)
    }

    #[inline]
    fn once(&self, a: u64) -> u64 {
        self.once_from(a, self.q)
    }

    /// Returns `a` or `a - b`, whichever does not wrap: the smaller one, without a branch.
    #[inline]
    fn once_from(&self, a: u64, b: u64) -> u64 {
        a.min(a.wrapping_sub(b))
    }
}

/// The greatest common divisor, by Euclid's algorithm. Not for secrets: its time depends on the
/// numbers.
pub(crate) fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Tests for primality by Miller and Rabin, made deterministic by the first twelve primes as bases
/// (enough for all numbers below 2^64: Sorenson and Webster, 2015).
fn is_prime(q: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if q < 2 {
        return false;
    }
    if BASES.contains(&q) {
        return true;
    }
    let mul = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(q)) as u64;
    let pow = |mut a: u64, mut e: u64| {
        let mut out = 1;
        while e > 0 {
            if e & 1 == 1 {
                out = mul(out, a);
            }
            a = mul(a, a);
            e >>= 1;
        }
        out
    };
    let twos = (q - 1).trailing_zeros();
    BASES.iter().all(|&base| {
        let mut x = pow(base, (q - 1) >> twos);
        if x <= 1 {
            return x == 1;
        }
        for _ in 1..twos {
            if x == q - 1 {
                return true;
            }
            x = mul(x, x);
        }
        x == q - 1
    })
}

/// Computes quotient and remainder of a secret `value` by a public `by`, which is not zero.
pub fn divide(value: u64, by: u64) -> (u64, u64) {
    // floor(value * floor((2^64 - 1) / by) / 2^64) is the quotient or one less, for every 64-bit
    // value.
    let reciprocal = u64::MAX / by.max(1);
    let guess = ((u128::from(value) * u128::from(reciprocal)) >> 64) as u64;
    let rest = value.wrapping_sub(guess.wrapping_mul(by));
    let (reduced, borrow) = rest.overflowing_sub(by);
    // All ones if `rest` was one divisor too large. The black box keeps the mask from becoming a branch.
    let mask = black_box(u64::from(borrow).wrapping_sub(1));
    (guess.wrapping_add(mask & 1), rest ^ (mask & (rest ^ reduced)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Primes that are small, close to powers of two on both sides, and the largest allowed.
    const PRIMES: [u64; 9] =
        [3, 5, 257, 65537, 268369921, 4294967291, 4294967311, 1125899904679937, 1125899906842597];

    /// Primes and products of two: tiny, of FSpiral, of unlike sizes, and close to 2^60.
    fn moduli() -> Vec<Modulus> {
        let products =
            [(3, 5), (3, 257), (268369921, 249561089), (1125899906842597, 1021), (1073741789, 1073741783)];
        let prime = |q| Modulus::new(q).unwrap();
        let products = products.map(|(a, b)| Modulus::composite(prime(a), prime(b)).unwrap());
        PRIMES.into_iter().map(prime).chain(products).collect()
    }

    #[test]
    fn products_of_two_distinct_primes_below_2_to_60() {
        let prime = |q| Modulus::new(q).unwrap();
        let q = Modulus::composite(prime(268369921), prime(249561089)).unwrap();
        assert_eq!((q.value(), q.bits()), (268369921 * 249561089, 56));
        assert_eq!(q.factors(), Some([268369921, 249561089]));
        assert_eq!(prime(5).factors(), None);
        assert!(Modulus::composite(prime(5), prime(5)).is_none());
        assert!(Modulus::composite(q, prime(5)).is_none());
        assert!(Modulus::composite(prime(5), Modulus::composite(prime(3), prime(7)).unwrap()).is_none());
        assert!(Modulus::composite(prime(1125899906842597), prime(1031)).is_none());
        assert!(Modulus::composite(prime(1125899906842597), prime(1125899904679937)).is_none());
    }

    #[test]
    fn only_odd_primes_below_2_to_50() {
        for q in [0, 1, 2, 4, 9, 561, 3215031751, (1 << 50) + 55, u64::MAX, 4294967291 * 3] {
            assert!(Modulus::new(q).is_none(), "{q}");
        }
        for q in PRIMES {
            assert_eq!(Modulus::new(q).unwrap().value(), q);
        }
        let below_1000 = (0..1000).filter(|&q| is_prime(q)).count();
        assert_eq!(below_1000, 168);
    }

    #[test]
    fn inverses() {
        for m in moduli() {
            let q = m.value();
            for a in [1, 2, q / 2, q - 1, q / 3 * 2 + 1] {
                if gcd(a, q) == 1 {
                    assert_eq!(m.mul(a % q, m.inv(a % q)), 1, "{a} mod {q}");
                }
            }
            assert_eq!(m.inv(0), 0);
        }
    }

    #[test]
    fn centering() {
        let m = Modulus::new(7).unwrap();
        let all: Vec<i64> = (0..7).map(|a| m.centered(a)).collect();
        assert_eq!(all, [0, 1, 2, 3, -3, -2, -1]);
    }

    proptest! {
        #[test]
        fn agrees_with_wide_integers(i in 0..moduli().len(), a: u64, b: u64, edge in 0u64..9) {
            let m = moduli()[i];
            let q = m.value();
            // Half of the operands are from the ends of the range, where reductions may fail.
            let a = if edge < 4 { (q - 1).saturating_sub(edge) } else { a % q };
            let b = if edge < 5 { (q - 1).saturating_sub(b % 2) } else { b % q };
            let (wa, wb, wq) = (u128::from(a), u128::from(b), u128::from(q));
            prop_assert_eq!(u128::from(m.mul(a, b)), wa * wb % wq);
            prop_assert_eq!(u128::from(m.add(a, b)), (wa + wb) % wq);
            prop_assert_eq!(u128::from(m.sub(a, b)), (wa + wq - wb) % wq);
            prop_assert_eq!(m.add(a, m.neg(a)), 0);
            prop_assert_eq!(m.reduce_i64(m.centered(a)), a);
        }

        #[test]
        fn signed_reduction(i in 0..moduli().len(), a: i64) {
            let m = moduli()[i];
            prop_assert_eq!(i128::from(m.reduce_i64(a)), i128::from(a).rem_euclid(i128::from(m.value())));
        }
    }

    #[test]
    fn edges() {
        for by in [1, 2, 3, 255, 256, 257, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            for value in [0, 1, by - 1, by, by.wrapping_add(1), by.wrapping_mul(2), u64::MAX - 1, u64::MAX] {
                assert_eq!(divide(value, by), (value / by, value % by), "{value} / {by}");
            }
        }
    }

    proptest! {
        #[test]
        fn is_division(value: u64, by in 1..=u64::MAX, shift in 0..63u32) {
            let by = (by >> shift).max(1);
            prop_assert_eq!(divide(value, by), (value / by, value % by));
        }
    }
}
