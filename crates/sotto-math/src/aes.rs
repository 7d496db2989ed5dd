//! AES-128 over whole slices: a pseudo-random function of two numbers, and a generator that grows
//! trees.
//!
//! All functions do a fixed number of rounds on independent blocks, so a processor with AES
//! instructions keeps eight registers in flight and is limited by nothing else. Without them the
//! code is bit-sliced. Neither has a table, a branch or an address that depends on a key or a
//! block.

pub use crate::simd::args::Aes;
use crate::simd::{self, Blocks};

impl Aes {
    /// Encrypts all pairs of `nx` numbers from `x` on and `ny` from `y` on, the second moving
    /// faster.
    ///
    /// `out[a * ny + b]` is the block of `x + a` and `y + b`, each as eight little-endian bytes and
    /// modulo 2^64.
    ///
    /// # Panics
    /// If `out` is not `nx * ny` long.
    pub fn grid(&self, x: u64, nx: usize, y: u64, ny: usize, out: &mut [[u8; 16]]) {
        grid_with(simd::kernels().aes(), self, [x, y], [nx, ny], out);
    }

    /// Writes the encryption of `input[i]` plus `input[i]` to `out[i]`: a function that nobody can
    /// invert even if the key is known (Matyas, Meyer and Oseas).
    ///
    /// # Panics
    /// If there are not as many outputs as inputs.
    pub fn mmo(&self, input: &[[u8; 16]], out: &mut [[u8; 16]]) {
        mmo_with(simd::kernels().aes(), self, input, out);
    }
}

/// Makes two blocks of each seed, the children in a binary tree.
///
/// `out[2 * i]` is the result of [`Aes::mmo`] for `seeds[i]` under `left`, and `out[2 * i + 1]`
/// under `right`.
///
/// # Panics
/// If there are not twice as many outputs as seeds.
pub fn double(left: &Aes, right: &Aes, seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
    double_with(simd::kernels().aes(), [left, right], seeds, out);
}

/// Makes four blocks of each seed, for leaves of 512 bits.
///
/// `out[4 * i + t]` is the result of [`Aes::mmo`] for `seeds[i]` with `t` xored to its first byte.
///
/// # Panics
/// If there are not four times as many outputs as seeds.
pub fn widen(key: &Aes, seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
    widen_with(simd::kernels().aes(), key, seeds, out);
}

/// Descends one path in each of many trees, each under a key of its own.
///
/// For each of `turns` in order, every seed is replaced by the result of [`Aes::mmo`] under its key
/// for the seed with the turn xored to its first byte. The time depends on lengths only.
///
/// # Panics
/// If there are not as many seeds as keys.
pub fn descend(keys: &[[u8; 16]], turns: &[u8], seeds: &mut [[u8; 16]]) {
    descend_with(simd::kernels().aes(), keys, turns, seeds);
}

fn grid_with(blocks: &dyn Blocks, key: &Aes, from: [u64; 2], count: [usize; 2], out: &mut [[u8; 16]]) {
    assert_eq!(count[0].checked_mul(count[1]), Some(out.len()), "one block for each pair");
    // A grid without columns has no pair, and no next row either.
    if !out.is_empty() {
        blocks.grid(key, from, count[1] as u64, out);
    }
}

fn mmo_with(blocks: &dyn Blocks, key: &Aes, input: &[[u8; 16]], out: &mut [[u8; 16]]) {
    assert_eq!(input.len(), out.len(), "one block for each input");
    blocks.mmo(key, input, out);
}

fn double_with(blocks: &dyn Blocks, keys: [&Aes; 2], seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
    assert_eq!(seeds.len().checked_mul(2), Some(out.len()), "two blocks for each seed");
    blocks.double(keys, seeds, out);
}

fn widen_with(blocks: &dyn Blocks, key: &Aes, seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
    assert_eq!(seeds.len().checked_mul(4), Some(out.len()), "four blocks for each seed");
    blocks.widen(key, seeds, out);
}

fn descend_with(blocks: &dyn Blocks, keys: &[[u8; 16]], turns: &[u8], seeds: &mut [[u8; 16]]) {
    assert_eq!(keys.len(), seeds.len(), "a seed for each key");
    blocks.descend(keys, turns, seeds);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::mix;
    use crate::simd::available;
    use ::aes::cipher::{BlockCipherEncrypt, KeyInit};

    const KEY: [u8; 16] = [7, 1, 2, 250, 4, 5, 99, 0, 0, 9, 10, 11, 128, 13, 14, 255];

    /// Encrypts one block by itself: the definition.
    fn one(key: &[u8; 16], block: [u8; 16]) -> [u8; 16] {
        let mut block = block.into();
        ::aes::Aes128::new(key.into()).encrypt_block(&mut block);
        block.into()
    }

    fn hash(key: &[u8; 16], mut block: [u8; 16], t: u8) -> [u8; 16] {
        block[0] ^= t;
        (u128::from_ne_bytes(one(key, block)) ^ u128::from_ne_bytes(block)).to_ne_bytes()
    }

    fn pair(x: u64, y: u64) -> [u8; 16] {
        let mut block = [0; 16];
        block[..8].copy_from_slice(&x.to_le_bytes());
        block[8..].copy_from_slice(&y.to_le_bytes());
        block
    }

    fn seeds(n: usize) -> Vec<[u8; 16]> {
        (0..n as u64).map(|i| pair(mix(2 * i), mix(2 * i + 1))).collect()
    }

    /// Outputs that no kernel would give, so that an omitted one shows.
    fn blank(n: usize) -> Vec<[u8; 16]> {
        vec![[0xAA; 16]; n]
    }

    #[test]
    fn known_answers_of_the_standard() {
        // FIPS 197, appendices B and C.1.
        let cases: [[u128; 3]; 2] = [
            [
                0x2b7e1516_28aed2a6_abf71588_09cf4f3c,
                0x3243f6a8_885a308d_313198a2_e0370734,
                0x3925841d_02dc09fb_dc118597_196a0b32,
            ],
            [
                0x00010203_04050607_08090a0b_0c0d0e0f,
                0x00112233_44556677_8899aabb_ccddeeff,
                0x69c4e0d8_6a7b0430_d8cdb780_70b4c55a,
            ],
        ];
        for [key, plain, cipher] in cases {
            let key = Aes::new(&key.to_be_bytes());
            let (x, y) = ((plain >> 64) as u64, plain as u64);
            for k in available() {
                // Alone, and in the middle of what fills registers.
                for (n, at) in [(1, 0), (80, 33)] {
                    let mut out = blank(n);
                    let first = x.swap_bytes().wrapping_sub(at as u64);
                    grid_with(k.aes(), &key, [first, y.swap_bytes()], [n, 1], &mut out);
                    assert_eq!(u128::from_be_bytes(out[at]), cipher, "a grid by {}", k.name());
                    let input = vec![plain.to_be_bytes(); n];
                    mmo_with(k.aes(), &key, &input, &mut out);
                    assert_eq!(u128::from_be_bytes(out[at]), cipher ^ plain, "a hash by {}", k.name());
                }
            }
        }
    }

    #[test]
    fn every_backend_walks_the_grid() {
        let key = Aes::new(&KEY);
        let counts = [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 257];
        for (x, y) in [(0, 0), (u64::MAX - 2, 1 << 40), (5, u64::MAX - 7)] {
            for nx in counts {
                for ny in counts {
                    let at = |i: usize| (x.wrapping_add((i / ny) as u64), y.wrapping_add((i % ny) as u64));
                    let expected: Vec<_> = (0..nx * ny).map(at).map(|(x, y)| pair(x, y)).collect();
                    let mut blocks = expected.clone();
                    key.plain()
                        .encrypt_blocks(::aes::cipher::array::Array::cast_slice_from_core_mut(&mut blocks));
                    for k in available() {
                        let mut out = blank(nx * ny);
                        grid_with(k.aes(), &key, [x, y], [nx, ny], &mut out);
                        assert!(out == blocks, "{nx} by {ny} from {x}, {y} by {}", k.name());
                    }
                }
            }
        }
    }

    #[test]
    fn every_backend_hashes_doubles_and_widens() {
        let (left, right) = (Aes::new(&KEY), Aes::new(&KEY.map(|b| b ^ 0x5A)));
        for n in (0..70).chain([127, 128, 129, 1000]) {
            let seeds = seeds(n);
            let hashed: Vec<_> = seeds.iter().map(|&s| hash(&KEY, s, 0)).collect();
            let doubled: Vec<_> =
                seeds.iter().flat_map(|&s| [hash(&KEY, s, 0), hash(&KEY.map(|b| b ^ 0x5A), s, 0)]).collect();
            let widened: Vec<_> =
                seeds.iter().flat_map(|&s| [0, 1, 2, 3].map(|t| hash(&KEY, s, t))).collect();
            for k in available() {
                let [mut one, mut two, mut four] = [blank(n), blank(2 * n), blank(4 * n)];
                mmo_with(k.aes(), &left, &seeds, &mut one);
                double_with(k.aes(), [&left, &right], &seeds, &mut two);
                widen_with(k.aes(), &left, &seeds, &mut four);
                assert!(one == hashed, "{n} hashes by {}", k.name());
                assert!(two == doubled, "{n} doubled by {}", k.name());
                assert!(four == widened, "{n} widened by {}", k.name());
            }
        }
    }

    #[test]
    fn every_backend_descends_under_many_keys() {
        for n in (0..70).chain([127, 128, 129, 300]) {
            let keys: Vec<_> = seeds(2 * n)[n..].to_vec();
            for turns in [&[][..], &[0], &[3, 0, 255, 1]] {
                let end = |key: &[u8; 16], seed| turns.iter().fold(seed, |seed, turn| hash(key, seed, *turn));
                let expected: Vec<_> = keys.iter().zip(seeds(n)).map(|(key, seed)| end(key, seed)).collect();
                for k in available() {
                    let mut ends = seeds(n);
                    descend_with(k.aes(), &keys, turns, &mut ends);
                    assert!(ends == expected, "{n} paths of {turns:?} by {}", k.name());
                }
            }
        }
    }

    #[test]
    #[should_panic = "a seed for each key"]
    fn keys_without_seeds_are_refused() {
        descend(&[KEY; 2], &[1], &mut seeds(1));
    }

    #[test]
    fn the_backend_in_use_keeps_the_order_of_arguments() {
        let (left, right) = (Aes::new(&KEY), Aes::new(&[3; 16]));
        let mut out = blank(6);
        left.grid(10, 2, 20, 3, &mut out);
        assert_eq!(out[5], one(&KEY, pair(11, 22)));
        let seeds = seeds(1);
        double(&left, &right, &seeds, &mut out[..2]);
        assert_eq!(out[..2], [hash(&KEY, seeds[0], 0), hash(&[3; 16], seeds[0], 0)]);
        widen(&right, &seeds, &mut out[..4]);
        assert_eq!(out[3], hash(&[3; 16], seeds[0], 3));
        left.mmo(&seeds, &mut out[..1]);
        assert_eq!(out[0], hash(&KEY, seeds[0], 0));
        let mut end = seeds.clone();
        descend(&[KEY], &[9], &mut end);
        assert_eq!(end[0], hash(&KEY, seeds[0], 9));
    }

    #[test]
    fn a_key_is_not_printed() {
        assert_eq!(format!("{:?}", Aes::new(&KEY)), "Aes(..)");
    }

    #[test]
    #[should_panic = "one block for each pair"]
    fn a_grid_that_does_not_fit_is_refused() {
        Aes::new(&KEY).grid(0, 2, 0, 3, &mut blank(5));
    }

    #[test]
    #[should_panic = "two blocks for each seed"]
    fn a_tree_that_does_not_fit_is_refused() {
        let key = Aes::new(&KEY);
        double(&key, &key, &seeds(2), &mut blank(3));
    }
}
