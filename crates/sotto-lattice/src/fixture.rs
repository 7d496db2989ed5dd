//! Rings, keys and randomness for this crate's tests.

use crate::ciphertext::Ciphertext;
use crate::encrypt::{ErrorSource, MaskSource, encrypt, mask, phase};
use crate::noise::steps::GadgetNoise;
use crate::ring::{ModulusLevel, Ring};
use crate::secret::{Distribution, SecretKey};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_math::gadget::Gadget;
use sotto_math::modulus::Modulus;
use sotto_math::sample::Gaussian;
use sotto_prg::PublicSeed;

pub(crate) const SEED: PublicSeed = PublicSeed([3; 32]);
pub(crate) const SIGMA: f64 = 3.2;

pub(crate) fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

pub(crate) fn masks(first: u64) -> MaskSource<'static> {
    MaskSource { seed: &SEED, label: "test", first }
}

/// Rings of two 50-bit primes, of FSpiral's composite with its special prime, and of each main
/// modulus alone.
pub(crate) fn rings(n: usize) -> Vec<Ring> {
    let prime = |q| Modulus::new(q).unwrap();
    let narrow = prime(1125899904679937);
    let composite = Modulus::composite(prime(268369921), prime(249561089)).unwrap();
    [
        (narrow, Some(prime(1125899903991809))),
        (composite, Some(prime(16760833))),
        (narrow, None),
        (composite, None),
    ]
    .into_iter()
    .map(|(q, special)| Ring::new(n, q, special).unwrap())
    .collect()
}

/// A gadget of `digits` digits that leaves about the bottom third of the modulus out.
pub(crate) fn approximate(ring: &Ring, level: ModulusLevel, digits: u32) -> Gadget {
    let bits = ring.bits(level);
    let base = (bits * 2 / 3).div_ceil(digits);
    Gadget::new(digits, base, bits - digits * base).unwrap()
}

/// A gadget of `digits` digits that leaves nothing out.
pub(crate) fn exact(ring: &Ring, level: ModulusLevel, digits: u32) -> Gadget {
    Gadget::new(digits, ring.bits(level).div_ceil(digits), 0).unwrap()
}

pub(crate) fn with_errors<T>(seed: u8, f: impl FnOnce(&mut ErrorSource<'_>) -> T) -> T {
    f(&mut ErrorSource { law: &Gaussian::new(SIGMA), rng: &mut rng(seed) })
}

/// Draws a ternary secret.
pub(crate) fn secret(ring: &Ring, seed: u8) -> SecretKey {
    SecretKey::sample(ring, Distribution::Ternary, &mut rng(seed))
}

/// A message of some small coefficients, times a scale.
pub(crate) fn message(ring: &Ring, level: ModulusLevel, seed: usize, scale: u128) -> (Vec<i128>, Vec<u64>) {
    let small: Vec<i32> = (0..ring.n()).map(|i| ((i * 7 + seed * 13) % 11) as i32 - 5).collect();
    let mut slots = ring.from_small(level, &small);
    ring.scale(level, &mut slots, scale);
    (small.iter().map(|x| i128::from(*x) * scale as i128).collect(), slots)
}

/// A ciphertext of a message in slots.
pub(crate) fn encrypted(
    ring: &Ring,
    level: ModulusLevel,
    secret: &SecretKey,
    message: &[u64],
    index: u64,
) -> Ciphertext {
    let a = mask(ring, level, &SEED, "ciphertext", index);
    let seed = 100 + index as u8;
    let b = encrypt(ring, level, &[secret], &a, &[message], &Gaussian::new(SIGMA), &mut rng(seed));
    Ciphertext::new(ring, level, &a, b.iter().map(Vec::as_slice))
}

/// The phases of a ciphertext.
pub(crate) fn phases(ring: &Ring, secrets: &[&SecretKey], c: &Ciphertext) -> Vec<Vec<i128>> {
    let bodies = c.components().skip(1);
    secrets.iter().zip(bodies).map(|(s, b)| phase(ring, c.level(), s, c.comp(0), b).to_vec()).collect()
}

/// log2 of the standard deviation of a phase without its message.
pub(crate) fn noise_log2(ring: &Ring, level: ModulusLevel, phase: &[i128], message: &[i128]) -> f64 {
    let modulus = ring.modulus(level) as i128;
    let squares = phase.iter().zip(message).map(|(x, m)| {
        let error = (x - m).rem_euclid(modulus);
        (error.min(modulus - error) as f64).powi(2)
    });
    (squares.sum::<f64>() / phase.len() as f64).sqrt().log2()
}

/// Converts a gadget to the form of the noise formulas.
pub(crate) fn digits(gadget: &Gadget) -> GadgetNoise {
    GadgetNoise { count: gadget.digits(), base_log2: gadget.base_log2(), drop_log2: gadget.drop_log2() }
}

/// The mean squared norm of a ternary secret.
pub(crate) fn norm(n: usize) -> f64 {
    n as f64 * Distribution::Ternary.variance()
}

/// Makes LWE samples of small messages: masks in slots, bodies, and the messages.
pub(crate) fn samples(
    ring: &Ring,
    secret: &SecretKey,
    first: u64,
    count: usize,
    scale: u64,
) -> (Vec<u64>, Vec<u64>, Vec<i128>) {
    let q = ring.q();
    let (mut all, mut bodies, mut messages) = (Vec::new(), Vec::new(), Vec::new());
    for j in 0..count as u64 {
        let a = mask(ring, ModulusLevel::Main, &SEED, "sample", first + j);
        let mut product = secret.slots(ring, ModulusLevel::Main).to_vec();
        ring.mul(ModulusLevel::Main, &mut product, &a);
        ring.inverse(ModulusLevel::Main, &mut product);
        let message = (j * 7 + first) % 11;
        bodies.push(q.add(product[0], message * scale));
        messages.push(i128::from(message * scale));
        all.extend(a);
    }
    (all, bodies, messages)
}
