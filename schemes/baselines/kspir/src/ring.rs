//! The ring, the moduli and the gadgets of the authors' program; slots, and their rotations.

use sotto_core::{Misuse, Result, Security};
use sotto_lattice::noise::steps::GadgetNoise;
use sotto_lattice::ring::{ModulusLevel, Ring};
use sotto_lattice::secret::Distribution;
use sotto_lattice::security;
use sotto_math::gadget::Gadget;
use sotto_math::modulus::Modulus;
use sotto_math::ntt::NttPlan;
use std::sync::LazyLock;

/// The name of the ring, for literals.
pub const SET: &str = "n4096-t65537-q56";

/// The degree, N.
pub const N: usize = 4096;

/// Slots of a cycle. Both cycles rotate together.
pub const CYCLE: usize = N / 2;

/// The plain modulus, t: a prime that is 1 modulo 2 N.
pub const T: u64 = 65537;

/// The primes of the modulus q.
pub const PRIMES: [u64; 2] = [268_369_921, 249_561_089];

/// The special modulus of queries and of the keys of baby steps.
pub const SPECIAL: u64 = 16_760_833;

/// Standard deviation of errors.
pub const SIGMA: f64 = 3.2;

/// The distribution of secrets.
pub const LAW: Distribution = Distribution::Ternary;

/// Mean squared norm of a secret.
pub const NORM: f64 = N as f64 * 2.0 / 3.0;

/// Digits of baby steps, modulo q times the special modulus.
pub const BABY: GadgetNoise = GadgetNoise { count: 3, base_log2: 20, drop_log2: 20 };

/// Digits of giant steps.
pub const GIANT: GadgetNoise = GadgetNoise { count: 2, base_log2: 18, drop_log2: 20 };

/// Digits of the external product.
pub const FOLD: GadgetNoise = GadgetNoise { count: 2, base_log2: 18, drop_log2: 20 };

/// Digits of packing.
pub const PACK: GadgetNoise = GadgetNoise { count: 4, base_log2: 14, drop_log2: 0 };

/// log2 of q.
pub fn log2_q() -> f64 {
    PRIMES.iter().map(|q| (*q as f64).log2()).sum()
}

/// log2 of the special modulus.
pub fn log2_special() -> f64 {
    (SPECIAL as f64).log2()
}

/// The ring, which is made once.
///
/// # Errors
/// None, since its numbers are constants.
pub fn ring() -> Result<&'static Ring> {
    static RING: LazyLock<Option<Ring>> = LazyLock::new(|| {
        let [first, second] = PRIMES.map(Modulus::new);
        let q = Modulus::composite(first?, second?)?;
        Ring::new(N, q, Some(Modulus::new(SPECIAL)?))
    });
    Ok(RING.as_ref().ok_or(Misuse::Rule("the ring of the paper must have transforms"))?)
}

/// The modulus of a level.
pub fn modulus(level: ModulusLevel) -> u128 {
    let [first, second] = PRIMES.map(u128::from);
    first * second * if level == ModulusLevel::Full { u128::from(SPECIAL) } else { 1 }
}

/// Bits of a word at a level.
pub fn bits(level: ModulusLevel) -> u32 {
    u128::BITS - modulus(level).leading_zeros()
}

/// The gadget of a step, which decomposes into digits.
///
/// # Errors
/// None, since the constants of [`ring`] are valid.
pub fn gadget(digits: &GadgetNoise) -> Result<Gadget> {
    let gadget = Gadget::new(digits.count, digits.base_log2, digits.drop_log2);
    Ok(gadget.ok_or(Misuse::Rule("a gadget must have at least one digit"))?)
}

/// The security of keys and queries: ring-LWE modulo q times the special modulus. That keys encrypt
/// images of the secret that they are under is the usual assumption of circular security.
///
/// # Errors
/// [`sotto_core::ParamsError::Insecure`] if the security gate refuses it.
pub fn security() -> Result<Security> {
    Ok(security::gate(N, log2_q() + log2_special(), &LAW.into(), SIGMA)?)
}

/// The power of X that X maps to in the rotation by which slot `i` of each cycle gets the value of
/// slot `i + by`.
pub fn rotation(by: usize) -> usize {
    (0..by).fold(1, |power, _| power * 5 % (2 * N))
}

/// Conversion of plaintexts from and to their slots, cycle after cycle.
#[derive(Debug)]
pub struct Slots {
    plan: NttPlan,
    /// For each slot its place in the transform.
    places: Vec<usize>,
}

impl Slots {
    /// The slots modulo [`T`], which are made once.
    ///
    /// # Errors
    /// None, since the constants of [`ring`] are valid.
    pub fn get() -> Result<&'static Self> {
        static SLOTS: LazyLock<Option<Slots>> = LazyLock::new(|| {
            let plan = NttPlan::new(N, Modulus::new(T)?)?;
            Some(Slots { places: plan.cycles(), plan })
        });
        Ok(SLOTS.as_ref().ok_or(Misuse::Rule("the plain modulus must split the ring"))?)
    }

    /// The coefficients of the plaintext with these slots, in time that does not depend on the
    /// slots.
    pub fn encode(&self, slots: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut out = vec![0; N];
        for (place, slot) in self.places.iter().zip(slots) {
            if let Some(out) = out.get_mut(*place) {
                *out = slot;
            }
        }
        self.plan.inverse(&mut out);
        out
    }

    /// The slots of a plaintext with these coefficients, which are overwritten by their transform.
    pub fn decode<'a>(&'a self, coefficients: &'a mut [u64]) -> impl Iterator<Item = u64> + 'a {
        self.plan.forward(coefficients);
        self.places.iter().filter_map(|place| coefficients.get(*place).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constants_are_those_of_the_ring() {
        let ring = ring().unwrap();
        assert_eq!((ring.n(), ring.bits(ModulusLevel::Main), ring.bits(ModulusLevel::Full)), (N, 56, 80));
        for level in [ModulusLevel::Main, ModulusLevel::Full] {
            assert_eq!((modulus(level), bits(level)), (ring.modulus(level), ring.bits(level)));
        }
        assert!((ring.log2_q(ModulusLevel::Full) - log2_q() - log2_special()).abs() < 1e-9);
        for (digits, level) in [
            (BABY, ModulusLevel::Full),
            (GIANT, ModulusLevel::Main),
            (FOLD, ModulusLevel::Main),
            (PACK, ModulusLevel::Main),
        ] {
            assert!(gadget(&digits).unwrap().fits(ring.bits(level)), "{digits:?}");
        }
        assert!(security().unwrap().bits >= 128.0);
        assert!((NORM - N as f64 * LAW.variance()).abs() < 1e-9);
    }

    #[test]
    fn slots_come_back_and_turn() {
        let slots = Slots::get().unwrap();
        let values: Vec<u64> = (0..N as u64).map(|i| i * i % T).collect();
        let mut coefficients = slots.encode(values.iter().copied());
        let mut turned = vec![0; N];
        let power = rotation(3);
        for (i, x) in coefficients.iter().enumerate() {
            let place = i * power % (2 * N);
            turned[place % N] = if place < N { *x } else { (T - x) % T };
        }
        let turned: Vec<u64> = slots.decode(&mut turned).collect();
        assert!(slots.decode(&mut coefficients).eq(values.iter().copied()));
        for (i, x) in turned.iter().enumerate() {
            assert_eq!(*x, values[i / CYCLE * CYCLE + (i + 3) % CYCLE], "{i}");
        }
    }
}
