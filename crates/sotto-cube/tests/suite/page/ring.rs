//! Arithmetic from the definitions: one number at a time, with division, and a transform that follows its formula.

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng as _, SeedableRng};

/// Polynomials modulo X^n + 1 and one modulus, a prime or the product of two.
pub(crate) struct Limb {
    pub(crate) q: u64,
    n: usize,
    /// A root of unity of order 2n.
    psi: u64,
    /// (q1 - 1) (q2 - 1), or q - 1: every unit to this power is 1.
    order: u64,
}

impl Limb {
    pub(crate) fn new(n: usize, primes: &[u64]) -> Self {
        let q: u64 = primes.iter().product();
        let order = primes.iter().map(|prime| prime - 1).product();
        let mut limb = Limb { q, n, psi: 0, order };
        let roots: Vec<u64> = primes.iter().map(|prime| first_root(n, *prime)).collect();
        limb.psi = limb.joined(primes, &roots);
        limb
    }

    /// The number modulo q with these residues modulo its primes.
    pub(crate) fn joined(&self, primes: &[u64], residues: &[u64]) -> u64 {
        let share = |(prime, residue): (&u64, &u64)| {
            let others = self.q / prime;
            let inverse = power(others % prime, prime - 2, *prime);
            self.mul(self.mul(*residue, others), inverse)
        };
        primes.iter().zip(residues).map(share).sum::<u64>() % self.q
    }

    pub(crate) fn mul(&self, a: u64, b: u64) -> u64 {
        (u128::from(a) * u128::from(b) % u128::from(self.q)) as u64
    }

    pub(crate) fn inverse(&self, a: u64) -> u64 {
        power(a, self.order - 1, self.q)
    }

    /// The exponent of the root at which a slot holds a polynomial's value.
    fn exponent(&self, slot: usize) -> usize {
        let (block, i, j) = (slot / 64, slot / 8 % 8, slot % 8);
        let index = 64 * block + 8 * j + i;
        2 * (index.reverse_bits() >> (usize::BITS - self.n.trailing_zeros())) + 1
    }

    /// Slots to coefficients.
    pub(crate) fn interpolate(&self, slots: &[u64]) -> Vec<u64> {
        let mut values = vec![0; self.n];
        (0..self.n).for_each(|slot| values[(self.exponent(slot) - 1) / 2] = slots[slot]);
        self.with_values(&values)
    }

    /// The polynomial with values v_k at psi^(2k + 1): c_j = psi^(-j) / n sum_k v_k psi^(-2jk).
    fn with_values(&self, values: &[u64]) -> Vec<u64> {
        let back = self.inverse(self.psi);
        let sums = fourier(values, self.mul(back, back), self.q);
        let mut factor = self.inverse(self.n as u64);
        let scale = |sum: &u64| {
            let c = self.mul(*sum, factor);
            factor = self.mul(factor, back);
            c
        };
        sums.iter().map(scale).collect()
    }

    fn values(&self, coefficients: &[u64]) -> Vec<u64> {
        let mut factor = 1;
        let twist = |c: &u64| {
            let twisted = self.mul(*c, factor);
            factor = self.mul(factor, self.psi);
            twisted
        };
        let twisted: Vec<u64> = coefficients.iter().map(twist).collect();
        fourier(&twisted, self.mul(self.psi, self.psi), self.q)
    }

    pub(crate) fn product(&self, a: &[u64], b: &[u64]) -> Vec<u64> {
        let (a, b) = (self.values(a), self.values(b));
        self.with_values(&a.iter().zip(&b).map(|(a, b)| self.mul(*a, *b)).collect::<Vec<_>>())
    }
}

fn power(base: u64, mut exponent: u64, q: u64) -> u64 {
    let (mut square, mut out) = (u128::from(base), 1u128);
    while exponent > 0 {
        if exponent % 2 == 1 {
            out = out * square % u128::from(q);
        }
        square = square * square % u128::from(q);
        exponent /= 2;
    }
    out as u64
}

fn first_root(n: usize, prime: u64) -> u64 {
    let n = n as u64;
    let candidates = (2..prime).map(|g| power(g, (prime - 1) / (2 * n), prime));
    candidates.into_iter().find(|root| power(*root, n, prime) == prime - 1).unwrap()
}

/// sum_j x_j w^(jk), for every k.
fn fourier(x: &[u64], w: u64, q: u64) -> Vec<u64> {
    if x.len() == 1 {
        return x.to_vec();
    }
    let half = |odd| x.iter().skip(odd).step_by(2).copied().collect::<Vec<_>>();
    let mul = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(q)) as u64;
    let [even, odd] = [half(0), half(1)].map(|half| fourier(&half, mul(w, w), q));
    let mut factor = 1;
    let mut out = vec![0; x.len()];
    for k in 0..even.len() {
        let term = mul(factor, odd[k]);
        out[k] = (even[k] + term) % q;
        out[k + even.len()] = (even[k] + q - term) % q;
        factor = mul(factor, w);
    }
    out
}

/// A polynomial modulo q, or modulo q and q': the coefficients of each.
pub(crate) type Poly = Vec<Vec<u64>>;

/// Polynomials modulo q, or modulo Q = q q'.
pub(crate) struct Ring {
    pub(crate) n: usize,
    pub(crate) limbs: Vec<Limb>,
}

impl Ring {
    pub(crate) fn modulus(&self) -> u128 {
        self.limbs.iter().map(|limb| u128::from(limb.q)).product()
    }

    pub(crate) fn bits(&self) -> u32 {
        128 - (self.modulus() - 1).leading_zeros()
    }

    pub(crate) fn small(&self, coefficients: &[i64]) -> Poly {
        let reduce = |limb: &Limb| coefficients.iter().map(|x| x.rem_euclid(limb.q as i64) as u64).collect();
        self.limbs.iter().map(reduce).collect()
    }

    pub(crate) fn numbers(&self, coefficients: &[u128]) -> Poly {
        let reduce = |limb: &Limb| coefficients.iter().map(|x| (x % u128::from(limb.q)) as u64).collect();
        self.limbs.iter().map(reduce).collect()
    }

    pub(crate) fn add(&self, a: &Poly, b: &Poly) -> Poly {
        let add = |(limb, (a, b)): (&Limb, (&Vec<u64>, &Vec<u64>))| {
            a.iter().zip(b).map(|(a, b)| (a + b) % limb.q).collect()
        };
        self.limbs.iter().zip(a.iter().zip(b)).map(add).collect()
    }

    pub(crate) fn scale(&self, a: &Poly, factor: u128) -> Poly {
        let scale = |(limb, a): (&Limb, &Vec<u64>)| {
            let factor = (factor % u128::from(limb.q)) as u64;
            a.iter().map(|a| limb.mul(*a, factor)).collect()
        };
        self.limbs.iter().zip(a).map(scale).collect()
    }

    pub(crate) fn negative(&self, a: &Poly) -> Poly {
        self.scale(a, self.modulus() - 1)
    }

    pub(crate) fn product(&self, a: &Poly, b: &Poly) -> Poly {
        self.limbs.iter().zip(a.iter().zip(b)).map(|(limb, (a, b))| limb.product(a, b)).collect()
    }

    /// The coefficients as numbers below the modulus.
    pub(crate) fn lift(&self, a: &Poly) -> Vec<u128> {
        let Some(second) = self.limbs.get(1) else { return a[0].iter().map(|x| u128::from(*x)).collect() };
        let q = self.limbs[0].q;
        let inverse = second.inverse(q % second.q);
        let lift = |(x, y): (&u64, &u64)| {
            let difference = (y + second.q - x % second.q) % second.q;
            u128::from(*x) + u128::from(q) * u128::from(second.mul(difference, inverse))
        };
        a[0].iter().zip(&a[1]).map(lift).collect()
    }

    /// Section "Masks": words of a stream, cut to the bits of the modulus, skipping those not below
    /// it; slots.
    pub(crate) fn mask(&self, seed: &[u8; 32], label: &str, index: u64) -> Poly {
        let mut stream = stream(seed, label, index);
        let mut word = |limb: &Limb| loop {
            let word = stream.next_u64() & (u64::MAX >> limb.q.leading_zeros());
            if word < limb.q {
                return word;
            }
        };
        let slots = |limb| (0..self.n).map(|_| word(limb)).collect::<Vec<_>>();
        let slots: Vec<Vec<u64>> = self.limbs.iter().map(slots).collect();
        self.limbs.iter().zip(slots).map(|(limb, slots)| limb.interpolate(&slots)).collect()
    }
}

/// Section "Streams".
pub(crate) fn stream(seed: &[u8; 32], label: &str, index: u64) -> ChaCha20Rng {
    let mut bytes = seed.to_vec();
    bytes.extend((label.len() as u64).to_le_bytes());
    bytes.extend(label.as_bytes());
    bytes.extend(index.to_le_bytes());
    ChaCha20Rng::from_seed(blake3::derive_key("sotto 2026 public stream v1", &bytes))
}
