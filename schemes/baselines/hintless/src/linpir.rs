//! LinPIR: `H s` under encryption, modulo two plain primes whose product covers its range.
//!
//! A plaintext has two cycles of 2048 slots. A *block* of R rows of H is R / 2 plaintexts, the
//! diagonals. Slot k of diagonal j has, in the first cycle, the number in row `k mod R` and column
//! `k + j` of the block, and in the second one column `k + j + R / 2`; both modulo 2048, and zero
//! past the last column. The client encrypts s such that its slots, rotated by j places, match
//! them. So the sum over all diagonals has, in slots `k mod R = r` of both cycles together, the
//! product of row r.
//!
//! | module | contents |
//! |---|---|
//! | [`client`] | encrypting s, and reading `H s` |
//! | `server` | diagonals, and their pass (feature `server`) |

pub mod client;
#[cfg(feature = "server")]
pub mod server;

use sotto_core::{Misuse, ParamsError, Result, Security};
use sotto_lattice::bgv::{Pow2, RnsRing};
use sotto_lattice::encrypt::MaskSource;
use sotto_math::modulus::Modulus;
use sotto_math::tiles::WordPacking;
use sotto_prg::PublicSeed;
use sotto_silent::message::{Field, Format};
use std::sync::LazyLock;

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
}
