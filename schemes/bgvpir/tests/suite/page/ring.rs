//! Arithmetic from the definitions: values of polynomials, one number at a time.

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng as _, SeedableRng};

/// The primes of the page's table.
pub(crate) const POW2: [u64; 4] = [1125889168998401, 1125874136383489, 1125818300956673, 1125809710891009];
pub(crate) const M8191: [u64; 4] = [1115595642470401, 1110100097433601, 1107901879418881, 1104604552396801];

/// Values of polynomials modulo one prime.
pub(crate) struct Limb {
    pub(crate) q: u64,
    pub(crate) degree: usize,
    /// The powers of the root of unity, of order 16384 or 8191.
    powers: Vec<u64>,
    /// The exponent of the root for each value.
    exponents: Vec<usize>,
}

impl Limb {
    pub(crate) fn new(is_pow2: bool, q: u64) -> Self {
        let (order, degree) = if is_pow2 { (16384u64, 8192usize) } else { (8191, 8190) };
        let mut candidates = (2..q).map(|g| power(g, (q - 1) / order, q));
        let root = match is_pow2 {
            true => candidates.find(|root| power(*root, order / 2, q) == q - 1),
            false => candidates.find(|root| *root != 1),
        };
        let root = root.unwrap();
        let powers =
            std::iter::successors(Some(1), |x| Some(mul(*x, root, q))).take(order as usize).collect();
        let exponents = match is_pow2 {
            true => (0..degree).map(exponent).collect(),
            false => std::iter::successors(Some(1), |x| Some(x * 17 % 8191)).take(degree).collect(),
        };
        Limb { q, degree, powers, exponents }
    }

    /// The values of a polynomial with these coefficients, which may be negative; many of them zero.
    pub(crate) fn values(&self, coefficients: &[i64]) -> Vec<u64> {
        let terms: Vec<(usize, u64)> = coefficients
            .iter()
            .enumerate()
            .filter(|(_, c)| **c != 0)
            .map(|(j, c)| (j, c.rem_euclid(self.q as i64) as u64))
            .collect();
        let one = |c: &u64| *c == 1 || *c == self.q - 1;
        let (ones, others): (Vec<_>, Vec<_>) = terms.into_iter().partition(|(_, c)| one(c));
        let value = |exponent: &usize| {
            // A division by a constant is several times as fast.
            let turned =
                |j: usize| if self.degree == 8192 { j * exponent % 16384 } else { j * exponent % 8191 };
            let at = |j: usize| self.powers[turned(j)];
            let small: i128 = ones
                .iter()
                .map(|(j, c)| if *c == 1 { i128::from(at(*j)) } else { -i128::from(at(*j)) })
                .sum();
            let large: u128 = others.iter().map(|(j, c)| u128::from(*c) * u128::from(at(*j))).sum();
            let q = u128::from(self.q);
            ((small.rem_euclid(q as i128) as u128 + large % q) % q) as u64
        };
        self.exponents.iter().map(value).collect()
    }

    pub(crate) fn mul(&self, a: u64, b: u64) -> u64 {
        mul(a, b, self.q)
    }

    pub(crate) fn inverse(&self, a: u64) -> u64 {
        power(a % self.q, self.q - 2, self.q)
    }

    /// "Masks come from streams": words of 50 bits, those not below the prime skipped.
    pub(crate) fn mask(&self, stream: &mut ChaCha20Rng) -> Vec<u64> {
        let mut words = std::iter::repeat_with(|| stream.next_u64() & ((1 << 50) - 1));
        words.by_ref().filter(|word| *word < self.q).take(self.degree).collect()
    }
}

/// The exponent of the root at which a slot of "cube.md" holds a value.
fn exponent(slot: usize) -> usize {
    let (block, i, j) = (slot / 64, slot / 8 % 8, slot % 8);
    let index = 64 * block + 8 * j + i;
    2 * (index.reverse_bits() >> (usize::BITS - 13)) + 1
}

fn mul(a: u64, b: u64, q: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(q)) as u64
}

pub(crate) fn power(base: u64, mut exponent: u64, q: u64) -> u64 {
    let (mut square, mut out) = (base % q, 1);
    while exponent > 0 {
        if exponent % 2 == 1 {
            out = mul(out, square, q);
        }
        square = mul(square, square, q);
        exponent /= 2;
    }
    out
}

/// `a` times a secret of -1, 0 and 1, modulo 2^64 and X^8192 + 1 or the 8191st cyclotomic polynomial.
pub(crate) fn product(is_pow2: bool, a: &[u64], secret: &[i64]) -> Vec<u64> {
    let n = a.len();
    let mut long = vec![0u64; 2 * n];
    for (j, s) in secret.iter().enumerate().filter(|(_, s)| **s != 0) {
        for (to, a) in long[j..].iter_mut().zip(a) {
            *to = to.wrapping_add(a.wrapping_mul(*s as u64));
        }
    }
    if is_pow2 {
        return (0..n).map(|i| long[i].wrapping_sub(long[i + n])).collect();
    }
    // X^8191 = 1, and X^8190 is minus all powers below it.
    let top = long[n];
    (0..n)
        .map(|i| long[i].wrapping_add(if i + n + 1 < 2 * n { long[i + n + 1] } else { 0 }).wrapping_sub(top))
        .collect()
}

/// "Streams" of cube.md.
pub(crate) fn stream(seed: &[u8; 32], label: &str, index: u64) -> ChaCha20Rng {
    let mut bytes = seed.to_vec();
    bytes.extend((label.len() as u64).to_le_bytes());
    bytes.extend(label.as_bytes());
    bytes.extend(index.to_le_bytes());
    ChaCha20Rng::from_seed(blake3::derive_key("sotto 2026 public stream v1", &bytes))
}
