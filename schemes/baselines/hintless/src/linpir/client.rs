//! The client's half: encrypting s, and reading `H s`.
//!
//! No branch, index or allocation depends on a secret.

use super::{CYCLE, KEY_ROWS, N, PLAIN, RINGS, SIGMA, key_masks, rule, secret_mask};
use sotto_core::{CryptoRng, Result};
use sotto_lattice::bgv::encrypt::{decrypt, encrypt};
use sotto_lattice::bgv::{Ciphertext, Pow2, RnsRing, RotationKey, SecretKey, SlotRing};
use sotto_lattice::encrypt::ErrorSource;
use sotto_math::divide::divide;
use sotto_math::modulus::Modulus;
use sotto_math::sample::Gaussian;
use sotto_prg::PublicSeed;
use zeroize::Zeroizing;

/// The client's half of LinPIR: the rings, their public masks, and the sampler.
pub struct LinPir {
    rings: [RnsRing<Pow2>; RINGS],
    masks: [Vec<u64>; RINGS],
    gaussian: Gaussian,
    seed: PublicSeed,
    rows: usize,
    block_rows: usize,
}

/// The encryption of s in one ring: a body, and the bodies of the key that rotates it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncryptedSecret {
    /// Body of the ciphertext, as values.
    pub body: Vec<u64>,
    /// Bodies of the key's rows.
    pub key: Vec<Vec<u64>>,
}

impl EncryptedSecret {
    /// The fields of a message, each the values modulo one prime: of the body, then of the key.
    pub fn fields(&self) -> impl Iterator<Item = Vec<u64>> + '_ {
        std::iter::once(&self.body).chain(&self.key).flat_map(|x| x.chunks(N).map(<[u64]>::to_vec))
    }

    /// The encryptions in all rings that have these fields.
    pub fn all_of(fields: &[Vec<u64>]) -> Vec<Self> {
        let of_ring = |fields: &[Vec<u64>]| {
            let (body, key) = fields.split_at_checked(KEY_ROWS)?;
            let key = key.chunks(KEY_ROWS + 1).map(<[Vec<u64>]>::concat).collect();
            Some(EncryptedSecret { body: body.concat(), key })
        };
        fields.chunks(fields.len().div_ceil(RINGS).max(1)).filter_map(of_ring).collect()
    }
}

impl LinPir {
    /// LinPIR for hints of `rows` rows, in blocks of `block_rows`.
    pub fn new(rings: &[RnsRing<Pow2>; RINGS], seed: PublicSeed, [rows, block_rows]: [usize; 2]) -> Self {
        let mut k = 0..;
        let masks = rings.each_ref().map(|ring| secret_mask(ring, &seed, k.next().unwrap_or_default()));
        LinPir { rings: rings.clone(), masks, gaussian: Gaussian::new(SIGMA), seed, rows, block_rows }
    }

    /// Encrypts s under a fresh secret in each ring, and returns those secrets.
    ///
    /// # Errors
    /// None for a secret of at most 2048 numbers.
    pub fn encrypt(
        &self,
        s: &[i32],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Vec<EncryptedSecret>, Vec<SecretKey>)> {
        let mut encrypted = Vec::with_capacity(RINGS);
        let mut secrets = Vec::with_capacity(RINGS);
        for (k, (ring, mask)) in self.rings.iter().zip(&self.masks).enumerate() {
            let coefficients = self.plaintext(ring, s)?;
            let secret = SecretKey::sample(ring, rng);
            let mut errors = ErrorSource { law: &self.gaussian, rng };
            let body = encrypt(ring, ring.top(), &secret, mask, &coefficients, &mut errors);
            let key = RotationKey::generate(ring, 1, &secret, key_masks(&self.seed, k), &mut errors);
            encrypted.push(EncryptedSecret { body, key });
            secrets.push(secret);
        }
        Ok((encrypted, secrets))
    }

    /// The coefficients of the plaintext: s in the first cycle, and shifted by R / 2 places in the
    /// second.
    fn plaintext(&self, ring: &RnsRing<Pow2>, s: &[i32]) -> Result<Zeroizing<Vec<u64>>> {
        let t = ring.ring().plain();
        let mut cycle = Zeroizing::new(vec![0u64; CYCLE]);
        // The sign, spread over the word, adds t to a negative number.
        let residue = |x: &i32| (i64::from(*x) as u64).wrapping_add(t & (i64::from(*x) >> 63) as u64);
        cycle.iter_mut().zip(s).for_each(|(slot, x)| *slot = residue(x));
        let (first, second) = cycle.split_at_checked(self.block_rows / 2).ok_or_else(rule)?;
        let slots = Zeroizing::new([&cycle, second, first].concat());
        let mut coefficients = Zeroizing::new(vec![0; N]);
        ring.ring().encode(&slots, &mut coefficients);
        Ok(coefficients)
    }

    /// `H s` modulo 2^32, from the answer's ciphertexts: those of all blocks in each ring, one
    /// ring after the other, of two polynomials modulo its first prime.
    ///
    /// # Errors
    /// None for ciphertexts of this shape.
    pub fn products(&self, secrets: &[SecretKey], answers: &[[Vec<u64>; 2]]) -> Result<Zeroizing<Vec<u32>>> {
        let mut residues = Vec::with_capacity(RINGS);
        let blocks = self.rows.div_ceil(self.block_rows);
        for ((ring, secret), blocks) in self.rings.iter().zip(secrets).zip(answers.chunks(blocks)) {
            let level = ring.level(1).ok_or_else(rule)?;
            let mut numbers = Zeroizing::new(Vec::with_capacity(self.rows));
            for [body, mask] in blocks {
                let message = decrypt(ring, secret, &Ciphertext::new(ring, level, &[body, mask]));
                let mut slots = Zeroizing::new(vec![0; N]);
                ring.ring().decode(&message, &mut slots);
                let mut sums = Zeroizing::new(vec![0u64; self.block_rows]);
                // The sum has at most 4096 / 16 numbers below 2^22 each.
                for slots in slots.chunks(self.block_rows) {
                    sums.iter_mut().zip(slots).for_each(|(sum, slot)| *sum += slot);
                }
                numbers.extend(sums.iter());
            }
            residues.push(numbers);
        }
        let [first, second] = residues.as_slice() else { return Err(rule()) };
        let join = ResidueJoin::new().ok_or_else(rule)?;
        let numbers = first.iter().zip(second.iter()).take(self.rows);
        Ok(Zeroizing::new(numbers.map(|(first, second)| join.number([*first, *second])).collect()))
    }
}

/// Combines two residues to a number.
struct ResidueJoin {
    plain: [Modulus; RINGS],
    /// The inverse of the first plain prime modulo the second.
    inverse: u64,
}

impl ResidueJoin {
    fn new() -> Option<Self> {
        let [first, second] = PLAIN.map(Modulus::new);
        let (first, second) = (first?, second?);
        Some(ResidueJoin { plain: [first, second], inverse: second.inv(second.reduce(first.value())) })
    }

    /// The number nearest to zero with these residues, which need not be reduced, modulo 2^32.
    fn number(&self, [a, b]: [u64; 2]) -> u32 {
        let [first, second] = &self.plain;
        // Residues are secret, and the time of a processor's division depends on its operands.
        let residue = |number: u64, modulus: &Modulus| divide(number, modulus.value()).1;
        let a = residue(a, first);
        let rest = second.mul(second.sub(residue(b, second), residue(a, second)), self.inverse);
        let (x, all) = (a + first.value() * rest, first.value() * second.value());
        // All ones for a value above a half, which stands for a negative number.
        let above = ((all / 2).wrapping_sub(x) as i64 >> 63) as u64;
        x.wrapping_sub(all & above) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residues_are_joined_nearest_to_zero() {
        let join = ResidueJoin::new().unwrap();
        let half = (PLAIN[0] * PLAIN[1] / 2) as i64;
        for x in [0, 1, -1, 1 << 31, -(1 << 31), 123_456_789_012, -999_999_999_999, half, -half] {
            let residues = PLAIN.map(|t| x.rem_euclid(t as i64) as u64 + 3 * t);
            assert_eq!(join.number(residues), x as u32, "{x}");
        }
    }
}
