//! Polynomials modulo two numbers at once.

use sotto_testkit::naive_ring::{NaiveLimb, stream};

/// A polynomial modulo q, or modulo q and q': the coefficients of each.
pub(crate) type Poly = Vec<Vec<u64>>;

/// Polynomials modulo q, or modulo Q = q q'.
pub(crate) struct Ring {
    pub(crate) n: usize,
    pub(crate) limbs: Vec<NaiveLimb>,
}

impl Ring {
    pub(crate) fn modulus(&self) -> u128 {
        self.limbs.iter().map(|limb| u128::from(limb.q)).product()
    }

    pub(crate) fn bits(&self) -> u32 {
        128 - (self.modulus() - 1).leading_zeros()
    }

    pub(crate) fn small(&self, coefficients: &[i64]) -> Poly {
        self.limbs.iter().map(|limb| limb.reduced(coefficients)).collect()
    }

    pub(crate) fn numbers(&self, coefficients: &[u128]) -> Poly {
        let reduce =
            |limb: &NaiveLimb| coefficients.iter().map(|x| (x % u128::from(limb.q)) as u64).collect();
        self.limbs.iter().map(reduce).collect()
    }

    pub(crate) fn add(&self, a: &Poly, b: &Poly) -> Poly {
        let add = |(limb, (a, b)): (&NaiveLimb, (&Vec<u64>, &Vec<u64>))| {
            a.iter().zip(b).map(|(a, b)| (a + b) % limb.q).collect()
        };
        self.limbs.iter().zip(a.iter().zip(b)).map(add).collect()
    }

    pub(crate) fn scale(&self, a: &Poly, factor: u128) -> Poly {
        let scale = |(limb, a): (&NaiveLimb, &Vec<u64>)| {
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
        self.limbs.iter().map(|limb| limb.interpolate(&limb.mask(&mut stream))).collect()
    }
}

/// Words of some bits, the lowest bit first; whole bytes.
pub(crate) fn append(out: &mut Vec<bool>, words: &[u128], bits: u32) {
    out.extend(words.iter().flat_map(|word| (0..bits).map(move |bit| word >> bit & 1 == 1)));
    out.resize(out.len().next_multiple_of(8), false);
}

pub(crate) fn bytes(bits: &[bool]) -> Vec<u8> {
    bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |sum, bit| sum * 2 + u8::from(*bit))).collect()
}
