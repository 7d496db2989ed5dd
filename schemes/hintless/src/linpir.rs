//! LinPIR: `H s` under encryption, modulo two plain primes whose product covers it.
//!
//! A plaintext has two cycles of 2048 slots. A *block* of R rows of H is R / 2 plaintexts, the diagonals. Slot k of diagonal
//! j has, in the first cycle, the number in row `k mod R` and column `k + j` of the block, and in the second one column `k +
//! j + R / 2`; both modulo 2048, and zero past the last column. The client encrypts s so that rotated by j places its slots
//! meet them. So the sum over all diagonals has, in slots `k mod R = r` of both cycles together, the product of row r.
//!
//! | module | what lives there |
//! |---|---|
//! | [`client`] | s encrypted, and `H s` read |
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
use std::sync::LazyLock;

/// The degree of the rings.
pub const N: usize = 4096;

/// Slots of a cycle.
pub const CYCLE: usize = N / 2;

/// Standard deviation of errors.
pub const SIGMA: f64 = 3.2;

/// Rings: one for each plain prime.
pub const RINGS: usize = 2;

/// The smallest number of rows in a block, and the largest.
pub const BLOCK_ROWS: std::ops::RangeInclusive<u64> = 16..=CYCLE as u64;

/// The special prime, which keys have: 33 bits.
const SPECIAL: u64 = 8_589_852_673;

/// A ring, by its plain prime t and two primes that are 1 modulo 8192 t, the first of which answers have.
#[derive(Debug, Clone, Copy)]
struct RingSet {
    t: u64,
    primes: [u64; 2],
}

/// Those of which the two primes are smallest, so that the special one has room. The product of the plain primes is 2^41.4,
/// as the paper's.
const SETS: [RingSet; RINGS] = [
    RingSet { t: 2_277_377, primes: [55_968_817_153, 74_625_089_537] },
    RingSet { t: 1_253_377, primes: [20_535_328_769, 143_747_301_377] },
];

/// The plain primes.
pub const PLAIN: [u64; RINGS] = [SETS[0].t, SETS[1].t];

/// The rings.
///
/// # Errors
/// None: their numbers are constants.
pub fn rings() -> Result<[RnsRing<Pow2>; RINGS]> {
    static MADE: LazyLock<[Option<RnsRing<Pow2>>; RINGS]> = LazyLock::new(|| SETS.each_ref().map(ring));
    let [first, second] = MADE.clone();
    first.zip(second).map(|(first, second)| [first, second]).ok_or_else(rule)
}

fn ring(set: &RingSet) -> Option<RnsRing<Pow2>> {
    let [first, second] = set.primes;
    let primes: Option<Vec<Modulus>> = [first, second, SPECIAL].into_iter().map(Modulus::new).collect();
    RnsRing::new(Pow2::new(N, Modulus::new(set.t)?, &primes?)?)
}

fn rule() -> sotto_core::Error {
    Misuse::Rule("the rings of hintless/1 have transforms and slots").into()
}

/// What the rings give, by the gate: the weaker one.
///
/// # Errors
/// [`ParamsError::Insecure`] if one is not enough.
pub fn security(rings: &[RnsRing<Pow2>; RINGS]) -> Result<Security, ParamsError> {
    let [first, second] = rings;
    let (first, second) = (first.security(SIGMA)?, second.security(SIGMA)?);
    Ok(if first.bits <= second.bits { first } else { second })
}

/// The public mask of the ciphertext of s in ring k, as values.
fn secret_mask(ring: &RnsRing<Pow2>, seed: &PublicSeed, k: usize) -> Vec<u64> {
    ring.mask(ring.top(), seed, "hintless secret", k as u64)
}

/// Masks of the key of ring k.
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

/// Bytes of s under encryption, and of the keys that go with it.
pub fn query_bytes() -> u64 {
    let of = |RingSet { primes: [first, second], .. }: &RingSet| {
        polynomial_bytes(&[*first, *second]) + KEY_ROWS as u64 * polynomial_bytes(&[*first, *second, SPECIAL])
    };
    SETS.iter().map(of).sum()
}

/// Bytes of an answer for so many blocks: two polynomials each, modulo the first prime.
pub fn answer_bytes(blocks: u64) -> u64 {
    (0..RINGS).map(|ring| answer_bytes_of(ring, blocks)).sum()
}

/// Those of one ring, of which there are [`RINGS`].
pub fn answer_bytes_of(ring: usize, blocks: u64) -> u64 {
    let of = |RingSet { primes: [first, _], .. }: &RingSet| 2 * polynomial_bytes(&[*first]);
    blocks * SETS.get(ring).map_or(0, of)
}

/// Bytes of an image for so many blocks of so many rows.
pub fn image_bytes(blocks: u64, block_rows: u64) -> u64 {
    ring_bytes(blocks, block_rows).iter().sum()
}

/// Those of each ring.
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
            rings
                .iter()
                .map(|ring| body_bytes(ring, [ring.full(), ring.top(), ring.level(1).unwrap()][which]))
                .sum::<usize>()
        });
        assert_eq!(query_bytes(), (top + KEY_ROWS * all) as u64);
        assert_eq!(answer_bytes(3), 6 * last as u64);
        assert!(security(&rings).unwrap().bits >= 128.0);
        // Room below the largest modulus that is certified.
        assert!(rings.iter().all(|ring| ring.log2_q(ring.full()) < 105.0));
    }
}
