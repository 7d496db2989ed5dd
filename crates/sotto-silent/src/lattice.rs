//! The ring of silent schemes and its public polynomials: those that queries are encrypted under,
//! and those of packing keys. They are the same for every table and client, so whatever follows
//! from them alone is precomputed; every query has its own secret and errors.

use sotto_core::{Misuse, Result, Security};
use sotto_lattice::encrypt::{MaskSource, mask};
use sotto_lattice::inspiring::Inspiring;
use sotto_lattice::noise::steps::GadgetNoise;
use sotto_lattice::ring::{ModulusLevel, Ring};
use sotto_lattice::secret::Distribution;
use sotto_lattice::security;
use sotto_math::gadget::Gadget;
use sotto_math::matrix::PanelLayout;
use sotto_math::modulus::Modulus;
use sotto_prg::PublicSeed;

/// The name of the ring, for literals.
pub const SET: &str = "n2048-q50";

/// The degree, d: samples in a packed ciphertext.
pub const N: usize = 2048;

/// The modulus: a prime that is 1 modulo 2^14, just below 2^50, where products of 52 bits end.
pub const Q: u64 = 1_125_899_904_679_937;

/// Bits of the modulus.
pub const Q_BITS: u32 = 50;

/// Standard deviation of errors.
pub const SIGMA: f64 = 3.2;

/// The distribution of secrets.
pub const LAW: Distribution = Distribution::Ternary;

/// Mean squared norm of a secret.
pub const NORM: f64 = N as f64 * 2.0 / 3.0;

/// The digits of a switch when products are packed, and the bytes of the packing weights, which are
/// sums of as many digits as there are switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackingDigits {
    /// The digits.
    pub digits: GadgetNoise,
    /// Bytes of a weight. Weights of uniform digits stay below by ten standard deviations and more.
    pub weight_bytes: usize,
}

impl PackingDigits {
    /// Two digits of 16 bits, without the 18 lowest bits, and weights of three bytes. Dropping these
    /// bits adds as much noise as the digits themselves.
    pub const TWO: PackingDigits = PackingDigits {
        digits: GadgetNoise { count: 2, base_log2: 16, drop_log2: 18 },
        weight_bytes: WEIGHT_BYTES,
    };

    /// One digit of 23 bits, without the 27 lowest bits, and weights of four bytes: where numbers are
    /// bytes, and there is 2^8 times the margin.
    pub const ONE: PackingDigits =
        PackingDigits { digits: GadgetNoise { count: 1, base_log2: 23, drop_log2: 27 }, weight_bytes: 4 };

    /// Polynomials of a key.
    pub const fn bodies(&self) -> usize {
        self.digits.count as usize
    }

    /// Coefficients of a key.
    pub const fn key_words(&self) -> usize {
        self.bodies() * N
    }

    /// The gadget that decomposes switches into these digits.
    ///
    /// # Errors
    /// None for [`Self::TWO`] and [`Self::ONE`].
    pub fn gadget(&self) -> Result<Gadget> {
        let GadgetNoise { count, base_log2, drop_log2 } = self.digits;
        let gadget = Gadget::new(count, base_log2, drop_log2);
        Ok(gadget.ok_or(Misuse::Rule("the digits of silent schemes must reach the modulus"))?)
    }

    /// Packing, under the public masks, of a number of samples: N, or a power of two up to N / 2.
    ///
    /// # Errors
    /// [`Misuse::Rule`] for another number.
    pub fn packing(&self, samples: usize) -> Result<Inspiring> {
        let packing = Inspiring::new(&ring()?, &self.gadget()?, KEY_MASKS, samples);
        Ok(packing.ok_or(Misuse::Rule("the numbers packed together must be a power of two, at most N"))?)
    }
}

/// Log2 of the largest plain modulus: two bytes of the matrix are one number.
pub const P_LOG2: u32 = 16;

/// Operations per packed coefficient after the passes, measured.
pub const PACKED_OPS: u64 = 6000;

/// Bytes of a record in one packed ciphertext.
pub const GROUP_BYTES: usize = 2 * N;

/// Number of groups, each a packed ciphertext, of a record of `record_bytes` bytes.
pub const fn groups(record_bytes: u64) -> u64 {
    record_bytes.div_ceil(GROUP_BYTES as u64)
}

/// Bytes of a packing weight for [two digits](PackingDigits::TWO): less than 256 digits of 16 bits
/// always fit, and 2046 uniform ones do too, by nearly ten standard deviations.
pub const WEIGHT_BYTES: usize = 3;

/// Coefficients of a packing key of [two digits](PackingDigits::TWO).
pub const KEY_WORDS: usize = PackingDigits::TWO.key_words();

/// The layout of the weights of `groups` groups of `numbers` numbers each, at most N / 2.
pub fn weight_layout(numbers: usize, groups: usize) -> PanelLayout {
    PanelLayout::new(WEIGHT_BYTES * numbers * groups, KEY_WORDS)
}

/// Bytes of a mask with `mask_bits` bits a coefficient.
pub(crate) const fn mask_bytes(mask_bits: u32) -> u64 {
    (N as u64 * mask_bits as u64).div_ceil(8)
}

/// Seed of all public polynomials: BLAKE3 of [`PUBLIC_SENTENCE`]. No server can choose it.
pub const PUBLIC_SEED: PublicSeed = PublicSeed([
    0x03, 0x99, 0x36, 0xfb, 0xd0, 0x4b, 0x1d, 0xfc, //
    0x1d, 0xb3, 0x36, 0x9e, 0xe6, 0x71, 0xe0, 0x3d, //
    0xac, 0x1b, 0x64, 0x7d, 0xf7, 0xe5, 0x62, 0x25, //
    0xff, 0x84, 0x9a, 0x27, 0x63, 0xa9, 0x5b, 0x73, //
]);

/// The sentence whose digest is [`PUBLIC_SEED`].
pub const PUBLIC_SENTENCE: &str = "sotto silent/1: the public polynomials are the same for everyone";

/// The public masks of packing keys.
pub(crate) const KEY_MASKS: MaskSource<'static> =
    MaskSource { seed: &PUBLIC_SEED, label: "silent keys", first: 0 };

/// Builds the ring.
///
/// # Errors
/// None, since its numbers are constants.
pub fn ring() -> Result<Ring> {
    let ring = Modulus::new(Q).and_then(|q| Ring::new(N, q, None));
    Ok(ring.ok_or(Misuse::Rule("the ring of silent schemes must have transforms"))?)
}

/// Labels of the public polynomials of a query's vectors: two vectors of one secret must not share
/// a polynomial.
pub const VECTORS: [&str; 2] = ["silent query", "silent query, second vector"];

/// The first block of the vector for a bucket, in a query with a vector of `words` words for each
/// bucket of its table: vectors of one secret share no block.
pub const fn first_block(bucket: usize, words: usize) -> usize {
    bucket * words.div_ceil(N)
}

/// The public polynomial `a_k` of block k of one of a query's vectors, in slots.
pub fn block(ring: &Ring, vector: &'static str, k: usize) -> Vec<u64> {
    mask(ring, ModulusLevel::Main, &PUBLIC_SEED, vector, k as u64)
}

/// The security of a query: ring-LWE with a ternary secret, of which queries and keys are samples.
/// The figure is for an attacker with as many samples as it wants, so it does not depend on how many
/// vectors there are under one secret, only on that no two of them share a polynomial. That keys may
/// encrypt images of the secret that they are under is the usual assumption of circular security.
///
/// # Errors
/// [`sotto_core::ParamsError::Insecure`] if the security gate refuses it.
/// [`sotto_core::ParamsError::Insecure`] if the gate says so.
pub fn security() -> Result<Security> {
    Ok(security::gate(N, (Q as f64).log2(), &LAW.into(), SIGMA)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_is_the_digest_of_a_sentence() {
        assert_eq!(PUBLIC_SEED.0, *blake3::hash(PUBLIC_SENTENCE.as_bytes()).as_bytes());
    }

    #[test]
    fn the_constants_are_those_of_the_ring() {
        let ring = ring().unwrap();
        assert_eq!((ring.n(), ring.q().value(), ring.bits(ModulusLevel::Main)), (N, Q, Q_BITS));
        for packing in [PackingDigits::TWO, PackingDigits::ONE] {
            let (gadget, digits) = (packing.gadget().unwrap(), packing.digits);
            assert_eq!((gadget.base_log2(), gadget.drop_log2()), (digits.base_log2, digits.drop_log2));
            assert!(gadget.fits(Q_BITS) && gadget.digits() == digits.count);
            // Sums of uniform digits stay within a weight's signed bytes.
            let deviation = f64::from(digits.base_log2).exp2() * (N as f64 / 12.0).sqrt();
            assert!(9.7 * deviation < (8.0 * packing.weight_bytes as f64 - 1.0).exp2());
        }
        assert!(security().unwrap().bits >= 128.0);
        assert!((NORM - N as f64 * LAW.variance()).abs() < 1e-9);
    }
}
