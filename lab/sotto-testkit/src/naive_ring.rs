//! Rings from their definitions, one number at a time and with division: for second clients, which
//! are written from the pages of `spec/` and share no arithmetic with what they test.

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng as _, SeedableRng};

/// Polynomials modulo X^n + 1, or modulo the 8191st cyclotomic polynomial, and one modulus: a prime
/// or the product of two.
pub struct NaiveLimb {
    /// The modulus.
    pub q: u64,
    /// Number of coefficients.
    pub degree: usize,
    /// A root of unity of order 2n, or 8191.
    psi: u64,
    /// Every unit to this power is 1.
    unit_order: u64,
}

impl NaiveLimb {
    /// The ring modulo X^n + 1 and the product of `primes`.
    pub fn new(n: usize, primes: &[u64]) -> Self {
        let roots: Vec<u64> = primes.iter().map(|prime| root(n, *prime)).collect();
        let unit_order = primes.iter().map(|prime| prime - 1).product();
        let mut limb = NaiveLimb { q: primes.iter().product(), degree: n, psi: 0, unit_order };
        limb.psi = limb.joined(primes, &roots);
        limb
    }

    /// The ring modulo the 8191st cyclotomic polynomial and a prime.
    pub fn of_8191(q: u64) -> Self {
        let psi = (2..q).map(|g| power(g, (q - 1) / 8191, q)).find(|root| *root != 1).unwrap();
        NaiveLimb { q, degree: 8190, psi, unit_order: q - 1 }
    }

    /// The number modulo q with these residues modulo its primes.
    pub fn joined(&self, primes: &[u64], residues: &[u64]) -> u64 {
        let share = |(prime, residue): (&u64, &u64)| {
            let others = self.q / prime;
            let inverse = power(others % prime, prime - 2, *prime);
            self.mul(self.mul(*residue, others), inverse)
        };
        primes.iter().zip(residues).map(share).sum::<u64>() % self.q
    }

    /// The product of two numbers.
    pub fn mul(&self, a: u64, b: u64) -> u64 {
        mul(a, b, self.q)
    }

    /// The inverse of a unit.
    pub fn inverse(&self, a: u64) -> u64 {
        power(a % self.q, self.unit_order - 1, self.q)
    }

    /// Bits of a word.
    pub fn bits(&self) -> u32 {
        64 - self.q.leading_zeros()
    }

    /// Numbers that may be negative, modulo q.
    pub fn reduced(&self, numbers: &[i64]) -> Vec<u64> {
        numbers.iter().map(|x| x.rem_euclid(self.q as i64) as u64).collect()
    }

    /// The values of a polynomial at psi, psi^3, psi^5, ... of the ring modulo X^n + 1.
    fn odd(&self, coefficients: &[u64]) -> Vec<u64> {
        let twist = powers(self.psi, self.q);
        let twisted: Vec<u64> = coefficients.iter().zip(twist).map(|(c, p)| self.mul(*c, p)).collect();
        evaluate(&twisted, self.mul(self.psi, self.psi), self.q)
    }

    /// The polynomial with these values at psi, psi^3, psi^5, ...: `c_j = psi^(-j) / n sum_k v_k
    /// psi^(-2jk)`.
    fn with_odd(&self, values: &[u64]) -> Vec<u64> {
        let (inverse, scale) = (self.inverse(self.psi), self.inverse(self.degree as u64));
        let sums = evaluate(values, self.mul(inverse, inverse), self.q);
        let twist = powers(inverse, self.q);
        sums.iter().zip(twist).map(|(c, p)| self.mul(self.mul(*c, p), scale)).collect()
    }

    /// The number of the odd power of psi at which a slot of `cube.md` holds a polynomial's value.
    fn place(&self, slot: usize) -> usize {
        let (block, i, j) = (slot / 64, slot / 8 % 8, slot % 8);
        (64 * block + 8 * j + i).reverse_bits() >> (usize::BITS - self.degree.trailing_zeros())
    }

    /// The values of a polynomial with these coefficients, in the order of `cube.md`; at psi to the
    /// power of 17^i in the ring of 8191.
    pub fn values(&self, coefficients: &[i64]) -> Vec<u64> {
        if self.degree != 8190 {
            let odd = self.odd(&self.reduced(coefficients));
            return (0..self.degree).map(|slot| odd[self.place(slot)]).collect();
        }
        let powers: Vec<u64> = powers(self.psi, self.q).take(8191).collect();
        let q = i128::from(self.q);
        // Coefficients are small, so that products with powers of 50 bits fit a word.
        let terms: Vec<(usize, i64)> =
            coefficients.iter().copied().enumerate().filter(|(_, c)| *c != 0).collect();
        let term = |(j, c): &(usize, i64), e| i128::from(c * powers[j * e % 8191] as i64);
        let value = |e: usize| terms.iter().map(|j_c| term(j_c, e)).sum::<i128>().rem_euclid(q) as u64;
        std::iter::successors(Some(1), |x| Some(x * 17 % 8191)).take(self.degree).map(value).collect()
    }

    /// The polynomial with these values, in the order of `cube.md`.
    pub fn interpolate(&self, slots: &[u64]) -> Vec<u64> {
        let mut values = vec![0; self.degree];
        (0..self.degree).for_each(|slot| values[self.place(slot)] = slots[slot]);
        self.with_odd(&values)
    }

    /// The product of two polynomials modulo X^n + 1.
    pub fn product(&self, a: &[u64], b: &[u64]) -> Vec<u64> {
        let products = self.odd(a).iter().zip(self.odd(b)).map(|(a, b)| self.mul(*a, b)).collect::<Vec<_>>();
        self.with_odd(&products)
    }

    /// A mask of a stream: words of as many bits as the modulus has, skipping those not below it.
    pub fn mask(&self, stream: &mut ChaCha20Rng) -> Vec<u64> {
        let mut words = std::iter::repeat_with(|| stream.next_u64() & (u64::MAX >> self.q.leading_zeros()));
        words.by_ref().filter(|word| *word < self.q).take(self.degree).collect()
    }

    /// The body of a ciphertext, value by value: `factor message + error - mask secret`.
    pub fn body(&self, factor: u64, message: &[u64], error: &[u64], [mask, secret]: [&[u64]; 2]) -> Vec<u64> {
        let one = |i: usize| {
            let hidden = self.mul(mask[i], secret[i]);
            (self.mul(message[i], factor) + error[i] + self.q - hidden) % self.q
        };
        (0..self.degree).map(one).collect()
    }
}

/// The least root of unity of order 2n modulo a prime.
fn root(n: usize, prime: u64) -> u64 {
    let n = n as u64;
    let mut candidates = (2..prime).map(|g| power(g, (prime - 1) / (2 * n), prime));
    candidates.find(|root| power(*root, n, prime) == prime - 1).unwrap()
}

/// The odd powers of psi whose values are the slots of a plaintext: 5^i, and -5^i in the second half.
fn exponents(n: usize) -> impl Iterator<Item = usize> {
    let cycle = std::iter::successors(Some(1), move |e| Some(e * 5 % (2 * n))).take(n / 2);
    cycle.clone().chain(cycle.map(move |e| 2 * n - e))
}

/// The coefficients modulo t of the polynomial with these numbers in its slots.
pub fn encode(t: u64, numbers: &[u64]) -> Vec<u64> {
    let n = numbers.len();
    let mut odd = vec![0; n];
    exponents(n).zip(numbers).for_each(|(e, x)| odd[e / 2] = *x);
    NaiveLimb::new(n, &[t]).with_odd(&odd)
}

/// The numbers in the slots of a polynomial modulo t.
pub fn decode(t: u64, coefficients: &[u64]) -> Vec<u64> {
    let n = coefficients.len();
    let odd = NaiveLimb::new(n, &[t]).odd(coefficients);
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

/// `a` times a secret of -1, 0 and 1, modulo 2^64 and X^n + 1, or modulo the 8191st cyclotomic
/// polynomial for 8190 coefficients.
pub fn secret_product(a: &[u64], secret: &[i64]) -> Vec<u64> {
    let n = a.len();
    let mut long = vec![0u64; 2 * n];
    for (j, s) in secret.iter().enumerate().filter(|(_, s)| **s != 0) {
        for (to, a) in long[j..].iter_mut().zip(a) {
            *to = to.wrapping_add(a.wrapping_mul(*s as u64));
        }
    }
    if n != 8190 {
        return (0..n).map(|i| long[i].wrapping_sub(long[i + n])).collect();
    }
    // X^8191 = 1, and X^8190 is minus all powers below it.
    let top = long[n];
    let folded = |i: usize| long.get(i + n + 1).copied().unwrap_or_default();
    (0..n).map(|i| long[i].wrapping_add(folded(i)).wrapping_sub(top)).collect()
}

/// Section "Streams" of `cube.md`.
pub fn stream(seed: &[u8; 32], label: &str, index: u64) -> ChaCha20Rng {
    let mut bytes = seed.to_vec();
    bytes.extend((label.len() as u64).to_le_bytes());
    bytes.extend(label.as_bytes());
    bytes.extend(index.to_le_bytes());
    ChaCha20Rng::from_seed(blake3::derive_key("sotto 2026 public stream v1", &bytes))
}

/// Appends words of some bits, the lowest bit first; bits after the last one are zero.
pub fn append_words(out: &mut Vec<u8>, words: impl IntoIterator<Item = u64>, width: u32) {
    let (mut held, mut bits) = (0u128, 0);
    for word in words {
        held |= u128::from(word) << bits;
        bits += width;
        while bits >= 8 {
            out.push(held as u8);
            (held, bits) = (held >> 8, bits - 8);
        }
    }
    if bits > 0 {
        out.push(held as u8);
    }
}

/// Reads words of some bits, the lowest bit first.
pub fn read_words(bytes: &[u8], width: u32, count: usize) -> Vec<u64> {
    let bit = |i: usize| u64::from(bytes[i / 8] >> (i % 8) & 1);
    let word = |w: usize| (0..width as usize).map(|i| bit(w * width as usize + i) << i).sum();
    (0..count).map(word).collect()
}
