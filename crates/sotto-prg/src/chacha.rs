//! ChaCha20 (RFC 8439, with the 64-bit counter of Bernstein's paper) for WebAssembly, where
//! `rand_chacha` uses no vector instructions. The stream is the same; four blocks are computed at a
//! time in loops over four lanes, which the compiler vectorizes where the build allows it.

use rand_core::block::{BlockRng, Generator};
use rand_core::{Infallible, SeedableRng, TryCryptoRng, TryRng};

/// One state word of each of four blocks.
type Lanes = [u32; 4];

/// "expand 32-byte k".
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

struct Blocks {
    key: [u32; 8],
    counter: u64,
}

impl Generator for Blocks {
    type Output = [u32; 64];

    fn generate(&mut self, out: &mut [u32; 64]) {
        let mut start = [[0; 4]; 16];
        for (lanes, word) in start.iter_mut().zip(CONSTANTS.iter().chain(&self.key)) {
            *lanes = [*word; 4];
        }
        for (lane, block) in (0..4).enumerate() {
            let counter = self.counter.wrapping_add(block);
            (start[12][lane], start[13][lane]) = (counter as u32, (counter >> 32) as u32);
        }
        self.counter = self.counter.wrapping_add(4);
        let mut x = start;
        for _ in 0..10 {
            for [a, b, c, d] in [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]] {
                quarter(&mut x, a, b, c, d);
            }
            for [a, b, c, d] in [[0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]] {
                quarter(&mut x, a, b, c, d);
            }
        }
        for (i, (x, start)) in x.iter().zip(&start).enumerate() {
            for (lane, word) in plus(*x, *start).into_iter().enumerate() {
                out[16 * lane + i] = word;
            }
        }
    }
}

#[inline(always)]
fn quarter(x: &mut [Lanes; 16], a: usize, b: usize, c: usize, d: usize) {
    x[a] = plus(x[a], x[b]);
    x[d] = turned::<16>(x[d], x[a]);
    x[c] = plus(x[c], x[d]);
    x[b] = turned::<12>(x[b], x[c]);
    x[a] = plus(x[a], x[b]);
    x[d] = turned::<8>(x[d], x[a]);
    x[c] = plus(x[c], x[d]);
    x[b] = turned::<7>(x[b], x[c]);
}

#[inline(always)]
fn plus(a: Lanes, b: Lanes) -> Lanes {
    std::array::from_fn(|i| a[i].wrapping_add(b[i]))
}

/// Returns `a` xor `b`, rotated to the left by `BITS`.
#[inline(always)]
fn turned<const BITS: u32>(a: Lanes, b: Lanes) -> Lanes {
    std::array::from_fn(|i| (a[i] ^ b[i]).rotate_left(BITS))
}

/// ChaCha20 as a generator, whose output matches `rand_chacha`: it is drawn in whole words of four
/// bytes.
pub struct ChaCha20Rng(BlockRng<Blocks>);

impl SeedableRng for ChaCha20Rng {
    type Seed = [u8; 32];

    fn from_seed(seed: [u8; 32]) -> Self {
        let mut key = [0; 8];
        for (word, bytes) in key.iter_mut().zip(seed.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        ChaCha20Rng(BlockRng::new(Blocks { key, counter: 0 }))
    }
}

impl TryRng for ChaCha20Rng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.next_word())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.next_u64_from_u32())
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill_bytes(out);
        Ok(())
    }
}

impl TryCryptoRng for ChaCha20Rng {}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::Rng;

    #[test]
    fn every_draw_gives_the_bytes_of_rand_chacha() {
        let (mut ours, mut theirs) =
            (ChaCha20Rng::from_seed([7; 32]), rand_chacha::ChaCha20Rng::from_seed([7; 32]));
        for len in (0..600).chain([4096, 5]) {
            let (mut a, mut b) = (vec![0; len], vec![0; len]);
            ours.fill_bytes(&mut a);
            theirs.fill_bytes(&mut b);
            assert_eq!(a, b, "{len} bytes");
            assert_eq!((ours.next_u32(), ours.next_u64()), (theirs.next_u32(), theirs.next_u64()));
        }
    }

    #[test]
    fn the_counter_has_64_bits() {
        let stream = |counter| {
            let mut out = [0; 64];
            Blocks { key: [3; 8], counter }.generate(&mut out);
            out
        };
        let (before, after) = (stream(u64::from(u32::MAX) - 1), stream(u64::from(u32::MAX) + 1));
        assert_eq!(before[32..], after[..32]);
        assert_ne!(before[32..48], stream(0)[..16]);
    }
}
