//! LinPIR: `H s` under encryption, modulo two plain primes whose product covers its range.
//!
//! A plaintext has two cycles of 2048 slots. A *block* of R rows of H is R / 2 plaintexts, the
//! diagonals. Slot k of diagonal j has, in the first cycle, the number in row `k mod R` and column
//! `k + j` of the block, and in the second one column `k + j + R / 2`; both modulo 2048, and zero
//! past the last column. The client encrypts s such that its slots, rotated by j places, match
//! them. So the sum over all diagonals has, in slots `k mod R = r` of both cycles together, the
//! product of row r.
//!
//! Here is the client's half: encrypting s, and reading `H s`. No branch, index or allocation of it
//! depends on a secret. The module `server` has diagonals, and their pass (feature `server`).

#[cfg(feature = "server")]
pub mod server;

use sotto_core::{CryptoRng, Misuse, ParamsError, Result, Security};
use sotto_lattice::bgv::encrypt::{decrypt, encrypt};
use sotto_lattice::bgv::{Ciphertext, Pow2, RnsRing, RotationKey, SecretKey, SlotRing};
use sotto_lattice::encrypt::{ErrorSource, MaskSource};
use sotto_math::modulus::Modulus;
use sotto_math::modulus::divide;
use sotto_math::sample::Gaussian;
use sotto_math::tiles::WordPacking;
use sotto_prg::PublicSeed;
use sotto_silent::message::{Field, Format};
use std::sync::LazyLock;
use zeroize::Zeroizing;

/// The degree of the rings.
pub const N: usize = 4096;

/// Slots of a cycle.
pub const CYCLE: usize = N / 2;

/// Standard deviation of errors.
pub const SIGMA: f64 = 3.2;

/// Number of rings: one for each plain prime.
pub const RINGS: usize = 2;

/// The range of the number of rows in a block.
pub const BLOCK_ROWS: std::ops::RangeInclusive<u64> = 16..=CYCLE as u64;

/// The special prime of keys: 33 bits.
const SPECIAL: u64 = 8_589_852_673;

/// A ring: its plain prime t, and two primes that are 1 modulo 8192 t, the first of which is the
/// modulus of answers.
#[derive(Debug, Clone, Copy)]
struct RingSet {
    t: u64,
    primes: [u64; 2],
}

/// The rings with the smallest primes, so that there is space for the special one. The product of
/// the plain primes is 2^41.4, like the paper's.
const SETS: [RingSet; RINGS] = [
    RingSet { t: 2_277_377, primes: [55_968_817_153, 74_625_089_537] },
    RingSet { t: 1_253_377, primes: [20_535_328_769, 143_747_301_377] },
];

/// The plain primes of both rings.
pub const PLAIN: [u64; RINGS] = [SETS[0].t, SETS[1].t];

/// Builds the rings.
///
/// # Errors
/// None, since their numbers are constants.
pub fn rings() -> Result<&'static [RnsRing<Pow2>; RINGS]> {
    static MADE: LazyLock<Option<[RnsRing<Pow2>; RINGS]>> =
        LazyLock::new(|| ring(&SETS[0]).zip(ring(&SETS[1])).map(|(first, second)| [first, second]));
    MADE.as_ref().ok_or_else(rule)
}

fn ring(set: &RingSet) -> Option<RnsRing<Pow2>> {
    let [first, second] = set.primes;
    let primes: Option<Vec<Modulus>> = [first, second, SPECIAL].into_iter().map(Modulus::new).collect();
    RnsRing::new(Pow2::new(N, Modulus::new(set.t)?, &primes?)?)
}

fn rule() -> sotto_core::Error {
    Misuse::Rule("the rings of hintless/1 must have transforms and slots").into()
}

/// The security of the weaker ring, by the security gate.
///
/// # Errors
/// [`ParamsError::Insecure`] if a ring is not secure enough.
pub fn security(rings: &[RnsRing<Pow2>; RINGS]) -> Result<Security, ParamsError> {
    let [first, second] = rings;
    let (first, second) = (first.security(SIGMA)?, second.security(SIGMA)?);
    Ok(if first.bits <= second.bits { first } else { second })
}

/// The public mask of the ciphertext of s in ring k, as values.
fn secret_mask(ring: &RnsRing<Pow2>, seed: &PublicSeed, k: usize) -> Vec<u64> {
    ring.mask(ring.top(), seed, "hintless secret", k as u64)
}

/// The masks of ring k's key.
fn key_masks(seed: &PublicSeed, k: usize) -> MaskSource<'_> {
    MaskSource { seed, label: "hintless keys", first: (KEY_ROWS * k) as u64 }
}

/// Rows of a key: one for each prime of a ciphertext.
const KEY_ROWS: usize = 2;

/// Bytes of a polynomial modulo these primes.
fn polynomial_bytes(primes: &[u64]) -> u64 {
    let bits: u32 = primes.iter().map(|prime| u64::BITS - prime.leading_zeros()).sum();
    u64::from(bits) * N as u64 / 8
}

/// The values of a polynomial modulo each of these primes.
fn polynomial(primes: &[u64]) -> impl Iterator<Item = Field> + '_ {
    primes.iter().map(|prime| Field::below(N as u64, *prime))
}

/// Appends the encryption of s in each ring, and of its keys.
pub fn and_secret(format: Format) -> Format {
    let of_ring = |format, RingSet { primes: [first, second], .. }: &RingSet| {
        let body = polynomial(&[*first, *second]).fold(format, |format: Format, field| format.and(1, field));
        let row = [*first, *second, SPECIAL];
        (0..KEY_ROWS).flat_map(|_| polynomial(&row)).fold(body, |format, field| format.and(1, field))
    };
    SETS.iter().fold(format, of_ring)
}

/// Appends one ring's products for `blocks` blocks: two polynomials each, modulo the first prime.
pub fn and_products(format: Format, ring: usize, blocks: u64) -> Format {
    let field = |set: &RingSet| Field::below(N as u64, set.primes[0]);
    let field = SETS.get(ring).map(field);
    field.into_iter().fold(format, |format, field| format.and_ciphers(blocks, [field; 2]))
}

/// Bytes of an image for `blocks` blocks of `block_rows` rows.
pub fn image_bytes(blocks: u64, block_rows: u64) -> u64 {
    ring_bytes(blocks, block_rows).iter().sum()
}

/// Bytes of each ring's part of an image.
pub fn ring_bytes(blocks: u64, block_rows: u64) -> [u64; RINGS] {
    let lines = |rows: u64| WordPacking::Residues.lines_of_table(rows as usize) as u64 * N as u64 * 8;
    let digits = 3 * lines(KEY_ROWS as u64) * (block_rows / 2 - 1);
    let diagonals = 2 * lines(block_rows / 2) * blocks;
    SETS.each_ref().map(|RingSet { primes, .. }| digits + diagonals + blocks * polynomial_bytes(primes))
}

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
    use sotto_lattice::bgv::wire::body_bytes;

    #[test]
    fn the_constants_are_those_of_the_rings() {
        let rings = rings().unwrap();
        let [all, top, last] = [0, 1, 2].map(|which| {
            let level = |ring: &RnsRing<Pow2>| [ring.full(), ring.top(), ring.level(1).unwrap()][which];
            rings.iter().map(|ring| body_bytes(ring, level(ring))).sum::<usize>() as u64
        });
        assert_eq!(and_secret(Format::default()).bytes(), top + KEY_ROWS as u64 * all);
        let products = (0..RINGS).fold(Format::default(), |format, ring| and_products(format, ring, 3));
        assert_eq!(products.bytes(), 6 * last);
        assert!(security(rings).unwrap().bits >= 128.0);
        // There is space below the largest modulus that is certified.
        assert!(rings.iter().all(|ring| ring.log2_q(ring.full()) < 105.0));
    }

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
