//! AES by the crate `aes`: its own instructions where a processor has them, otherwise bit-sliced.

use crate::simd::Blocks;
use crate::simd::args::{Aes, Needle, PART};
use ::aes::cipher::BlockCipherEncrypt;
use ::aes::cipher::array::Array;
use zeroize::{Zeroize, Zeroizing};

/// Number of outputs at a time where the encrypted blocks are not contiguous in the output.
const BATCH: usize = 32;

/// AES that requires no instructions: the rest follows from the encryption of many blocks.
pub(in crate::simd) trait Cipher: Sync {
    /// Encrypts blocks.
    fn encrypt(&self, key: &Aes, blocks: &mut [[u8; 16]]);

    /// As [`Blocks::descend`].
    fn descend(&self, keys: &[[u8; 16]], turns: &[u8], seeds: &mut [[u8; 16]]);

    /// Searches words, as [`Blocks::find`] does those of a grid.
    fn either16(words: &[[u8; 2]], tags: &[u16], needle: Needle, hits: &mut [u64]) {
        super::either16(words, tags, needle, hits);
    }
}

/// The crate `aes`.
pub(in crate::simd) struct ScalarAes;

impl Cipher for ScalarAes {
    fn encrypt(&self, key: &Aes, blocks: &mut [[u8; 16]]) {
        key.plain().encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    }

    fn descend(&self, keys: &[[u8; 16]], turns: &[u8], seeds: &mut [[u8; 16]]) {
        for (key, seed) in keys.iter().zip(seeds) {
            let key = Aes::new(key);
            for turn in turns {
                let mut input = [*seed];
                input[0][0] ^= turn;
                self.mmo(&key, &input, core::slice::from_mut(seed));
                input.zeroize();
            }
        }
    }
}

impl<C: Cipher> Blocks for C {
    fn grid(&self, key: &Aes, [x, y]: [u64; 2], ny: u64, out: &mut [[u8; 16]]) {
        let mut pairs = Pairs { x, b: 0, y, ny };
        for out in out.iter_mut() {
            *out = pairs.next_block();
        }
        self.encrypt(key, out);
    }

    fn mmo(&self, key: &Aes, input: &[[u8; 16]], out: &mut [[u8; 16]]) {
        out.copy_from_slice(input);
        self.encrypt(key, out);
        out.iter_mut().zip(input).for_each(|(out, input)| xor(out, input));
    }

    fn double(&self, keys: [&Aes; 2], seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
        let mut side = [[0; 16]; BATCH];
        for (seeds, out) in seeds.chunks(BATCH).zip(out.chunks_mut(2 * BATCH)) {
            let side = &mut side[..seeds.len()];
            for (at, key) in keys.into_iter().enumerate() {
                self.mmo(key, seeds, side);
                out.iter_mut().skip(at).step_by(2).zip(&*side).for_each(|(out, side)| *out = *side);
            }
        }
        side.zeroize();
    }

    fn widen(&self, key: &Aes, seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
        let mut inputs = [[0; 16]; BATCH];
        for (seeds, out) in seeds.chunks(BATCH / 4).zip(out.chunks_mut(BATCH)) {
            let inputs = &mut inputs[..out.len()];
            for (seed, inputs) in seeds.iter().zip(inputs.as_chunks_mut::<4>().0) {
                for (input, t) in inputs.iter_mut().zip(0..) {
                    *input = *seed;
                    input[0] ^= t;
                }
            }
            self.mmo(key, inputs, out);
        }
        inputs.zeroize();
    }

    fn find(&self, key: &Aes, [x, y]: [u64; 2], tags: &[u16], needle: Needle, hits: &mut [u64]) {
        let mut made = Zeroizing::new([[0; 16]; PART / 8]);
        let made = &mut made[..tags.len().div_ceil(8)];
        self.grid(key, [x, y], u64::MAX, made);
        C::either16(&made.as_flattened().as_chunks().0[..tags.len()], tags, needle, hits);
    }

    fn descend(&self, keys: &[[u8; 16]], turns: &[u8], seeds: &mut [[u8; 16]]) {
        Cipher::descend(self, keys, turns, seeds);
    }
}

/// Iterator over the blocks of a grid.
pub(in crate::simd) struct Pairs {
    pub(in crate::simd) x: u64,
    /// Distance of the second number from `y`, below `ny`.
    pub(in crate::simd) b: u64,
    pub(in crate::simd) y: u64,
    pub(in crate::simd) ny: u64,
}

impl Pairs {
    #[inline]
    pub(in crate::simd) fn next_pair(&mut self) -> [u64; 2] {
        let pair = [self.x, self.y.wrapping_add(self.b)];
        self.b += 1;
        if self.b == self.ny {
            (self.x, self.b) = (self.x.wrapping_add(1), 0);
        }
        pair
    }

    fn next_block(&mut self) -> [u8; 16] {
        let [x, y] = self.next_pair();
        (u128::from(y) << 64 | u128::from(x)).to_le_bytes()
    }
}

fn xor(out: &mut [u8; 16], other: &[u8; 16]) {
    *out = (u128::from_ne_bytes(*out) ^ u128::from_ne_bytes(*other)).to_ne_bytes();
}
