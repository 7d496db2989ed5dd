//! Arithmetic from the definitions: values of polynomials at powers of a root, and back.

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng as _, SeedableRng};

/// A ring of the specification's table: name, n, t, bits of data, primes.
type Ring = (&'static str, usize, u64, usize, &'static [u64]);

/// The two primes of 50 bits that slots have, and a third one; those that coefficients have.
const SLOTS: [u64; 3] = [1125889168998401, 1125874136383489, 1125818300956673];
const WIDE: [u64; 2] = [1125899904679937, 1125899903991809];
const NARROW: [u64; 3] = [34359697409, 34359451649, 68719403009];

const RINGS: [Ring; 5] = [
    ("n4096-t65537-q50", 4096, 65537, 16, SLOTS.split_at(2).0),
    ("n8192-t65537-q100", 8192, 65537, 16, &SLOTS),
    ("n4096-t2^14-q50", 4096, 1 << 14, 14, &WIDE),
    ("n4096-t2^12-q50", 4096, 1 << 12, 12, &WIDE),
    ("n4096-t2^10-q70", 4096, 1 << 10, 10, &NARROW),
];

/// The ring of a name.
pub(crate) fn ring(name: &str) -> Ring {
    RINGS.into_iter().find(|ring| ring.0 == name).unwrap()
}

/// Polynomials modulo one prime.
pub(crate) struct Limb {
    pub(crate) q: u64,
    pub(crate) n: usize,
    psi: u64,
}

impl Limb {
    pub(crate) fn new(n: usize, q: u64) -> Self {
        let order = 2 * n as u64;
        let roots = (2..q).map(|g| power(g, (q - 1) / order, q));
        let psi = roots.into_iter().find(|root| power(*root, n as u64, q) == q - 1).unwrap();
        Limb { q, n, psi }
    }

    /// The values at psi, psi^3, psi^5, ... of a polynomial whose coefficients may be negative.
    pub(crate) fn odd(&self, coefficients: &[i64]) -> Vec<u64> {
        let twist = powers(self.psi, self.q);
        let reduced = coefficients.iter().map(|c| c.rem_euclid(self.q as i64) as u64);
        let twisted: Vec<u64> = reduced.zip(twist).map(|(c, p)| mul(c, p, self.q)).collect();
        evaluate(&twisted, mul(self.psi, self.psi, self.q), self.q)
    }

    /// The coefficients of the polynomial with these values at psi, psi^3, psi^5, ...
    pub(crate) fn of_odd(&self, values: &[u64]) -> Vec<u64> {
        let (inverse, scale) = (self.inverse(self.psi), self.inverse(self.n as u64));
        let twisted = evaluate(values, mul(inverse, inverse, self.q), self.q);
        let twist = powers(inverse, self.q);
        twisted.iter().zip(twist).map(|(c, p)| mul(mul(*c, p, self.q), scale, self.q)).collect()
    }

    /// The values in the order of "cube.md".
    pub(crate) fn values(&self, coefficients: &[i64]) -> Vec<u64> {
        let odd = self.odd(coefficients);
        let reversed = |index: usize| index.reverse_bits() >> (usize::BITS - self.n.trailing_zeros());
        let slot = |slot: usize| {
            let (block, i, j) = (slot / 64, slot / 8 % 8, slot % 8);
            odd[reversed(64 * block + 8 * j + i)]
        };
        (0..self.n).map(slot).collect()
    }

    pub(crate) fn mul(&self, a: u64, b: u64) -> u64 {
        mul(a, b, self.q)
    }

    pub(crate) fn inverse(&self, a: u64) -> u64 {
        power(a % self.q, self.q - 2, self.q)
    }

    /// Bits of a word.
    pub(crate) fn bits(&self) -> u32 {
        64 - self.q.leading_zeros()
    }

    /// Section "Masks come from streams": words of as many bits as the prime has, skipping those
    /// not below it.
    pub(crate) fn mask(&self, stream: &mut ChaCha20Rng) -> Vec<u64> {
        let mut words = std::iter::repeat_with(|| stream.next_u64() & ((1 << self.bits()) - 1));
        words.by_ref().filter(|word| *word < self.q).take(self.n).collect()
    }
}

/// Number i of a plaintext with slots is the value at this power of psi: 5^i, and -5^i in the second half.
fn exponents(n: usize) -> impl Iterator<Item = usize> {
    let cycle = std::iter::successors(Some(1), move |e| Some(e * 5 % (2 * n))).take(n / 2);
    cycle.clone().chain(cycle.map(move |e| 2 * n - e))
}

/// The coefficients modulo t of the polynomial with these numbers in its slots.
pub(crate) fn encode(t: u64, numbers: &[u64]) -> Vec<u64> {
    let n = numbers.len();
    let mut odd = vec![0; n];
    exponents(n).zip(numbers).for_each(|(e, x)| odd[e / 2] = *x);
    Limb::new(n, t).of_odd(&odd)
}

/// The numbers in the slots of a polynomial.
pub(crate) fn decode(t: u64, coefficients: &[u64]) -> Vec<u64> {
    let n = coefficients.len();
    let odd = Limb::new(n, t).odd(&coefficients.iter().map(|c| *c as i64).collect::<Vec<_>>());
    exponents(n).map(|e| odd[e / 2]).collect()
}

/// The values of a polynomial at 1, w, w^2, ..., for a w whose order is their number.
fn evaluate(a: &[u64], w: u64, q: u64) -> Vec<u64> {
    if a.len() == 1 {
        return a.to_vec();
    }
    let half = |odd: usize| a.iter().copied().skip(odd).step_by(2).collect::<Vec<_>>();
    let [even, odd] = [0, 1].map(|part| evaluate(&half(part), mul(w, w, q), q));
    let both = even.iter().zip(&odd).zip(powers(w, q));
    let (low, high): (Vec<u64>, Vec<u64>) = both
        .map(|((even, odd), power)| {
            let odd = mul(*odd, power, q);
            ((even + odd) % q, (even + q - odd) % q)
        })
        .unzip();
    [low, high].concat()
}

fn powers(base: u64, q: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(1), move |x| Some(mul(*x, base, q)))
}

fn mul(a: u64, b: u64, q: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(q)) as u64
}

fn power(base: u64, mut exponent: u64, q: u64) -> u64 {
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

/// `a` times a secret of -1, 0 and 1, modulo 2^64 and X^n + 1.
pub(crate) fn product(a: &[u64], secret: &[i64]) -> Vec<u64> {
    let n = a.len();
    let mut long = vec![0u64; 2 * n];
    for (j, s) in secret.iter().enumerate().filter(|(_, s)| **s != 0) {
        for (to, a) in long[j..].iter_mut().zip(a) {
            *to = to.wrapping_add(a.wrapping_mul(*s as u64));
        }
    }
    (0..n).map(|i| long[i].wrapping_sub(long[i + n])).collect()
}

/// Section "Streams" of cube.md.
pub(crate) fn stream(seed: &[u8; 32], label: &str, index: u64) -> ChaCha20Rng {
    let mut bytes = seed.to_vec();
    bytes.extend((label.len() as u64).to_le_bytes());
    bytes.extend(label.as_bytes());
    bytes.extend(index.to_le_bytes());
    ChaCha20Rng::from_seed(blake3::derive_key("sotto 2026 public stream v1", &bytes))
}
