//! Key switching: replaces a ciphertext under a source key by one under the target secrets.
//!
//! A switching key holds, for each power `g_j` of a gadget, an encryption of `g_j` times a source
//! polynomial. The digits of a polynomial `x` times the rows then encrypt `x` times the source, and
//! the digits, which are small, are the only factor of the rows' errors (Brakerski, Vaikuntanathan,
//! FOCS 2011; approximate digits as in TFHE).
//!
//! With several target secrets there is one source for each, and the rows have that rank.
//!
//! Modulus switching from `Q = q q'` to `q` is [`lower`]: a ciphertext divided by the special
//! modulus. Each coefficient `x` becomes `x / q'`, rounded: with `r` its residue modulo `q'`,
//! centered around zero, that is `(x - r) / q'`, exact modulo `q`. Rounding errors of mask and body
//! add the variance `(H + 1) / 12` to the phase, where `H` is the squared norm of the secret, and
//! everything else in the phase is divided by `q'`. FSpiral's program does not center, which costs
//! it about one bit.

use crate::ciphertext::Ciphertext;
use crate::encrypt::{ErrorSource, MaskSource, encrypt};
use crate::ring::{ModulusLevel, Ring};
use crate::scratch::Scratch;
use crate::secret::SecretKey;
use sotto_math::gadget::Gadget;
use zeroize::Zeroizing;

/// A switching key as the server holds it.
///
/// ```
/// use sotto_lattice::ciphertext::Ciphertext;
/// use sotto_lattice::encrypt::{ErrorSource, MaskSource, encrypt, mask, phase};
/// use sotto_lattice::keyswitch::SwitchKey;
/// use sotto_lattice::ring::{ModulusLevel, Ring};
/// use sotto_lattice::scratch::Scratch;
/// use sotto_lattice::secret::{Distribution, SecretKey};
/// use sotto_math::{gadget::Gadget, modulus::Modulus, sample::Gaussian};
/// use sotto_prg::{PublicSeed, system_rng};
///
/// let q = Modulus::new(1_125_899_904_679_937).ok_or("not a prime")?;
/// let ring = Ring::new(64, q, None).ok_or("no such ring")?;
/// let (level, law, rng) = (ModulusLevel::Main, Gaussian::new(3.2), &mut system_rng()?);
/// let seed = PublicSeed::fresh(rng);
/// let old = SecretKey::sample(&ring, Distribution::Ternary, rng);
/// let new = SecretKey::sample(&ring, Distribution::Ternary, rng);
///
/// // 7, encrypted under the old secret.
/// let mut message = vec![0; 64];
/// message[0] = 7 << 40;
/// let message = ring.from_integers(level, &message);
/// let a = mask(&ring, level, &seed, "ciphertext", 0);
/// let b = encrypt(&ring, level, &[&old], &a, &[&message], &law, rng);
///
/// // A key from -old to new. (0, b), and the digits of a times its rows, open under the new one.
/// let gadget = Gadget::new(5, 10, 0).ok_or("no such gadget")?;
/// let mut source = old.slots(&ring, level).to_vec();
/// ring.negate(level, &mut source);
/// let masks = MaskSource { seed: &seed, label: "key", first: 0 };
/// let errors = &mut ErrorSource { law: &law, rng };
/// let bodies = SwitchKey::generate(&ring, level, &gadget, &[&source], &[&new], masks, errors);
/// let key = SwitchKey::assemble(&ring, level, &gadget, 1, &bodies, masks);
///
/// let zero = vec![0; a.len()];
/// let mut switched = Ciphertext::new(&ring, level, &zero, b.iter().map(Vec::as_slice));
/// key.add_switched(&ring, &a, &mut switched, &mut Scratch::new(&ring));
/// let value = phase(&ring, level, &new, switched.comp(0), switched.comp(1))[0];
/// assert_eq!((value + (1 << 39)) >> 40, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct SwitchKey {
    level: ModulusLevel,
    gadget: Gadget,
    rank: usize,
    rows: Vec<Ciphertext>,
}

impl SwitchKey {
    /// Makes a key: the bodies of its rows, row by row and within a row secret by secret. The masks
    /// are derived from the seed.
    ///
    /// # Panics
    /// If there is not one source of the level's length for each secret.
    pub fn generate(
        ring: &Ring,
        level: ModulusLevel,
        gadget: &Gadget,
        sources: &[&[u64]],
        secrets: &[&SecretKey],
        masks: MaskSource<'_>,
        errors: &mut ErrorSource<'_>,
    ) -> Vec<Vec<u64>> {
        let mut bodies = Vec::with_capacity(gadget.digits() as usize * secrets.len());
        for (j, power) in (0..).zip(gadget.powers()) {
            let messages: Vec<Zeroizing<Vec<u64>>> = sources
                .iter()
                .map(|source| {
                    let mut message = Zeroizing::new(source.to_vec());
                    ring.scale(level, &mut message, power);
                    message
                })
                .collect();
            let messages: Vec<&[u64]> = messages.iter().map(|message| message.as_slice()).collect();
            let a = masks.mask(ring, level, j);
            bodies.extend(encrypt(ring, level, secrets, &a, &messages, errors.law, errors.rng));
        }
        bodies
    }

    /// Assembles a key from its bodies and the seed of its masks.
    ///
    /// # Panics
    /// If there are not `rank` bodies of the level's length for each digit.
    pub fn assemble(
        ring: &Ring,
        level: ModulusLevel,
        gadget: &Gadget,
        rank: usize,
        bodies: &[Vec<u64>],
        masks: MaskSource<'_>,
    ) -> Self {
        assert_eq!(bodies.len(), gadget.digits() as usize * rank, "one body per digit and secret");
        let rows = Ciphertext::rows(ring, level, rank, bodies, masks);
        SwitchKey { level, gadget: *gadget, rank, rows }
    }

    /// The level of the key's rows.
    pub fn level(&self) -> ModulusLevel {
        self.level
    }

    /// Number of target secrets.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Adds an encryption of `a` times the sources, for an `a` in slots:
    /// `out += sum_j digit_j(a) row_j`.
    ///
    /// # Panics
    /// If `a` is not as long as the level requires, or `out` is of another level or rank.
    pub fn add_switched(&self, ring: &Ring, a: &[u64], out: &mut Ciphertext, scratch: &mut Scratch) {
        scratch.poly(ring, self.level).copy_from_slice(a);
        self.split(ring, scratch);
        self.add_digits(ring, out, scratch);
    }

    /// Splits the polynomial in the scratch memory by this key's gadget.
    pub(crate) fn split(&self, ring: &Ring, scratch: &mut Scratch) {
        scratch.reserve(ring, self.level, self.gadget.digits() as usize);
        scratch.split(ring, self.level, &self.gadget, 0);
    }

    /// Copies the images of digits, which such a key has split, from other scratch memory.
    pub(crate) fn take(
        &self,
        ring: &Ring,
        scratch: &mut Scratch,
        from: &Scratch,
        image: impl Fn(&[u64], &mut [u64]),
    ) {
        scratch.take(ring, self.level, self.gadget.digits() as usize, from, image);
    }

    /// Adds the digits in the scratch memory times the rows to `out`.
    pub(crate) fn add_digits(&self, ring: &Ring, out: &mut Ciphertext, scratch: &Scratch) {
        self.check(out);
        scratch.sum(ring, &self.rows, out, 0);
    }

    /// Adds the digits in the scratch memory times the rows to the bodies of `out`, and overwrites
    /// its mask.
    pub(crate) fn put_mask_add_bodies(&self, ring: &Ring, out: &mut Ciphertext, scratch: &Scratch) {
        self.check(out);
        scratch.sum(ring, &self.rows, out, 1);
    }

    /// Whether another key splits polynomials the same way, so that both can use one set of digits.
    pub(crate) fn splits_like(&self, other: &SwitchKey) -> bool {
        self.level == other.level && self.gadget == other.gadget
    }

    pub(crate) fn check(&self, c: &Ciphertext) {
        assert_eq!((c.level(), c.rank()), (self.level, self.rank), "a ciphertext of the key's shape");
    }
}

/// Computes `out = c / q'`, from level `Full` to level `Main`; a copy if there is no special
/// modulus.
///
/// # Panics
/// If the levels are others, or the ranks differ.
pub fn lower(ring: &Ring, c: &Ciphertext, out: &mut Ciphertext, scratch: &mut Scratch) {
    let shape = (c.level(), out.level(), out.rank());
    assert_eq!(
        shape,
        (ModulusLevel::Full, ModulusLevel::Main, c.rank()),
        "a ciphertext modulo Q, and its output modulo q"
    );
    for (x, out) in c.components().zip(out.components_mut()) {
        let (main, special) = x.split_at(ring.n());
        out.copy_from_slice(main);
        if let Some((plan, pair)) = ring.special_plan().zip(ring.pair()) {
            let (correction, residues) = scratch.poly(ring, ModulusLevel::Full).split_at_mut(ring.n());
            residues.copy_from_slice(special);
            plan.inverse(residues);
            pair.centered(residues, correction);
            ring.plan().forward(correction);
            pair.lower(out, correction);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encrypt::mask;
    use crate::fixture::{
        SEED, SIGMA, approximate, digits, encrypted, exact, masks, message, noise_log2, norm, phases, rings,
        secret, with_errors,
    };
    use crate::noise::steps;

    #[test]
    fn a_switched_polynomial_is_multiplied_by_the_sources() {
        for ring in rings(256) {
            for (level, rank) in [(ModulusLevel::Full, 1), (ModulusLevel::Main, 1), (ModulusLevel::Main, 3)] {
                for gadget in [exact(&ring, level, 7), exact(&ring, level, 19), approximate(&ring, level, 2)]
                {
                    let (sources, secrets): (Vec<SecretKey>, Vec<SecretKey>) =
                        (0..rank).map(|i| (secret(&ring, i), secret(&ring, i + 10))).unzip();
                    let secrets: Vec<&SecretKey> = secrets.iter().collect();
                    let slots: Vec<&[u64]> = sources.iter().map(|s| s.slots(&ring, level)).collect();
                    let bodies = with_errors(1, |errors| {
                        SwitchKey::generate(&ring, level, &gadget, &slots, &secrets, masks(5), errors)
                    });
                    let key = SwitchKey::assemble(&ring, level, &gadget, secrets.len(), &bodies, masks(5));
                    let a = mask(&ring, level, &SEED, "switched", 0);
                    let mut out = Ciphertext::zero(&ring, level, secrets.len());
                    key.add_switched(&ring, &a, &mut out, &mut Scratch::new(&ring));
                    let norm = norm(256);
                    let variance =
                        steps::key_switch(256, &digits(&gadget), ring.log2_q(level), SIGMA * SIGMA, norm);
                    for (phase, source) in phases(&ring, &secrets, &out).iter().zip(&slots) {
                        let mut expected = a.clone();
                        ring.mul(level, &mut expected, source);
                        let expected: Vec<i128> =
                            ring.to_integers(level, &mut expected).iter().map(|x| *x as i128).collect();
                        let noise = noise_log2(&ring, level, phase, &expected);
                        assert!((noise - variance.log2() / 2.0).abs() < 0.4, "{noise} {variance} {gadget:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_switched_part_is_added_to_the_output() {
        for ring in rings(64) {
            let level = ModulusLevel::Full;
            let gadget = exact(&ring, level, 5);
            let s = secret(&ring, 1);
            let bodies = with_errors(1, |errors| {
                SwitchKey::generate(&ring, level, &gadget, &[s.slots(&ring, level)], &[&s], masks(0), errors)
            });
            let key = SwitchKey::assemble(&ring, level, &gadget, 1, &bodies, masks(0));
            let (a, b) = (mask(&ring, level, &SEED, "a", 0), mask(&ring, level, &SEED, "b", 0));
            let mut scratch = Scratch::new(&ring);
            let mut sum = Ciphertext::new(&ring, level, &b, [a.as_slice()].into_iter());
            let before = sum.clone();
            key.add_switched(&ring, &a, &mut sum, &mut scratch);
            sum.sub(&ring, &before);
            let mut alone = Ciphertext::zero(&ring, level, 1);
            key.add_switched(&ring, &a, &mut alone, &mut scratch);
            assert!(sum.components().eq(alone.components()));
            // A mask that will be overwritten counts as zero.
            let mut put = Ciphertext::new(&ring, level, &b, [vec![0; b.len()].as_slice()].into_iter());
            key.put_mask_add_bodies(&ring, &mut put, &scratch);
            assert!(put.components().eq(alone.components()));
        }
    }

    #[test]
    fn lowering_divides_by_the_special_modulus() {
        let n = 1024;
        for ring in rings(n) {
            let s = secret(&ring, 1);
            let special = ring.special_plan().map_or(1, |plan| plan.modulus().value());
            let scale = ring.modulus(ModulusLevel::Main) / 1000;
            let (expected, _) = message(&ring, ModulusLevel::Main, 1, scale);
            let (_, slots) = message(&ring, ModulusLevel::Full, 1, scale * u128::from(special));
            let c = encrypted(&ring, ModulusLevel::Full, &s, &slots, 0);
            let mut out = Ciphertext::zero(&ring, ModulusLevel::Main, 1);
            lower(&ring, &c, &mut out, &mut Scratch::new(&ring));
            let noise = noise_log2(&ring, ModulusLevel::Main, &phases(&ring, &[&s], &out)[0], &expected);
            let norm = norm(n);
            let predicted = match ring.pair() {
                Some(_) => steps::lowered(SIGMA * SIGMA, (special as f64).log2(), norm),
                None => SIGMA * SIGMA,
            };
            assert!((noise - predicted.log2() / 2.0).abs() < 0.3, "{noise} {predicted}");
        }
    }
}
